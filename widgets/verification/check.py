"""Verify all partitions in a thread: how far it is, what was found, a way to cancel.

What was found before a cancellation is kept.
"""

from collections.abc import Callable

from widgets._background import Background
from widgets.verification.finding_store import FindingStore
from workbench.coordinator.verify import verify_coordinators
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.findings import without_info
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.verify import verify_partitions


class Verification(Background):
    """One check of all partitions and of their log directories; those of each broker by itself.

    Attributes:
        book: what was found so far.

    Args:
        listing: what is checked; every directory is listed again.
        tell: called in the thread when there is progress, and at the end.
        book: where findings are entered; an empty one by default.
    """

    def __init__(
        self,
        listing: Listing,
        tell: Callable[["Verification"], None],
        book: FindingStore | None = None,
    ) -> None:
        super().__init__("verify all", tell)
        self._listing = listing.listed_again()
        self._names = {each.path: name for name, each in listing.partitions.items()}
        self._total = sum(each.kind != "delete" for each in self._listing.partitions.values())
        self.book = FindingStore() if book is None else book

    def _work(self) -> None:
        self._size = sum(each.size for each in self._listing.partitions.values())
        for listing in listings_by_broker(self._listing).values():
            self._check(listing)

    def _check(self, listing: Listing) -> None:
        partitions = self._listing.partitions
        for checked, found in verify_partitions(listing, advance=self._advance):
            wanted = without_info(found)
            if isinstance(checked, DiskPartition):
                name = self._names[checked.path]
                self.book.enter(name, checked, wanted)
                self._finish_one(checked.size)
            else:
                self.book.add(wanted, partitions)
                self._advance(0)
        self.book.add(without_info(verify_coordinators(listing)), partitions)
