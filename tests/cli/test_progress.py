import io
import sys
from pathlib import Path

import pytest

from tests.cli.program import run
from workbench.cli import progress

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


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


def test_a_bar_is_removed_before_something_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "_STEP", 0)
    with progress.progress("reading", 100) as meter:
        meter.advance(10)
        meter.hide()
        shown = len(screen.getvalue())
        monkeypatch.setattr(progress, "PATIENCE", 1000)
        meter.advance(10)
        assert len(screen.getvalue()) == shown
    assert len(screen.getvalue()) == shown


@pytest.mark.parametrize(
    "command", [("search", "no such text"), ("sql", "select sum(value.total_cents) from orders")]
)
def test_what_takes_long_shows_how_far_it_is(
    command: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[int, int]] = []

    class Counting(progress.ProgressMeter):
        def close(self) -> None:
            done.append((self._done, self._total))

    monkeypatch.setattr(progress, "_Silent", Counting)
    name, text = command
    assert run(name, SHOP, text).code in {0, 1}
    [(amount, total)] = done
    assert 0 < amount <= total
    if name == "sql":  # read once for the type of the values and once for the sum
        assert (amount, total) == (10_400, 10_400)
