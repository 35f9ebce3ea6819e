"""Carry the decisions about a chunk out: what is copied, rebuilt, emptied and left out.

Kafka: MemoryRecords.filterTo (4.2)
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.chunks import Chunk
from workbench.cleaner.decisions import (
    DecisionsBuilder,
    Keeping,
    Reason,
    RecordDecisions,
    Verdict,
)
from workbench.cleaner.retention import NONE, Rules, decide_records, retention_of_batch
from workbench.cleaner.statistics import CleanerStats
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.layout.attributes import LOG_APPEND_TIME, TIMESTAMP_TYPE_NAMES, codec_name
from workbench.record.batch_records import ALL_COLUMNS
from workbench.record.builder import RecordsBuilder, empty_batch_header
from workbench.record.columns import RecordColumns

Bytes = npt.NDArray[np.uint8]

_CREATE_TIME: Final = "CreateTime"
_NOTHING: Final = np.empty(0, np.uint8)


class Filtered(NamedTuple):
    """What of a chunk stays.

    Attributes:
        parts: uint8[n] each, one behind the other.
        max_offset: the largest offset of a record, or of a batch that stays as it is; -1: none.

    Kafka: MemoryRecords.FilterResult (4.2)
    """

    parts: list[Bytes]
    max_offset: int


class Filter:
    """Decides about the batches of a chunk and makes what stays of them.

    Args:
        rules: of the round; `Rules.retains_old_tombstones` is set for each segment.
        delete_retention_ms: what is added to now for a delete horizon.
        stats: counts.
        decisions: gets each.

    Kafka: MemoryRecords.filterTo (4.2)
    """

    def __init__(
        self,
        rules: Rules,
        delete_retention_ms: int,
        stats: CleanerStats,
        decisions: DecisionsBuilder,
    ) -> None:
        self.rules = rules
        self._new_horizon = rules.now + delete_retention_ms
        self._stats = stats
        self._decisions = decisions

    def filter(self, chunk: Chunk, segment: int) -> Filtered:
        """Return what stays of a chunk of the segment with this base offset.

        Raises:
            CorruptRecordError: a batch cannot be read.
            UnsupportedFormatError: a batch of magic 0 or 1 ends the round and loses all records,
                which 4.2 cannot write: it calls the log uncleanable.

        Kafka: MemoryRecords.filterTo (4.2)
        """
        parts, max_offset = [], -1
        for index in range(len(chunk.rows)):
            part, last_offset = self._filter_batch(chunk, index, segment)
            if len(part):
                parts.append(part)
                max_offset = max(max_offset, last_offset)
        self._stats.bytes_read += chunk.size
        self._stats.bytes_written += sum(map(len, parts))
        return Filtered(parts, max_offset)

    def _filter_batch(self, chunk: Chunk, index: int, segment: int) -> tuple[Bytes, int]:
        """Return what stays of a batch, and its largest offset."""
        retention = retention_of_batch(self.rules, chunk, index)
        row = chunk.rows[index]
        horizon = int(row["delete_horizon"])
        if retention.is_removed_unread:
            columns = _offsets_only(chunk, index)
            records = decide_records(self.rules, row, retention, columns)
            self._note(chunk, row, segment, (Verdict.REMOVED, retention.keeping, 0, NONE), records)
            return _NOTHING, -1
        columns = chunk.columns(index, ALL_COLUMNS)
        records = decide_records(self.rules, row, retention, columns)
        picks = np.flatnonzero(records.is_kept)
        self._count(row, columns, records, len(picks))
        max_offset = int(row["last_offset"])
        if len(picks):
            sets_horizon = horizon == NONE and (
                retention.is_marker_of_nothing or _has_null(columns, picks)
            )
            horizon = self._new_horizon if sets_horizon else horizon
            if len(picks) == len(columns) and row["magic"] == 2 and not sets_horizon:
                start = int(row["position"])
                part = chunk.buffer[start : start + int(row["size"])]
                verdict = Verdict.COPIED
            else:
                part = _rebuilt(row, columns, picks, horizon)
                verdict = Verdict.REBUILT
                max_offset = int(columns.offsets[picks[-1]])
        elif retention.keeping != Keeping.NOTHING:
            part, verdict, horizon = _emptied(row, chunk), Verdict.EMPTIED, NONE
        else:
            part, verdict, horizon = _NOTHING, Verdict.REMOVED, NONE
        outcome = (verdict, retention.keeping, len(part), horizon)
        self._note(chunk, row, segment, outcome, records)
        return part, max_offset

    def _count(self, row: Any, columns: RecordColumns, records: RecordDecisions, kept: int) -> None:
        self._stats.messages_read += len(columns)
        self._stats.messages_written += kept
        if not row["is_control"]:
            self._stats.invalid_messages_read += int((records.reasons == Reason.NO_KEY).sum())

    def _note(
        self,
        chunk: Chunk,
        row: Any,
        segment: int,
        outcome: tuple[Verdict, Keeping, int, int],
        records: RecordDecisions,
    ) -> None:
        verdict, keeping, new_size, horizon = outcome
        count, base = len(records.offsets), int(row["base_offset"])
        self._decisions.add(
            (
                segment,
                chunk.position + int(row["position"]),
                int(row["size"]),
                new_size,
                base if base >= 0 or not count else int(records.offsets[0]),
                int(row["last_offset"]),
                horizon,
                count,
                verdict,
                keeping,
            ),
            records,
        )


def _has_null(columns: RecordColumns, picks: npt.NDArray[np.int64]) -> bool:
    assert columns.values is not None
    return bool(columns.values.null_count) and bool(columns.values.is_null()[picks].any())


def _offsets_only(chunk: Chunk, index: int) -> RecordColumns:
    """Return the offsets of a batch that goes unread; if it is damaged, as its header has them."""
    try:
        return chunk.columns(index, 0)
    except CorruptRecordError:
        row = chunk.rows[index]
        base, count = int(row["base_offset"]), max(int(row["record_count"]), 0)
        last = int(row["last_offset"])
        offsets = np.arange(base, min(base + count, last + 1), dtype=np.int64)
        timestamps = np.full(len(offsets), NONE, np.int64)
        return RecordColumns(
            offsets, timestamps, np.zeros(len(offsets), np.int32), None, None, None
        )


def _rebuilt(
    row: Any, columns: RecordColumns, picks: npt.NDArray[np.int64], delete_horizon: int
) -> Bytes:
    """Return a batch with some of its records, in magic 2.

    Its base and last offset stay, so that the sequence numbers do; a batch of magic 0 or 1 begins
    and ends with its records.

    Kafka: MemoryRecords.buildRetainedRecordsInto (4.2)
    """
    is_new = row["magic"] == 2
    timestamp_type = int(row["timestamp_type"])
    is_append_time = timestamp_type == LOG_APPEND_TIME
    builder = RecordsBuilder(
        codec=codec_name(int(row["codec"])),
        timestamp_type=TIMESTAMP_TYPE_NAMES[timestamp_type] if is_append_time else _CREATE_TIME,
        base_offset=int(row["base_offset"] if is_new else columns.offsets[picks[0]]),
        log_append_time=int(row["max_timestamp"]) if is_append_time else None,
        producer_id=int(row["producer_id"]),
        producer_epoch=int(row["producer_epoch"]),
        base_sequence=int(row["base_sequence"]),
        is_transactional=bool(row["is_transactional"]),
        is_control=bool(row["is_control"]),
        partition_leader_epoch=int(row["partition_leader_epoch"]),
        delete_horizon=None if delete_horizon == NONE else delete_horizon,
    )
    builder.append_columns(columns, picks)
    if is_new:
        builder.override_last_offset(int(row["last_offset"]))
    return builder.finish()


def _emptied(row: Any, chunk: Chunk) -> Bytes:
    """Return the header of a batch without records.

    Kafka: DefaultRecordBatch.writeEmptyHeader as in MemoryRecords.filterTo (4.2)
    """
    if row["magic"] < 2:
        position = chunk.position + int(row["position"])
        problem = f"a batch of magic {row['magic']} cannot stay without records, and ends the round"
        raise UnsupportedFormatError(chunk.path, position, problem)
    return empty_batch_header(
        base_offset=int(row["base_offset"]),
        last_offset=int(row["last_offset"]),
        max_timestamp=int(row["max_timestamp"]),
        producer_id=int(row["producer_id"]),
        producer_epoch=int(row["producer_epoch"]),
        base_sequence=int(row["base_sequence"]),
        partition_leader_epoch=int(row["partition_leader_epoch"]),
        timestamp_type=int(row["timestamp_type"]),
        is_transactional=bool(row["is_transactional"]),
        is_control=bool(row["is_control"]),
    )
