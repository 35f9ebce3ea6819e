"""Work on all partitions in a thread: how far it is, a way to cancel; what was done stays."""

import threading
import time
from collections.abc import Callable, Collection
from typing import Any, Final, Literal

from workbench.inspection.partition import Partition

TOLD_EVERY: Final = 0.25
"""Seconds between two messages about progress."""

LARGEST_AT_ONCE: Final = 4 << 30
"""Bytes of `.log` files up to which the headers of logs are read without being asked to."""

MOST_AT_ONCE: Final = 1000
"""Partitions up to which they are."""

State = Literal["running", "done", "cancelled", "failed"]


def are_quickly_read(partitions: Collection[Partition]) -> bool:
    """Return whether the headers of logs are read at once, not only when a button is pressed."""
    return (
        len(partitions) <= MOST_AT_ONCE and sum(each.size for each in partitions) <= LARGEST_AT_ONCE
    )


class Background:
    """One piece of work, in a thread of its own; a subclass says what `_work` does.

    Attributes:
        state: "running", "done", "cancelled" or "failed".
        error: what ended it, if it failed.

    Args:
        name: of the thread.
        tell: called in the thread when there is progress, and at the end.
    """

    def __init__(self, name: str, tell: Callable[[Any], None]) -> None:
        self._tell = tell
        self._is_cancelled = threading.Event()
        self._checked = self._total = 0  # partitions
        self._done = self._inside = self._size = 0  # bytes
        self._told = 0.0
        self.state: State = "running"
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """End after the part of a file that is being read; what was done stays."""
        self._is_cancelled.set()

    def wait(self, seconds: float | None = None) -> None:
        """Return once it has ended, or after a time."""
        self._thread.join(seconds)

    def progress(self) -> dict[str, Any]:
        """Return how far it is: partitions and bytes, done and in total."""
        return {
            "state": self.state,
            "checked": self._checked,
            "partitions": self._total,
            "bytes": min(self._done + self._inside, self._size),
            "size": self._size,
        }

    def _run(self) -> None:
        try:
            self._work()
            self.state = "done"
        except _CancelledError:
            self.state = "cancelled"
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self.state, self.error = "failed", error
        self._tell(self)

    def _work(self) -> None:
        raise NotImplementedError

    def _finish_one(self, size: int) -> None:
        """Count a partition of so many bytes."""
        self._done, self._inside = self._done + size, 0
        self._checked += 1
        self._advance(0)

    def _advance(self, size: int) -> None:
        """Count bytes of the partition that is being read; end if it was cancelled."""
        self._inside += size
        if self._is_cancelled.is_set():
            raise _CancelledError
        if time.monotonic() - self._told >= TOLD_EVERY:
            self._told = time.monotonic()
            self._tell(self)


class _CancelledError(Exception):
    """Ends the thread."""
