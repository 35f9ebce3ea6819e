"""Verify all partitions: in a thread, with how far it is, what was found and a way to cancel.

What was found before a cancellation is kept.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from widgets._background import Background
from widgets.verification.finding_store import FindingStore
from workbench.coordinator.verify import verify_coordinators
from workbench.errors import WorkbenchError
from workbench.foresight.startup.removal import removal_sentence, removals_at_start
from workbench.inspection.broker_version import meant_broker
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.findings import Finding, without_info
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.verify import verify_partitions
from workbench.runtime.workers import worker_count

WAITS_S: float = 0.2
"""Between two looks at whether a check that waits for another was canceled."""


class WholeCheck:
    """The check of all partitions and log directories, those of each broker by itself.

    One runs at a time.

    Attributes:
        book: what was found so far.
        found: what the last whole check found, in order; None: none is complete, or the directories
            were listed again since.
    """

    def __init__(self, book: FindingStore) -> None:
        self.book = book
        self.found: list[Finding] | None = None
        self._runs = threading.Lock()

    def run(
        self,
        listing: Listing,
        advance: Callable[[int], None],
        finish: Callable[[int], None] = lambda _size: None,
        *,
        again: bool = True,
    ) -> list[Finding]:
        """Check everything, and return what was found.

        Args:
            listing: as it is now.
            advance: called with the bytes that were checked; what it raises ends the check.
            finish: called with the bytes of each partition.
            again: whether to check even if the last check is complete.
        """
        while not self._runs.acquire(timeout=WAITS_S):
            advance(0)
        try:
            if self.found is None or again:
                self.found = None
                self.book.begin()
                self.found = self._check(listing, advance, finish)
            return self.found
        finally:
            self._runs.release()

    def _check(
        self, listing: Listing, advance: Callable[[int], None], finish: Callable[[int], None]
    ) -> list[Finding]:
        everything: list[Finding] = []
        partitions = listing.partitions
        names = {each.path: name for name, each in partitions.items()}
        for own in listings_by_broker(listing).values():
            rules = meant_broker(own, None).rules
            steps = verify_partitions(own, advance=advance, workers=worker_count(None), rules=rules)
            for checked, found in steps:
                wanted = without_info(found)
                everything += wanted
                if isinstance(checked, DiskPartition):
                    self.book.enter(names[checked.path], checked, wanted)
                    finish(checked.size)
                else:
                    self.book.add(wanted, partitions)
                    advance(0)
            wanted = without_info(verify_coordinators(own))
            self.book.add(wanted, partitions)
            everything += wanted
        return everything


class Verification(Background):
    """One check of everything, in a thread.

    Args:
        listing: what is checked; every directory is listed again.
        tell: called in the thread when there is progress, and at the end.
        check: what checks; it has what was found so far.
    """

    def __init__(
        self, listing: Listing, tell: Callable[["Verification"], None], check: WholeCheck
    ) -> None:
        super().__init__("verify all", tell)
        self._listing = listing.listed_again()
        self._check = check
        self._removal = ""
        self._total = sum(each.kind != "delete" for each in self._listing.partitions.values())

    def _work(self) -> None:
        self._size = sum(each.size for each in self._listing.partitions.values())
        found = self._check.run(self._listing, self._advance, self._finish_one)
        with suppress(WorkbenchError, OSError):  # the findings say what is wrong
            self._removal = removal_sentence(self._listing, removals_at_start(self._listing, found))

    def progress(self) -> dict[str, Any]:
        """Return how far it is, and at its end which readable records a start removes."""
        return super().progress() | {"removal": self._removal}
