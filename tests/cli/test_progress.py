import io
import sys

import pytest

from workbench.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_appears_on_a_terminal_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "_STEP", 0)
    with progress.progress("reading", 100) as meter:
        meter.advance(50)
    assert "reading" in screen.getvalue()


def test_nothing_appears_when_it_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.progress("reading", 100) as meter:
        meter.advance(100)
    assert screen.getvalue() == ""


def test_nothing_appears_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    with progress.progress("reading", 100) as meter:
        meter.advance(50)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.progress("reading", 100, quiet=True) as meter:
        meter.advance(50)
    assert log.getvalue() == screen.getvalue() == ""
