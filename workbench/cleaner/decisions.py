"""What becomes of each batch and each record, and why.

Cleaning executes these decisions; planning returns them alone.

Kafka: MemoryRecords.RecordFilter, Cleaner.shouldRetainRecord (4.2)
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.layout import compaction
from workbench.layout.rows import joined_rows


class Reason(IntEnum):
    """Why a record stays or goes; stored as uint8. `is_kept` tells which, `text` says it."""

    NEWEST = 1
    BEYOND_MAP = 2
    TOMBSTONE_HORIZON_SET = 3
    TOMBSTONE_HORIZON_AHEAD = 4
    TOMBSTONE_OF_OLD_FORMAT = 5
    MARKER_NEEDED = 6
    MARKER_HORIZON_SET = 7
    MARKER_HORIZON_AHEAD = 8
    CONTROL = 9
    SUPERSEDED = 20
    NO_KEY = 21
    TOMBSTONE_HORIZON_PASSED = 22
    TOMBSTONE_OF_OLD_FORMAT_EXPIRED = 23
    ABORTED = 24
    MARKER_HORIZON_PASSED = 25

    @property
    def is_kept(self) -> bool:
        """Whether the record stays."""
        return self < Reason.SUPERSEDED

    @property
    def text(self) -> str:
        """The reason in words."""
        return _TEXTS[self]


_TEXTS: Final = {
    Reason.NEWEST: "no record of this key behind it is in the map",
    Reason.BEYOND_MAP: "the map of newest offsets does not reach so far",
    Reason.TOMBSTONE_HORIZON_SET: "a tombstone whose delete horizon is set now",
    Reason.TOMBSTONE_HORIZON_AHEAD: "a tombstone whose delete horizon is not reached",
    Reason.TOMBSTONE_OF_OLD_FORMAT: "a tombstone of magic 0 or 1 in a file that is new enough",
    Reason.MARKER_NEEDED: "batches of the transaction that it ends are still there",
    Reason.MARKER_HORIZON_SET: "its transaction is gone; the marker's delete horizon is set now",
    Reason.MARKER_HORIZON_AHEAD: "its transaction is gone; the delete horizon is not reached",
    Reason.CONTROL: "a control record that ends no transaction",
    Reason.SUPERSEDED: "a record of the same key is behind it",
    Reason.NO_KEY: "it has no key",
    Reason.TOMBSTONE_HORIZON_PASSED: "a tombstone whose delete horizon has passed",
    Reason.TOMBSTONE_OF_OLD_FORMAT_EXPIRED: "a tombstone of magic 0 or 1 in an old file",
    Reason.ABORTED: "its transaction was aborted",
    Reason.MARKER_HORIZON_PASSED: "its transaction is gone, and the delete horizon has passed",
}


class Verdict(IntEnum):
    """What becomes of a batch; stored as uint8."""

    COPIED = compaction.COPIED
    """Byte for byte."""
    REBUILT = compaction.REBUILT
    """With the records that stay, or only with a delete horizon."""
    EMPTIED = compaction.EMPTIED
    """A header without records stays."""
    REMOVED = compaction.REMOVED


class Keeping(IntEnum):
    """What would keep a batch if it had no records; stored as uint8."""

    NOTHING = 0
    LAST_OF_PRODUCER = 1
    """It has the last sequence number, or epoch, of a producer that is still known."""
    LAST_OF_ROUND = 2
    """It ends where this round of cleaning ends, and tells where the log's cleaned part does."""


BATCH_DECISION: Final = np.dtype(
    [
        ("segment", np.int64),           # base offset of the source segment
        ("position", np.int64),          # byte place in it
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
        batches: BATCH_DECISION[m].
        batch: int64[n], to which of them each record belongs.
        offsets: int64[n], of the records.
        reasons: uint8[n], `Reason`s.
        newer_offsets: int64[n], of the record that supersedes each; -1 where none does.
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
        """bool[n]: which records stay."""
        return self.reasons < Reason.SUPERSEDED

    def counts(self) -> dict[Reason, int]:
        """Return how many records each reason has, the kept ones first."""
        numbers, counts = np.unique(self.reasons, return_counts=True)
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        return {Reason(number): count for number, count in pairs}

    def reason_of(self, offset: int) -> Reason:
        """Return why the record at an offset stays or goes.

        Raises:
            LookupError: no record at this offset was decided about.
        """
        found = np.flatnonzero(self.offsets == offset)
        if not len(found):
            raise LookupError(f"no decision about offset {offset}")
        return Reason(int(self.reasons[found[0]]))


class DecisionsBuilder:
    """Collects decisions chunk by chunk."""

    def __init__(self) -> None:
        self._batches: list[npt.NDArray[Any]] = []
        self._offsets: list[Longs] = []
        self._reasons: list[Codes] = []
        self._newer: list[Longs] = []
        self._parts = [0]  # how many parts of columns there were when each chunk ended

    def add_records(self, offsets: Longs, reasons: Codes, newer_offsets: Longs) -> None:
        """Add copies of what is decided about records; fields as of `Decisions`."""
        self._offsets.append(offsets.copy())
        self._reasons.append(reasons.copy())
        self._newer.append(newer_offsets.copy())

    def end_chunk(self, batches: npt.NDArray[Any]) -> None:
        """Add the batches of a chunk, BATCH_DECISION[m], whose records were added."""
        self._batches.append(batches)
        self._parts.append(len(self._offsets))

    def last_chunk(self) -> Decisions:
        """Return what was added about the last chunk."""
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
    """Return decisions from parts; the lists are emptied, so that not all is there twice."""
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
