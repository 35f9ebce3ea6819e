"""Execute the decisions on a chunk: copy, rebuild, empty or leave out its batches.

Kafka: MemoryRecords.filterTo (4.2)
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.decisions import BatchesDecided, Reason, RecordsDecided, Verdict
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.rebuilding import unusual_batch
from workbench.cleaner.rules import REASONS
from workbench.record.compaction.key_table import NO_MARKS
from workbench.record.compaction.locating import Located, RecordLocator, SurveyedBatches
from workbench.record.compaction.retaining import Decided, Retainer
from workbench.record.reading.batch_records import ALL_COLUMNS

Bytes = npt.NDArray[np.uint8]

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
