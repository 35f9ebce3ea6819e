"""Execute the decisions on a chunk: copy, rebuild, empty or leave out its batches.

Batches that are old, or have content that no builder writes today, are rebuilt one by one.

Kafka: MemoryRecords.filterTo, buildRetainedRecordsInto, DefaultRecordBatch.writeEmptyHeader (4.2)
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.decisions import BatchesDecided, Reason, RecordsDecided, Verdict
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.rules import ABSENT, REASONS
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.layout.attributes import LOG_APPEND_TIME, TIMESTAMP_TYPE_NAMES, codec_name
from workbench.record.columns import RecordColumns
from workbench.record.compaction.key_table import NO_MARKS
from workbench.record.compaction.locating import Located, RecordLocator, SurveyedBatches
from workbench.record.compaction.retaining import Decided, Retainer
from workbench.record.reading.batch_records import ALL_COLUMNS
from workbench.record.writing.builder import RecordsBuilder, empty_batch_header

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

_CREATE_TIME: Final = "CreateTime"
_NO_KEY: Final = np.uint8(Reason.NO_KEY)  # compared with arrays: a member would make them int64


class Filtered(NamedTuple):
    """What is kept of a chunk.

    Attributes:
        records: the decisions on the records that were read; empty if they are not wanted.
        size: bytes of the whole batches that are kept.
        max_offset: largest offset of a kept record, or of a batch kept as it is; -1: none.
        messages_read: number of records, without those of batches dropped unread.
        messages_kept: number of records kept.
        invalid_messages: number of records without a key.

    Kafka: MemoryRecords.FilterResult (4.2)
    """

    records: list[RecordsDecided]
    size: int
    max_offset: int
    messages_read: int
    messages_kept: int
    invalid_messages: int


class Filter:
    """Decides on the records of chunks and builds what is kept of their batches.

    Not thread-safe; memory is used again.

    Args:
        offset_map: the newest offset of each key.
        collects: whether each decision on a record is wanted.

    Kafka: MemoryRecords.filterTo (4.2)
    """

    def __init__(self, offset_map: OffsetMap, *, collects: bool) -> None:
        self._map = offset_map
        self._collects = collects
        self._marks = NO_MARKS if collects else offset_map.marks
        self._locator = RecordLocator(self._marks)
        self._retainer = Retainer(REASONS, int(Reason.SUPERSEDED))
        self._newest = np.empty(0, np.int64)

    def take(self) -> Bytes:
        """Return uint8[n]: what is kept of the chunks since the last call; valid until the next."""
        return self._retainer.take()

    def filter(self, chunk: SurveyedBatches, batches: BatchesDecided) -> Filtered:
        """Decide on the records of a chunk, and store what is kept.

        Args:
            chunk: the chunk.
            batches: what is decided about its batches; the rest is filled in.

        Raises:
            CorruptRecordError: a batch cannot be read.
            UnsupportedFormatError: a batch of magic 0 or 1 ends the round and loses all records,
                which a broker cannot write: it marks the log uncleanable.

        Kafka: MemoryRecords.filterTo (4.2)
        """
        before, found = self._retainer.size, []
        max_offset, read, kept, invalid = -1, 0, 0, 0
        for located in self._locator.locate(chunk, batches.wanted):
            decided = self._filter_records(chunk, located, batches)
            max_offset = max(max_offset, decided.max_offset)
            read += len(located.places) + located.passed
            kept += decided.kept
            invalid += int(np.count_nonzero(decided.reasons == _NO_KEY))
            if self._collects:
                offsets = located.places["offset"].copy()
                columns = (decided.reasons.copy(), decided.newer_offsets.copy())
                found.append(RecordsDecided(located.first, offsets, *columns))
        return Filtered(found, self._retainer.size - before, max_offset, read, kept, invalid)

    def _filter_records(
        self, chunk: SurveyedBatches, located: Located, batches: BatchesDecided
    ) -> Decided:
        """Decide on the records of some batches and write what is kept."""
        outcomes = batches.outcomes
        count = len(located.places)
        if count > len(self._newest):
            self._newest = np.empty(count, np.int64)
        newest = self._newest[:count]
        end_offset = self._map.latest_offset + 1
        self._map.newest_of(located, newest, end_offset, self._marks)
        decided = self._retainer.decide(
            chunk.rows, located, newest, end_offset, batches.new_horizon, outcomes
        )
        index, used = located.first, 0
        while index < located.last:
            index, used = self._retainer.write(
                chunk.buffer, chunk.rows, located, decided, outcomes, (index, used)
            )
            if index < located.last:  # a batch that is old, or as no builder writes one today
                end = used + int(outcomes["count"][index])
                stays = decided.reasons[used:end] < Reason.SUPERSEDED
                picks = located.places["index"][used:end][stays].astype(np.int64)
                columns = None
                if outcomes["verdict"][index] != Verdict.EMPTIED:
                    columns = chunk.columns(index, ALL_COLUMNS)
                horizon = int(outcomes["delete_horizon"][index])
                part = unusual_batch(chunk, chunk.rows[index], columns, picks, horizon)
                outcomes["new_size"][index] = len(part)
                self._retainer.append(part)
                index, used = index + 1, end
        return decided


def unusual_batch(
    chunk: SurveyedBatches,
    row: Any,
    columns: RecordColumns | None,
    picks: Longs,
    delete_horizon: int,
) -> Bytes:
    """Return what is kept of a batch that cannot be written together with others.

    Args:
        chunk: the chunk that holds the batch, named in errors.
        row: the batch's BATCH_ROW.
        columns: its records; None: only its header is kept.
        picks: int64[k], ascending, the indexes of the records to keep.
        delete_horizon: ms; -1: none.

    Raises:
        CorruptRecordError: the batch cannot be written without its dropped records.
        UnsupportedFormatError: a batch of magic 0 or 1 is to be kept without records.
    """
    if columns is None:
        return _emptied(row, chunk)
    try:
        return rebuilt_batch(row, columns, picks, delete_horizon)
    except ValueError as error:
        position = chunk.position + int(row["position"])
        problem = f"the batch cannot be written without its dropped records: {error}"
        raise CorruptRecordError(chunk.path, position, problem) from error


def rebuilt_batch(row: Any, columns: RecordColumns, picks: Longs, delete_horizon: int) -> Bytes:
    """Return a batch with some of its records, in magic 2.

    Its base and last offset are kept, and so its sequence numbers; a batch of magic 0 or 1 begins
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
        delete_horizon=None if delete_horizon == ABSENT else delete_horizon,
    )
    builder.append_columns(columns, picks)
    if is_new:
        builder.override_last_offset(int(row["last_offset"]))
    return builder.finish()


def _emptied(row: Any, chunk: SurveyedBatches) -> Bytes:
    """Return the header of a batch without records.

    Kafka: DefaultRecordBatch.writeEmptyHeader as in MemoryRecords.filterTo (4.2)
    """
    if row["magic"] < 2:
        position = chunk.position + int(row["position"])
        problem = (
            f"a batch of magic {row['magic']} that ends the round cannot be kept without records"
        )
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
