"""A progress bar on stderr: only on a terminal, and only if the work takes more than a second."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

PATIENCE: Final = 1.0  # seconds before a bar appears
_STEP: Final = 0.1  # seconds between two updates of the bar


class ProgressMeter:
    """Counts finished work, and shows it once the work takes long. Made by `progress`.

    Thread-safe.
    """

    def __init__(self, title: str, total: int, unit: str) -> None:
        self._title = title
        self._total = total
        self._unit = unit
        self._done = 0
        self._start = self._shown = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def expect(self, amount: int) -> None:
        """Add ``amount`` to the total."""
        with self._lock:
            self._total += amount
            if self._bar is not None:
                self._bar.update(self._task, total=self._total)

    def advance(self, amount: int) -> None:
        """Add ``amount`` (bytes, or whatever the total counts) to the finished work."""
        with self._lock:
            self._done += amount
            now = time.monotonic()
            if now - self._start < PATIENCE or now - self._shown < _STEP:
                return
            self._shown = now
            if self._bar is None:
                self._open()
            self._bar.update(self._task, completed=self._done)

    def hide(self) -> None:
        """Remove the bar, because something else is printed; it comes back after a while."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
            self._start = time.monotonic()

    def _open(self) -> None:
        from rich import progress as bars
        from rich.console import Console

        amount = bars.DownloadColumn() if self._unit == "bytes" else bars.MofNCompleteColumn()
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            amount,
            bars.TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=self._total)
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        self.hide()


class _Silent(ProgressMeter):
    """A meter that shows nothing."""

    def advance(self, amount: int) -> None:
        """Do nothing."""


@contextmanager
def progress(
    title: str, total: int, *, unit: str = "bytes", quiet: bool = False
) -> Iterator[ProgressMeter]:
    """Yield a meter for work of a known size.

    Args:
        title: the name of the work.
        total: the sum of the amounts that `ProgressMeter.advance` will get.
        unit: "bytes", or any other word.
        quiet: whether to show nothing, for example if the output goes to the same terminal.
    """
    shown = not quiet and sys.stderr.isatty()
    meter = ProgressMeter(title, total, unit) if shown else _Silent(title, total, unit)
    try:
        yield meter
    finally:
        meter.close()
