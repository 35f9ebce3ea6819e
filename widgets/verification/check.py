"""Verify all partitions in a thread: how far it is, what was found, a way to cancel.

What was found before a cancellation stays.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from widgets.verification.book import FindingBook
from workbench.coordinator.verify import verify_coordinators
from workbench.inspection.findings import without_info
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.verify.verify import verify_partitions

TOLD_EVERY = 0.25  # seconds between two messages about progress


class Verification:
    """One check of all partitions and of their log directories, in a thread of its own.

    Attributes:
        book: what was found so far.
        state: "running", "done", "cancelled" or "failed".
        error: what ended it, if it failed.

    Args:
        listing: what is checked; every directory is listed again.
        tell: called in the thread when there is progress, and at the end.
        book: where findings are entered; an empty one by default.
    """

    def __init__(
        self,
        listing: Listing,
        tell: Callable[["Verification"], None],
        book: FindingBook | None = None,
    ) -> None:
        names = {partition.path: name for name, partition in listing.partitions.items()}
        roots = tuple(
            replace(root, partitions=tuple(each.listed_anew() for each in root.partitions))
            for root in listing.roots
        )
        every = (each for root in roots for each in root.partitions)
        self._listing = Listing(roots, {names[each.path]: each for each in every})
        self._names = names
        self._tell = tell
        self._is_cancelled = threading.Event()
        self._checked: list[str] = []
        self._total = sum(each.kind != "delete" for each in self._listing.partitions.values())
        self._done = self._inside = self._size = 0  # bytes
        self._told = 0.0
        self.book = FindingBook() if book is None else book
        self.state = "running"
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="verify all", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """End after the segment that is being checked; what was found stays."""
        self._is_cancelled.set()

    def wait(self) -> None:
        """Return once it has ended."""
        self._thread.join()

    def progress(self) -> dict[str, Any]:
        """Return how far it is: partitions and bytes, done and in total."""
        return {
            "state": self.state,
            "checked": len(self._checked),
            "partitions": self._total,
            "bytes": min(self._done + self._inside, self._size),
            "size": self._size,
        }

    def _run(self) -> None:
        try:
            self._size = sum(each.size for each in self._listing.partitions.values())
            self._check()
            self.state = "done"
        except _CancelledError:
            self.state = "cancelled"
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            self.state, self.error = "failed", error
        self._tell(self)

    def _check(self) -> None:
        partitions = self._listing.partitions
        for checked, found in verify_partitions(self._listing, advance=self._advance):
            wanted = without_info(found)
            if isinstance(checked, Partition):
                name = self._names[checked.path]
                self._done, self._inside = self._done + checked.size, 0
                self._checked.append(name)
                self.book.enter(name, checked, wanted)
            else:
                self.book.add(wanted, partitions)
            self._advance(0)
        self.book.add(without_info(verify_coordinators(self._listing)), partitions)

    def _advance(self, size: int) -> None:
        self._inside += size
        if self._is_cancelled.is_set():
            raise _CancelledError
        if time.monotonic() - self._told >= TOLD_EVERY:
            self._told = time.monotonic()
            self._tell(self)


class _CancelledError(Exception):
    """Ends the thread."""
