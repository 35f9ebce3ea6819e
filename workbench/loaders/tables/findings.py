"""Findings as a list that shows itself as a table."""

from collections.abc import Collection, Iterable
from typing import Final

import pyarrow as pa

from workbench.files.names import TopicPartition
from workbench.inspection.facts.html import table_html
from workbench.inspection.findings import SEVERITIES, Finding
from workbench.inspection.listing import Listing
from workbench.loaders.tables.rows import ArrowTable, finding_table
from workbench.runtime.words import plural

_SHOWN: Final = 100  # rows of the table in a notebook


class FindingList(ArrowTable, list[Finding]):
    """A list of findings; a table in notebooks, in Arrow and in pandas.

    Args:
        findings: the findings.
        listing: the directories that were checked.
        kafka: the version of the broker that they speak of; None: the newest that is shown.
        only: the partitions that were checked; None: all.
    """

    def __init__(
        self,
        findings: Iterable[Finding],
        listing: Listing,
        kafka: str | None = None,
        only: Collection[TopicPartition] | None = None,
    ) -> None:
        super().__init__(findings)
        self._only = only
        self._listing = listing
        self._kafka = kafka

    def __repr__(self) -> str:
        return f"<FindingList: {self.summary}>"

    def __str__(self) -> str:
        return "\n".join([self.summary, *map(str, self)])

    @property
    def summary(self) -> str:
        """How many there are of each severity."""
        counts = {each: sum(f.severity == each for f in self) for each in reversed(SEVERITIES)}
        return (
            ", ".join(
                plural(count, name, "info" if name == "info" else None)
                for name, count in counts.items()
                if count
            )
            or "nothing wrong"
        )

    @property
    def removal(self) -> str:
        """How many readable records of these logs a start removes, and how to save them.

        Empty if none. The start is predicted when this is asked for, and takes as long.

        Raises:
            LogDirectoryError: a directory is gone.
        """
        from workbench.foresight.startup.removal import removal_sentence, removals_at_start

        starts = removals_at_start(self._listing, self, self._kafka, self._only)
        return removal_sentence(self._listing, starts)

    def to_arrow(self) -> pa.Table:
        """Return one row per finding (`FindingRow`)."""
        return finding_table(self)

    def _repr_html_(self) -> str:
        columns = ["severity", "kind", "path", "byte", "offset", "found", "what a broker does"]
        rows = [
            [f.severity, f.kind, f.path, f.position, f.offset, f.found, f.broker]
            for f in self[:_SHOWN]
        ]
        left = len(self) - len(rows)
        note = f"{left} more findings" if left else None
        sentences = ["found", "what a broker does"]
        return table_html(self.summary, columns, rows, note, sentences=sentences)
