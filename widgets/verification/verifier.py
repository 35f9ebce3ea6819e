"""One verification of opened directories, for all widgets that show what it found."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import traitlets

import workbench
from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.verification.check import Verification, WholeCheck
from widgets.verification.finding_store import FindingStore
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing


class Verifier:
    """What is known of damage in opened directories.

    Attributes:
        listing: the directories as they were last listed.
        book: what was verified, and what was found.
        running: the check of all partitions that runs, or ran last.
    """

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.book = FindingStore()
        self._whole = WholeCheck(self.book)
        self.running: Verification | None = None
        self._shown_by: list[Callable[[Verification | None], None]] = []

    def show_by(self, show: Callable[[Verification | None], None]) -> None:
        """Call a function whenever there is something new, possibly from another thread."""
        self._shown_by.append(show)

    @property
    def is_running(self) -> bool:
        """Whether a check of all partitions runs."""
        return self.running is not None and self.running.status == "running"

    def verify(self, name: str) -> list[Finding]:
        """Verify one partition and return its findings."""
        partition = self.listing.partitions[name].listed_again()
        root = self.listing.root_of(self.listing.partitions[name])
        assert root is not None
        alone = Listing((replace(root, partitions=(partition,)),), {name: partition})
        logs = workbench.LogDirectory(alone)
        in_use = partition.kind == "log"  # then what coordinators keep in it is verified, too
        found = list(
            logs.verify(topics=partition.topic) if in_use else logs.verify(partitions=name)
        )
        self.book.enter(name, partition, found)
        self._tell(self.running)
        return found

    def verify_all(self) -> Verification:
        """Verify everything in a thread; the check that runs already, if one does."""
        if self.running is not None and self.is_running:
            return self.running
        self.running = check = Verification(self.listing, self._tell, self._whole)
        check.start()
        self._tell(check)
        return check

    @property
    def found(self) -> list[Finding] | None:
        """What the last whole check found; None: none is complete for this listing."""
        return self._whole.found

    def findings(self, advance: Callable[[int], None]) -> list[Finding]:
        """Return what is wrong in everything; it is checked in this thread unless it is known.

        Args:
            advance: called with the bytes that were checked; what it raises ends the check.
        """
        if self._whole.found is not None:
            return self._whole.found
        found = self._whole.run(self.listing.listed_again(), advance, again=False)
        self._tell(self.running)
        return found

    def cancel(self) -> None:
        """End the check of all partitions; keep what was found."""
        if self.running is not None:
            self.running.cancel()

    def relist(self, listing: Listing, changed: Iterable[str] | None = None) -> None:
        """Take over a new listing; findings of partitions that changed since are marked.

        Args:
            listing: the directories as they are now.
            changed: names of the partitions that may have changed; None: any.
        """
        self.listing = listing
        self._whole.found = None
        self.book.mark_changed(
            listing.partitions, self.book.verified if changed is None else changed
        )
        self._tell(self.running)

    def _tell(self, check: Verification | None) -> None:
        if check is self.running:
            for show in self._shown_by:
                show(check)


class ShowsFindings(KafkaWidget):
    """A widget that shows what a `Verifier` found, and asks it for more."""

    _findings: Any = traitlets.List().tag(sync=True)
    _counts: Any = traitlets.Dict().tag(sync=True)
    _verified: Any = traitlets.List().tag(sync=True)
    _changed: Any = traitlets.List().tag(sync=True)
    _verification: Any = traitlets.Dict().tag(sync=True)

    verifier: Verifier

    def follow_verifier(self, verifier: Verifier) -> None:
        """Show what a verifier knows, now and from now on."""
        self.verifier = verifier
        verifier.show_by(self._show_verified)
        self._show_verified(verifier.running)

    def _show_verified(self, check: Verification | None) -> None:
        """Send what was verified and found, and how far a check is."""
        if check is not None and check.error is not None:
            self.show_error(check.error)
        book = self.verifier.book
        with self.hold_sync():
            self._counts, self._verified, self._findings = book.counts, book.verified, book.rows
            self._changed = book.changed
            self.show_marks()
        self._verification = {} if check is None else check.progress()

    def show_marks(self) -> None:
        """Mark what else shows findings."""

    def verify_all(self) -> Verification:
        """Verify every partition and the log directories, in a thread; findings appear as found.

        Returns:
            The check, to `wait` for or to `cancel`; the one that runs already, if one does.
        """
        return self.verifier.verify_all()

    def answer_verify(self, partition: str | None) -> Answer:
        """Check every byte of a partition; without one, of all of them, in the background."""
        if partition is not None:
            self.verifier.verify(partition)
        else:
            self.verify_all()
        return {}, []

    def answer_cancel(self) -> Answer:
        """End the check of all partitions."""
        self.verifier.cancel()
        return {}, []
