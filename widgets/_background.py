"""Work on all partitions in a thread: its progress, a way to cancel that keeps what was done."""

import time
from collections.abc import Callable, Collection
from typing import Any, Final

from workbench.inspection.partition import DiskPartition
from workbench.runtime.job import Job

TOLD_EVERY: Final = 0.25
"""Seconds between two messages about progress."""

LARGEST_AT_ONCE: Final = 4 << 30
"""Bytes of `.log` files up to which the headers of logs are read without being asked to."""

MOST_AT_ONCE: Final = 1000
"""Partitions up to which they are."""


def are_quickly_read(partitions: Collection[DiskPartition]) -> bool:
    """Return whether the headers of logs are read at once, not only when a button is pressed."""
    return (
        len(partitions) <= MOST_AT_ONCE and sum(each.size for each in partitions) <= LARGEST_AT_ONCE
    )


class Background(Job):
    """Work on partitions, one after the other. Canceled, it ends after a part of a file.

    Args:
        name: of the thread.
        tell: called in the thread when there is progress, and at the end.
    """

    def __init__(self, name: str, tell: Callable[[Any], None]) -> None:
        super().__init__(name)
        self._tell = tell
        self._checked = self._total = 0  # partitions
        self._done = self._inside = self._size = 0  # bytes
        self._told = 0.0

    def progress(self) -> dict[str, Any]:
        """Return how far it is: partitions and bytes, done and in total."""
        return {
            "state": self.status,
            "checked": self._checked,
            "partitions": self._total,
            "bytes": min(self._done + self._inside, self._size),
            "size": self._size,
        }

    def _end(self) -> None:
        self._tell(self)

    def _finish_one(self, size: int) -> None:
        """Count a partition of so many bytes."""
        self._done, self._inside = self._done + size, 0
        self._checked += 1
        self._advance(0)

    def _advance(self, size: int) -> None:
        """Count bytes of the partition that is being read; end if it was canceled."""
        self._inside += size
        self._go_on()
        if time.monotonic() - self._told >= TOLD_EVERY:
            self._told = time.monotonic()
            self._tell(self)
