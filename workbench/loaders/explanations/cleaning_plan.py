"""A plan of cleaning: the fate of each record and batch of a partition, and why.

The decisions are the cleaner's own: it runs on a dry copy, and a round before the last one is
written there, so that the next one reads its result.

Kafka: Cleaner.doClean (4.2)
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from workbench.cleaner.decisions import Keeping, Reason, Verdict
from workbench.foresight.rehearse.rounds import CleaningRound
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.facts.html import table_html
from workbench.inspection.partition import DiskPartition
from workbench.loaders import schemas
from workbench.loaders.scan import arrow
from workbench.loaders.schemas import schema_of
from workbench.loaders.tables.record_sizes import RecordSizes, read_record_sizes
from workbench.loaders.tables.rows import ArrowTable, joined_table, table_of
from workbench.runtime.times import time_text
from workbench.runtime.words import safe, safe_lines
from workbench.tables.cleaning import BatchDecisionRow, PlannedKeyRow, ReasonRow, RecordDecisionRow

_REASONS: Final = list(Reason)
_CODES: Final = np.array([int(reason) for reason in _REASONS], np.uint8)
_KEEPINGS: Final = {
    Keeping.NOTHING: None,
    Keeping.LAST_OF_PRODUCER: "last batch of a producer",
    Keeping.LAST_OF_ROUND: "last batch of the round",
}


@dataclass(frozen=True, slots=True)
class CleaningPlan(ArrowTable):
    """The effect of cleaning on a partition.

    Attributes:
        partition: the partition.
        rounds: the rounds in order.
        problem: why there are fewer rounds than requested; empty if there are not.
        size: bytes of the log before cleaning.
        high_watermark: the assumed high watermark of the log, and why: a sentence.
        broker: the broker that is assumed, and why that one.
    """

    partition: DiskPartition
    rounds: tuple[CleaningRound, ...]
    problem: str
    size: int
    high_watermark: str
    broker: MeantBroker

    def to_arrow(self) -> pa.Table:
        """Return one row per record and round: `decisions`."""
        return self.decisions

    @property
    def size_after(self) -> int:
        """Bytes of the log afterwards."""
        return self.size - sum(each.saved for each in self.rounds)

    @property
    def decisions(self) -> pa.Table:
        """One row per record and round (`RecordDecisionRow`)."""
        return joined_table(schema_of(RecordDecisionRow), [*map(_record_columns, self._numbered)])

    @property
    def batches(self) -> pa.Table:
        """One row per batch and round (`BatchDecisionRow`)."""
        return joined_table(schema_of(BatchDecisionRow), [*map(_batch_columns, self._numbered)])

    @property
    def _numbered(self) -> list[tuple[int, CleaningRound]]:
        return list(enumerate(self.rounds, 1))

    def counts(self) -> list[tuple[int, Reason, int]]:
        """Return how many records each reason has: round, reason, records."""
        return [
            (number, reason, count)
            for number, each in self._numbered
            for reason, count in each.decisions.counts().items()
        ]

    def reasons(self) -> pa.Table:
        """Return one row per reason and round, with its bytes (`ReasonRow`).

        Reads the records once more, for their sizes.
        """
        sizes = self._sizes()
        rows = []
        for number, each in self._numbered:
            decisions = each.decisions
            own = sizes.of(decisions.offsets)
            for reason, count in decisions.counts().items():
                total = int(own[decisions.reasons == reason].sum())
                rows.append(ReasonRow(number, reason.is_kept, reason.text, count, total))
        return table_of(ReasonRow, rows)

    def keys(self, limit: int = 100) -> pa.Table:
        """Return the keys that lose the most bytes (`PlannedKeyRow`), the null key included.

        Control records have no key of their own and are not among them.

        Args:
            limit: the most rows.
        """
        sizes = self._sizes()
        dropped = np.zeros(len(sizes.offsets), np.bool_)
        for each in self.rounds:
            dropped |= sizes.are_at(each.decisions.offsets[~each.decisions.is_kept])
        return sizes.by_key(dropped).slice(0, limit).cast(schema_of(PlannedKeyRow))

    def _sizes(self) -> RecordSizes:
        """Read the sizes of the records of the cleaned segments."""
        bases = {int(base) for each in self.rounds for base in each.decisions.batches["segment"]}
        chosen = [one for one in self.partition.segments if one.base_offset in bases]
        return read_record_sizes(chosen)

    def why(self, offset: int) -> list[str]:
        """Return the fate of the record at an offset, a sentence for each round.

        Raises:
            LookupError: no round reaches the offset.
        """
        found = []
        for number, each in self._numbered:
            decisions = each.decisions
            for at in np.flatnonzero(decisions.offsets == offset)[:1].tolist():
                reason, newer = Reason(int(decisions.reasons[at])), int(decisions.newer_offsets[at])
                fate = "kept" if reason.is_kept else "dropped"
                by = f" at offset {newer}" if newer >= 0 else ""
                found.append(f"round {number}: {fate}: {reason.text}{by}")
        if not found:
            raise LookupError(f"{self.partition.name}: no round reaches offset {offset}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as plain values, for JSON."""
        return {
            "broker": self.broker._asdict(),
            "partition": self.partition.name,
            "size": self.size,
            "size_after": self.size_after,
            "problem": self.problem,
            "high_watermark": self.high_watermark,
            "rounds": [each.as_dict() for each in self.rounds],
        }

    @property
    def summary(self) -> str:
        """One sentence."""
        if not self.rounds:
            return f"{self.partition.name}: {self.problem}"
        before = len(self.rounds[0].decisions)
        gone = sum(each.dropped for each in self.rounds)
        return (
            f"{self.partition.name}: {self.size:,} bytes become {self.size_after:,}; "
            f"{gone:,} of {before:,} records are dropped"
        )

    def round_texts(self) -> list[str]:
        """Return a sentence for each round: its time, its offsets, and whether it is due."""
        texts = []
        for number, each in self._numbered:
            end = each.end_offset
            text = (
                f"round {number} at {time_text(each.now)}: the cleaner cleans offsets "
                f"{each.first_dirty_offset:,} to {end:,}"
            )
            if end < each.first_uncleanable_offset:
                bound = each.first_uncleanable_offset
                text += f", not to {bound:,}, because the offset map is full"
            if not each.is_due:
                text += f"; a broker would still wait: the dirty ratio is {each.ratio:.2f}"
            texts.append(text)
        return [*texts, *([self.problem] if self.rounds and self.problem else [])]

    def __str__(self) -> str:
        lines = [str(self.broker), self.summary, *(f"  {text}" for text in self.round_texts())]
        for number, reason, count in self.counts():
            fate = "kept" if reason.is_kept else "dropped"
            lines.append(f"  round {number}: {count:,} {fate}: {reason.text}")
        lines.append(f"  {self.high_watermark}")
        return safe_lines(lines)

    def __repr__(self) -> str:
        return safe(f"<CleaningPlan {self.summary}>")

    def _repr_html_(self) -> str:
        rows = [
            [number, "kept" if reason.is_kept else "dropped", count, reason.text]
            for number, reason, count in self.counts()
        ]
        note = "; ".join([*self.round_texts(), self.high_watermark, str(self.broker)])
        return table_html(
            self.summary, ["round", "fate", "records", "why"], rows, note, sentences=["why"]
        )


def _record_columns(numbered: tuple[int, CleaningRound]) -> list[pa.Array]:
    number, each = numbered
    decisions = each.decisions
    segments, positions = (
        decisions.batches[name][decisions.batch] for name in ("segment", "position")
    )
    places = np.searchsorted(_CODES, decisions.reasons).astype(np.int8)
    reasons = pa.DictionaryArray.from_arrays(
        arrow.integers(places, pa.int8(), arrow.NO_ABSENT),
        arrow.strings([reason.text for reason in _REASONS]),
    )
    return [
        arrow.repeated(number, pa.int32(), len(decisions)),
        arrow.integers(segments, pa.int64(), arrow.NO_ABSENT),
        arrow.integers(positions, pa.int64(), arrow.NO_ABSENT),
        arrow.integers(decisions.offsets, pa.int64(), arrow.NO_ABSENT),
        arrow.booleans(decisions.is_kept),
        reasons,
        arrow.integers(decisions.newer_offsets, pa.int64()),
    ]


def _batch_columns(numbered: tuple[int, CleaningRound]) -> list[pa.Array]:
    number, each = numbered
    rows = each.decisions.batches
    plain = ("segment", "position", "size", "new_size", "base_offset", "last_offset")
    return [
        arrow.repeated(number, pa.int32(), len(rows)),
        *(arrow.integers(rows[name], pa.int64(), arrow.NO_ABSENT) for name in plain),
        arrow.integers(rows["record_count"], pa.int64(), arrow.NO_ABSENT),
        arrow.strings([Verdict(code).name.lower() for code in rows["verdict"].tolist()]),
        arrow.strings([_KEEPINGS[Keeping(code)] for code in rows["keeping"].tolist()]),
        arrow.integers(rows["delete_horizon"], schemas.TIMESTAMP),
    ]
