"""What was verified so far, and what was found: rows for lists, counts for the tree."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from widgets.view.findings import count_by_node, rows_by_place
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition

MOST_FINDINGS: Final = 2000
"""The list keeps so many findings; it counts the others."""

Row = dict[str, Any]
Stamp = frozenset[tuple[str, int, int]]


class FindingStore:
    """What was verified so far, and what was found: rows for the list, counts for the tree.

    Two threads may enter findings.

    Attributes:
        rows: the findings as rows, those of one partition together.
        counts: key of a node of the tree → severity → number of findings, without exception.
        verified: names of the partitions that were checked.
        changed: names of those whose files have changed since they were checked.
        left_out: how many findings have no row.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.counts: dict[str, dict[str, int]] = {}
        self.verified: list[str] = []
        self.changed: list[str] = []
        self.left_out = 0
        self._stamps: dict[str, Stamp] = {}
        self._lock = threading.RLock()

    def enter(self, name: str, partition: DiskPartition, found: Sequence[Finding]) -> None:
        """Enter a checked partition's findings, instead of those that it had before."""
        with self._lock:
            self.rows = [row for row in self.rows if row["partition"] != name]
            self.counts = {key: each for key, each in self.counts.items() if key != name}
            self.verified = [each for each in self.verified if each != name] + [name]
            self.changed = [each for each in self.changed if each != name]
            self._stamps[name] = stamp_of(partition)
            self.add(found, {name: partition})

    def begin(self) -> None:
        """Forget what is not about partitions: a check of everything finds it again."""
        with self._lock:
            kept = set(self.verified)
            self.rows = [row for row in self.rows if row["partition"] in kept]
            self.counts = {key: each for key, each in self.counts.items() if key in kept}
            self.left_out = sum(sum(each.values()) for each in self.counts.values()) - len(
                self.rows
            )

    def mark_changed(self, partitions: Mapping[str, DiskPartition], names: Iterable[str]) -> None:
        """Note which of the named partitions changed since they were checked; forget the deleted.

        Args:
            partitions: by their names, as they are listed now.
            names: those that may have changed.
        """
        with self._lock:
            for name in set(names) & set(self.verified):
                if name not in partitions:
                    self.rows = [row for row in self.rows if row["partition"] != name]
                    self.counts = {key: each for key, each in self.counts.items() if key != name}
                    self.verified = [each for each in self.verified if each != name]
                    self.changed = [each for each in self.changed if each != name]
                elif name not in self.changed and stamp_of(partitions[name]) != self._stamps[name]:
                    self.changed = [*self.changed, name]

    def add(self, found: Sequence[Finding], partitions: Mapping[str, DiskPartition]) -> None:
        """Add findings about any files; those in partitions are tied to their batches."""
        rows = rows_by_place(found, partitions)
        with self._lock:
            counts = {key: dict(each) for key, each in self.counts.items()}
            for key, severities in count_by_node(rows).items():
                mine = counts.setdefault(key, {})
                for severity, count in severities.items():
                    mine[severity] = mine.get(severity, 0) + count
            self.counts = counts
            kept = rows[: MOST_FINDINGS - len(self.rows)]
            self.rows = self.rows + kept
            self.left_out += len(rows) - len(kept)


def stamp_of(partition: DiskPartition) -> Stamp:
    """Return name, size and time of each file: another stamp means that something was written."""
    return frozenset((file.name, file.size, file.modified_ms) for file in partition.files)
