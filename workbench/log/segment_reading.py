"""Reading one segment: by offset, by time, to its end. Needs no lock.

Kafka: LogSegment (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.files.file_records import FileRecords, LogOffsetPosition, TimestampAndOffset
from workbench.files.time_index import TimestampOffset
from workbench.files.writable_index import WritableOffsetIndex, WritableTimeIndex
from workbench.files.writable_transaction_index import WritableTransactionIndex
from workbench.log.context import LogContext
from workbench.log.fetch import FetchData, LogOffsetMetadata
from workbench.log.lookup_steps import (
    tell_batches_passed,
    tell_offset_probes,
    tell_time_probes,
)
from workbench.log.segment_parts import SegmentParts
from workbench.log.steps import wants_details

MAX_RELATIVE_OFFSET: Final = 2**31 - 1


def fits(offset: int, base_offset: int) -> bool:
    """Return whether an offset can stand in an index of a segment as a relative offset."""
    return 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET


def all_fit(offsets: npt.NDArray[np.int64], base_offset: int) -> npt.NDArray[np.bool_]:
    """Return bool[n]: whether each of int64[n] can stand in an index as a relative offset."""
    return (offsets >= base_offset) & (offsets - base_offset <= MAX_RELATIVE_OFFSET)


class SegmentReading(SegmentParts):
    """What a segment tells of itself; see `LogSegment`."""

    def __init__(
        self,
        context: LogContext,
        base_offset: int,
        log: FileRecords,
        indexes: tuple[WritableOffsetIndex, WritableTimeIndex, WritableTransactionIndex],
    ) -> None:
        super().__init__(base_offset, log, indexes)
        self.context = context
        self._max_timestamp: TimestampOffset | None = None  # None: as the last entry of the index

    def translate_offset(self, offset: int, start: int = 0) -> LogOffsetPosition | None:
        """Return the first batch that reaches ``offset``; None if none does.

        Args:
            offset: of a record.
            start: a position known to be at or before that batch.

        Kafka: LogSegment.translateOffset (4.2)
        """
        entry = self.offset_index.lookup(offset)
        found = self.log.search_for_offset(offset, max(entry.position, start))
        if wants_details(self.context.observer):
            tell_offset_probes(self.context, self.offset_index, offset)
            position = max(entry.position, start)
            tell_batches_passed(self.context, self.log, position, offset, found)
        return found

    def read(
        self,
        start_offset: int,
        max_size: int,
        max_position: int | None = None,
        *,
        min_one_message: bool = False,
    ) -> FetchData | None:
        """Return batches from the one that holds ``start_offset``; None if no batch reaches it.

        Args:
            start_offset: the first offset wanted.
            max_size: bytes.
            max_position: give nothing at or behind this byte; None gives no bytes, only the place.
            min_one_message: give the first batch whole, even if it is larger than ``max_size``.

        Raises:
            ValueError: ``max_size`` is negative.

        Kafka: LogSegment.read (4.2)
        """
        if max_size < 0:
            raise ValueError(f"max_size is {max_size}, it may not be negative")
        found = self.translate_offset(start_offset)
        if found is None:
            return None
        where = LogOffsetMetadata(found.offset, self.base_offset, found.position)
        allowed = max(max_size, found.size) if min_one_message else max_size
        if allowed == 0 or max_position is None:
            return FetchData(where)
        size = min(max_position - found.position, allowed)
        return FetchData(where, self.log, found.position, size, allowed < found.size)

    def read_next_offset(self) -> int:
        """Return the offset behind the last batch; the base offset if there is none.

        Believes the last entry of the offset index.

        Raises:
            CorruptRecordError: a batch's size cannot be right.

        Kafka: LogSegment.readNextOffset (4.2)
        """
        last_offset = self.offset_index.last_offset
        start = max(self.offset_index.lookup(last_offset).position, 0)
        found = self.log.search_for_offset(last_offset, start)
        last = None if found is None else self.log.last_batch(found.position)
        return self.base_offset if last is None else int(last["last_offset"]) + 1

    @property
    def has_overflow(self) -> bool:
        """Whether offsets lie too far from the base offset, as old brokers could write them.

        Kafka: LogSegment.hasOverflow (4.2)
        """
        next_offset = self.read_next_offset()
        return next_offset > self.base_offset and not fits(next_offset - 1, self.base_offset)

    def find_offset_by_timestamp(
        self, timestamp: int, starting_offset: int | None = None
    ) -> TimestampAndOffset | None:
        """Return the first record from ``starting_offset`` on that is not older; None if none is.

        Args:
            timestamp: ms.
            starting_offset: the base offset when None.

        Kafka: LogSegment.findOffsetByTimestamp (4.2)
        """
        start = self.base_offset if starting_offset is None else starting_offset
        entry = self.time_index.lookup(timestamp)
        position = self.offset_index.lookup(max(entry.offset, start)).position
        found = self.log.search_for_timestamp(timestamp, position, start)
        if wants_details(self.context.observer):
            tell_time_probes(self.context, self.time_index, timestamp)
            tell_offset_probes(self.context, self.offset_index, max(entry.offset, start))
            if found is not None:
                batch = self.log.search_for_offset(found.offset, position)
                tell_batches_passed(self.context, self.log, position, found.offset, batch)
        return found

    @property
    def max_timestamp_so_far(self) -> TimestampOffset:
        """Largest timestamp in ms and the last offset of the first batch that has it; -1: none.

        Kafka: LogSegment.maxTimestampSoFar, shallowOffsetOfMaxTimestampSoFar (4.2)
        """
        # Not kept: who appends may have noted a larger one since the entry was read.
        return self._max_timestamp or self.time_index.last_entry

    @property
    def largest_timestamp(self) -> int:
        """The age that retention goes by: largest timestamp, or the file's time without one; ms.

        Kafka: LogSegment.largestTimestamp (4.2)
        """
        largest = self.max_timestamp_so_far.timestamp
        return largest if largest >= 0 else self.last_modified

    def _read_largest_timestamp(self) -> TimestampOffset:
        entry = self.time_index.last_entry
        behind = self.log.largest_timestamp_after(self.offset_index.lookup(entry.offset).position)
        if behind.timestamp > entry.timestamp:
            return TimestampOffset(behind.timestamp, behind.offset)
        return entry
