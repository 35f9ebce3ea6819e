"""The comparison of several brokers' disks as a table, and as text for people and scripts."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from workbench.comparison.compare import Comparer
from workbench.comparison.replica import Replica
from workbench.comparison.results import VERDICTS, PartitionComparison, Verdict
from workbench.comparison.truncation import NEWEST
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.findings import Finding, Severity, worst
from workbench.inspection.listing import Listing
from workbench.loaders.tables.rows import ArrowTable, finding_table, table_of
from workbench.replication.rules import Rules
from workbench.runtime.words import plural, safe, safe_lines
from workbench.tables.foresight import ReplicaRow

_SHOWN: Final = 100  # rows of the table in a notebook

Progress = Callable[[PartitionComparison], None]


@dataclass(frozen=True, slots=True)
class ReplicaComparison(ArrowTable):
    """The partitions of several brokers, compared; iterating gives them.

    Attributes:
        brokers: names, as they were given.
        partitions: sorted by topic and number.
        directory_findings: what is wrong with the directories as a whole.
    """

    brokers: tuple[str, ...]
    partitions: tuple[PartitionComparison, ...]
    directory_findings: tuple[Finding, ...] = ()

    def __iter__(self) -> Iterator[PartitionComparison]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, name: str) -> PartitionComparison:
        """Return the comparison of a partition: ``"orders-0"``.

        Raises:
            KeyError: no broker has the partition.
        """
        for each in self.partitions:
            if each.name == name:
                return each
        raise KeyError(name)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of a partition."""
        return max((each.verdict for each in self), key=VERDICTS.index, default="alike")

    @property
    def findings(self) -> list[Finding]:
        """All findings: those of the directories, then those of each partition."""
        return [*self.directory_findings, *(found for each in self for found in each.findings)]

    @property
    def worst(self) -> Severity | None:
        """The highest severity of a finding; None without any."""
        return worst(self.findings)

    def to_arrow(self) -> pa.Table:
        """Return one row per partition and replica (`ReplicaRow`)."""
        return table_of(
            ReplicaRow, (_row(each, replica) for each in self for replica in each.replicas)
        )

    def findings_to_arrow(self) -> pa.Table:
        """Return one row per finding (`FindingRow`)."""
        return finding_table(self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "brokers": list(self.brokers),
            "verdict": self.verdict,
            "findings": [finding.as_dict() for finding in self.directory_findings],
            "partitions": [each.as_dict() for each in self],
        }

    @property
    def summary(self) -> str:
        """One sentence that counts the partitions by verdict."""
        counts = {each: sum(p.verdict == each for p in self) for each in reversed(VERDICTS)}
        words = [f"{count:,} {name}" for name, count in counts.items() if count]
        size = f"{plural(len(self), 'partition')} of {plural(len(self.brokers), 'broker')}"
        return f"{size}: {', '.join(words)}"

    def __repr__(self) -> str:
        return safe(f"<ReplicaComparison {self.summary}>")

    def __str__(self) -> str:
        lines = [self.summary, *(f"  {f.severity}: {f.found}" for f in self.directory_findings)]
        return "\n".join([safe_lines(lines), *map(str, self)])

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = []
        for each in self.partitions[:_SHOWN]:
            ends = ", ".join(f"{r.broker}: {r.log_end_offset:,}" for r in each.replicas)
            why = "; ".join(found.found for found in each.findings if found.severity != "info")
            rows.append(
                [each.name, each.verdict, each.ahead, ends, each.divergence_offset,
                 each.committed_at_least, each.committed_at_most, why]
            )  # fmt: skip
        left = len(self) - _SHOWN
        columns = [
            "partition", "verdict", "ahead", "log end offsets", "differ from",
            "committed at least", "at most", "why",
        ]  # fmt: skip
        note = f"{left} more partitions" if left > 0 else None
        return table_html(self.summary, columns, rows, note, sentences=["why"])


def compare_listings(
    brokers: Mapping[str, Listing],
    *,
    topics: Collection[str] | None = None,
    partitions: Collection[int | str] | None = None,
    deep: bool = True,
    version: str | None = None,
    progress: Progress | None = None,
) -> ReplicaComparison:
    """Compare the replicas of each partition; see `log_directory.compare_replicas`."""
    comparer = Comparer(brokers, NEWEST if version is None else Rules.of(version))
    compared = []
    for name in comparer.partitions(topics, partitions):
        compared.append(comparer.compare(name, deep=deep))
        if progress is not None:
            progress(compared[-1])
    return ReplicaComparison(tuple(brokers), tuple(compared), comparer.findings)


def _row(compared: PartitionComparison, replica: Replica) -> ReplicaRow:
    broker, is_ahead = replica.broker, replica.broker == compared.ahead
    lost = compared.leaderships[broker].lost
    return ReplicaRow(
        compared.topic,
        compared.partition,
        compared.verdict,
        broker,
        is_ahead,
        replica.stop,
        replica.log_start_offset,
        replica.log_end_offset,
        replica.last_epoch,
        replica.high_watermark,
        replica.restart_high_watermark,
        compared.common_end(broker),
        None if is_ahead else compared.truncation(broker, compared.ahead).offset,
        0 if lost is None else lost[1] - lost[0],
        compared.divergence_offset,
        compared.committed_at_least,
        compared.committed_at_most,
    )
