"""Execute the decisions on a chunk: copy, rebuild, empty or leave out its batches.

Kafka: MemoryRecords.filterTo (4.2)
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.decisions import BATCH_DECISION, DecisionsBuilder, Reason, Verdict
from workbench.cleaner.rules import ABSENT, REASONS, Rules, decide_about_batches
from workbench.cleaner.statistics import CleanerStats
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.layout.attributes import LOG_APPEND_TIME, TIMESTAMP_TYPE_NAMES, codec_name
from workbench.layout.compaction import BATCH_OUTCOME
from workbench.record.columns import RecordColumns
from workbench.record.compaction.key_table import NO_MARKS
from workbench.record.compaction.locating import Chunk, Located, RecordLocator
from workbench.record.compaction.retaining import Decided, Retainer
from workbench.record.reading.batch_records import ALL_COLUMNS
from workbench.record.writing.builder import RecordsBuilder, empty_batch_header

Bytes = npt.NDArray[np.uint8]

_CREATE_TIME: Final = "CreateTime"
_NO_KEY: Final = np.uint8(Reason.NO_KEY)  # compared with arrays: a member would make them int64


class Filtered(NamedTuple):
    """What is kept.

    Attributes:
        data: uint8[n], whole batches; valid until the next chunk is filtered.
        max_offset: largest offset of a kept record, or of a batch kept as it is; -1: none.

    Kafka: MemoryRecords.FilterResult (4.2)
    """

    data: Bytes
    max_offset: int


class Filter:
    """Decides on the batches of a chunk and builds what is kept of them. Reuses its memory.

    Args:
        rules: the round's rules; those of a segment or group are set before it is filtered.
        delete_retention_ms: time from now to a new delete horizon, ms.
        stats: the counts to raise.
        decisions: collects each decision; None: none are wanted.

    Kafka: MemoryRecords.filterTo (4.2)
    """

    def __init__(
        self,
        rules: Rules,
        delete_retention_ms: int,
        stats: CleanerStats,
        decisions: DecisionsBuilder | None,
    ) -> None:
        self.rules = rules
        self._new_horizon = rules.now + delete_retention_ms
        self._stats = stats
        self._decisions = decisions
        self._marks = rules.offset_map.marks if decisions is None else NO_MARKS
        self._locator = RecordLocator(self._marks)
        self._retainer = Retainer(REASONS, int(Reason.SUPERSEDED))
        self._newest = np.empty(0, np.int64)
        self._max_offset = -1

    @property
    def size(self) -> int:
        """Number of bytes that wait for `take`."""
        return self._retainer.size

    def take(self) -> Filtered:
        """Return what is kept of the chunks since the last call."""
        max_offset, self._max_offset = self._max_offset, -1
        return Filtered(self._retainer.take(), max_offset)

    def filter(self, chunk: Chunk, segment: int) -> None:
        """Decide on a chunk of the segment with this base offset, and store what is kept.

        Raises:
            CorruptRecordError: a batch cannot be read.
            UnsupportedFormatError: a batch of magic 0 or 1 ends the round and loses all records,
                which a broker cannot write: it marks the log uncleanable.

        Kafka: MemoryRecords.filterTo (4.2)
        """
        outcomes = np.zeros(len(chunk.rows), BATCH_OUTCOME)
        wanted = decide_about_batches(self.rules, chunk, outcomes)
        size, done = self.size, 0
        for located in self._locator.locate(chunk, wanted):
            self._pass_unread(chunk, done, located.first, outcomes)
            self._filter_records(chunk, located, outcomes)
            done = located.last
        self._pass_unread(chunk, done, len(chunk.rows), outcomes)
        if self._decisions is not None:
            self._decisions.end_chunk(_decisions_of(chunk, segment, outcomes))
        self._stats.bytes_read += chunk.size
        self._stats.bytes_written += self.size - size

    def _filter_records(self, chunk: Chunk, located: Located, outcomes: Any) -> None:
        """Decide on the records of some batches and write what is kept."""
        count, offset_map = len(located.places), self.rules.offset_map
        if count > len(self._newest):
            self._newest = np.empty(count, np.int64)
        newest = self._newest[:count]
        end = offset_map.latest_offset + 1
        offset_map.newest_of(located, newest, end, self._marks)
        decided = self._retainer.decide(
            chunk.rows,
            located,
            newest,
            end,
            self._new_horizon,
            outcomes,
        )
        self._max_offset = max(self._max_offset, decided.max_offset)
        self._stats.messages_read += count + located.passed
        self._stats.messages_written += decided.kept
        self._stats.invalid_messages_read += int(np.count_nonzero(decided.reasons == _NO_KEY))
        if self._decisions is not None:
            offsets = located.places["offset"]
            self._decisions.add_records(offsets, decided.reasons, decided.newer_offsets)
        progress = (located.first, 0)
        while progress[0] < located.last:
            progress = self._retainer.write(
                chunk.buffer, chunk.rows, located, decided, outcomes, progress
            )
            if progress[0] < located.last:
                progress = self._write_unusual(chunk, located, decided, outcomes, progress)

    def _write_unusual(
        self,
        chunk: Chunk,
        located: Located,
        decided: Decided,
        outcomes: Any,
        progress: tuple[int, int],
    ) -> tuple[int, int]:
        """Write a batch that is old, or has content that no builder writes today."""
        index, used = progress
        behind = used + int(outcomes["count"][index])
        row = chunk.rows[index]
        if outcomes["verdict"][index] == Verdict.EMPTIED:
            part = _emptied(row, chunk)
        else:
            columns = chunk.columns(index, ALL_COLUMNS)
            stays = decided.reasons[used:behind] < Reason.SUPERSEDED
            picks = located.places["index"][used:behind][stays].astype(np.int64)
            try:
                part = rebuilt_batch(row, columns, picks, int(outcomes["delete_horizon"][index]))
            except ValueError as error:
                position = chunk.position + int(row["position"])
                problem = f"the batch cannot be written without its dropped records: {error}"
                raise CorruptRecordError(chunk.path, position, problem) from error
        outcomes["new_size"][index] = len(part)
        self._retainer.append(part)
        return index + 1, behind

    def _pass_unread(self, chunk: Chunk, first: int, last: int, outcomes: Any) -> None:
        """Note that batches are dropped without reading their records."""
        for index in range(first, last):
            outcome = outcomes[index]
            outcome["verdict"], outcome["delete_horizon"] = Verdict.REMOVED, ABSENT
            outcome["max_offset"] = -1
            if self._decisions is not None:
                offsets = _offsets_only(chunk, index).offsets
                outcome["count"] = len(offsets)
                reasons = np.full(len(offsets), outcome["rule"], np.uint8)
                self._decisions.add_records(offsets, reasons, np.full(len(offsets), ABSENT))


def _decisions_of(chunk: Chunk, segment: int, outcomes: Any) -> npt.NDArray[Any]:
    """Return BATCH_DECISION[m] for the batches."""
    rows = chunk.rows
    decisions = np.empty(len(rows), BATCH_DECISION)
    decisions["segment"] = segment
    decisions["position"] = rows["position"] + chunk.position
    decisions["record_count"] = outcomes["count"]
    for name in ("size", "base_offset", "last_offset"):
        decisions[name] = rows[name]
    for name in ("new_size", "delete_horizon", "verdict", "keeping"):
        decisions[name] = outcomes[name]
    return decisions


def _offsets_only(chunk: Chunk, index: int) -> RecordColumns:
    """Return the offsets of a batch that is dropped unread; its header's if it is damaged."""
    try:
        return chunk.columns(index, 0)
    except CorruptRecordError:
        row = chunk.rows[index]
        base, count = int(row["base_offset"]), max(int(row["record_count"]), 0)
        last = int(row["last_offset"])
        offsets = np.arange(base, min(base + count, last + 1), dtype=np.int64)
        timestamps = np.full(len(offsets), ABSENT, np.int64)
        return RecordColumns(
            offsets, timestamps, np.zeros(len(offsets), np.int32), None, None, None
        )


def rebuilt_batch(
    row: Any, columns: RecordColumns, picks: npt.NDArray[np.int64], delete_horizon: int
) -> Bytes:
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


def _emptied(row: Any, chunk: Chunk) -> Bytes:
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
