"""Whether each batch and each record is kept, and why.

Cleaning executes these decisions; planning only returns them.

Kafka: MemoryRecords.RecordFilter, Cleaner.shouldRetainRecord (4.2)
"""

from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.layout import compaction
from workbench.layout.rows import joined_rows
from workbench.record.compaction.locating import SurveyedBatches

_NONE: Final = -1  # value of a column for none


class Reason(IntEnum):
    """Why a record is kept or dropped; stored as uint8. `is_kept` says which, `text` says why."""

    NEWEST = 1
    BEYOND_MAP = 2
    TOMBSTONE_HORIZON_SET = 3
    TOMBSTONE_HORIZON_AHEAD = 4
    TOMBSTONE_IN_NEW_FILE = 5
    MARKER_NEEDED = 6
    MARKER_HORIZON_SET = 7
    MARKER_HORIZON_AHEAD = 8
    CONTROL = 9
    MARKER_IN_NEW_FILE = 10
    SUPERSEDED = 20
    NO_KEY = 21
    TOMBSTONE_HORIZON_PASSED = 22
    TOMBSTONE_IN_OLD_FILE = 23
    ABORTED = 24
    MARKER_HORIZON_PASSED = 25
    MARKER_IN_OLD_FILE = 26

    @property
    def is_kept(self) -> bool:
        """Whether the record is kept."""
        return self < Reason.SUPERSEDED

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return _TEXTS[self]


_TEXTS: Final = {
    Reason.NEWEST: "the offset map has no later record of this key",
    Reason.BEYOND_MAP: "the offset map does not reach this offset",
    Reason.TOMBSTONE_HORIZON_SET: "a tombstone whose delete horizon is set now",
    Reason.TOMBSTONE_HORIZON_AHEAD: "a tombstone whose delete horizon is not reached",
    Reason.TOMBSTONE_IN_NEW_FILE: (
        "a tombstone without delete horizon, in a file that is new enough"
    ),
    Reason.MARKER_NEEDED: "batches of the marker's transaction are still in the log",
    Reason.MARKER_HORIZON_SET: (
        "the marker's transaction has no batches left; its delete horizon is set now"
    ),
    Reason.MARKER_HORIZON_AHEAD: (
        "the marker's transaction has no batches left; its delete horizon is not reached"
    ),
    Reason.CONTROL: "a control record that ends no transaction",
    Reason.MARKER_IN_NEW_FILE: (
        "the marker's transaction has no batches left; the marker is in a file that is new enough"
    ),
    Reason.SUPERSEDED: "a later record has the same key",
    Reason.NO_KEY: "the record has no key",
    Reason.TOMBSTONE_HORIZON_PASSED: "a tombstone whose delete horizon has passed",
    Reason.TOMBSTONE_IN_OLD_FILE: "a tombstone without delete horizon, in an old file",
    Reason.ABORTED: "the record's transaction was aborted",
    Reason.MARKER_HORIZON_PASSED: (
        "the marker's transaction has no batches left, and its delete horizon has passed"
    ),
    Reason.MARKER_IN_OLD_FILE: (
        "the marker's transaction has no batches left, and the marker is in an old file"
    ),
}


class Verdict(IntEnum):
    """The outcome for a batch; stored as uint8."""

    COPIED = compaction.COPIED
    """It is copied byte for byte."""
    REBUILT = compaction.REBUILT
    """It is rewritten with the records that are kept, or only to set a delete horizon."""
    EMPTIED = compaction.EMPTIED
    """Its header is kept without records."""
    REMOVED = compaction.REMOVED


class Keeping(IntEnum):
    """What would keep a batch if it had no records; stored as uint8."""

    NOTHING = 0
    LAST_OF_PRODUCER = 1
    """It has the last sequence number, or epoch, of a producer that is still known."""
    LAST_OF_ROUND = 2
    """It ends where this round of cleaning ends, and marks the end of the log's clean section."""


BATCH_DECISION: Final = np.dtype(
    [
        ("segment", np.int64),           # base offset of the source segment
        ("position", np.int64),          # byte position in it
        ("size", np.int64),              # bytes before
        ("new_size", np.int64),          # bytes after; 0: removed
        ("base_offset", np.int64),
        ("last_offset", np.int64),
        ("delete_horizon", np.int64),    # ms, afterwards; -1: none
        ("record_count", np.int64),      # before
        ("verdict", np.uint8),           # a `Verdict`
        ("keeping", np.uint8),           # a `Keeping`
    ],
    align=True,
)  # fmt: skip

Longs = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of one round of cleaning, in the order of the log.

    Attributes:
        batches: BATCH_DECISION[m], one per batch.
        batch: int64[n], the index of each record's batch.
        offsets: int64[n], the records' offsets.
        reasons: uint8[n], `Reason`s.
        newer_offsets: int64[n], offset of the record that supersedes each; -1 if none does.
    """

    batches: npt.NDArray[Any]
    batch: Longs
    offsets: Longs
    reasons: Codes
    newer_offsets: Longs

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def is_kept(self) -> npt.NDArray[np.bool_]:
        """bool[n]: which records are kept."""
        return self.reasons < Reason.SUPERSEDED

    def counts(self) -> dict[Reason, int]:
        """Return how many records each reason has, the kept ones first."""
        numbers, counts = np.unique(self.reasons, return_counts=True)
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        return {Reason(number): count for number, count in pairs}

    def reason_of(self, offset: int) -> Reason:
        """Return why the record at an offset is kept or dropped.

        Raises:
            LookupError: the cleaning made no decision about this offset.
        """
        found = np.flatnonzero(self.offsets == offset)
        if not len(found):
            raise LookupError(f"no decision about offset {offset}")
        return Reason(int(self.reasons[found[0]]))


class BatchesDecided(NamedTuple):
    """What is decided about the batches of a chunk, before their records are read and afterwards.

    Attributes:
        outcomes: BATCH_OUTCOME[m].
        wanted: bool[m], which are read; the others are dropped unread. None: all are read.
        new_horizon: delete horizon of those that get one now, ms; -1: none gets one.
    """

    outcomes: npt.NDArray[Any]
    wanted: npt.NDArray[np.bool_] | None
    new_horizon: int


class RecordsDecided(NamedTuple):
    """The decisions on the records of some batches that follow each other in a chunk.

    Attributes:
        first: row of the first of the batches.
        offsets, reasons, newer_offsets: see `Decisions`.
    """

    first: int
    offsets: Longs
    reasons: Codes
    newer_offsets: Longs


class DecisionsBuilder:
    """Collects decisions chunk by chunk."""

    def __init__(self) -> None:
        self._batches: list[npt.NDArray[Any]] = []
        self._offsets: list[Longs] = []
        self._reasons: list[Codes] = []
        self._newer: list[Longs] = []
        self._parts = [0]  # number of column parts at the end of each chunk

    def add_chunk(
        self,
        chunk: SurveyedBatches,
        segment: int,
        batches: BatchesDecided,
        records: list[RecordsDecided],
    ) -> None:
        """Add the decisions on a chunk.

        Args:
            chunk: the chunk.
            segment: base offset of its segment.
            batches: those on its batches; the records of those dropped unread are counted.
            records: those on the records that were read.
        """
        rows, outcomes = chunk.rows, batches.outcomes
        unread = () if batches.wanted is None else np.flatnonzero(~batches.wanted).tolist()
        for index in unread:
            offsets = chunk.offsets(index)
            outcomes["count"][index] = count = len(offsets)
            reasons = np.full(count, outcomes["rule"][index], np.uint8)
            records.append(RecordsDecided(index, offsets, reasons, np.full(count, _NONE)))
        for part in sorted(records, key=itemgetter(0)):
            self._offsets.append(part.offsets)
            self._reasons.append(part.reasons)
            self._newer.append(part.newer_offsets)
        decisions = np.empty(len(rows), BATCH_DECISION)
        decisions["segment"] = segment
        decisions["position"] = rows["position"] + chunk.position
        decisions["record_count"] = outcomes["count"]
        for name in ("size", "base_offset", "last_offset"):
            decisions[name] = rows[name]
        for name in ("new_size", "delete_horizon", "verdict", "keeping"):
            decisions[name] = outcomes[name]
        self._batches.append(decisions)
        self._parts.append(len(self._offsets))

    def last_chunk(self) -> Decisions:
        """Return what was added for the last chunk."""
        first = self._parts[-2]
        return _decisions(
            self._batches[-1:], self._offsets[first:], self._reasons[first:], self._newer[first:]
        )

    def finish(self) -> Decisions:
        """Return what was added, and forget it."""
        return _decisions(self._batches, self._offsets, self._reasons, self._newer)


def _decisions(
    batches: list[npt.NDArray[Any]], offsets: list[Longs], reasons: list[Codes], newer: list[Longs]
) -> Decisions:
    """Return decisions from parts; the lists are emptied, so that nothing is held twice."""
    whole = _joined(batches, BATCH_DECISION)
    return Decisions(
        whole,
        np.repeat(np.arange(len(whole)), whole["record_count"]),
        _joined(offsets, np.int64),
        _joined(reasons, np.uint8),
        _joined(newer, np.int64),
    )


def _joined(parts: list[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    whole = joined_rows(parts, kind)
    parts.clear()
    return whole
