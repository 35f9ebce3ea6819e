"""Fill the offset map with the keys of the dirty part of a log, until it is full.

Kafka: Cleaner.buildOffsetMap (4.2)
"""

from collections.abc import Callable

import numpy as np

from workbench.cleaner.chunks import Chunk, present_values, read_chunks
from workbench.cleaner.cleaning_steps import MapTeller
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.statistics import CleanerStats
from workbench.cleaner.transactions import CleanedTransactions
from workbench.log.log import Log
from workbench.log.segment import LogSegment
from workbench.record.reader import KEYS


class MapBuilder:
    """Builds the map of one round.

    Args:
        offset_map: emptied and filled.
        buffer_size: bytes that are read at a time.
        stats: counts.
        check: called between reads; ends the cleaning by raising.
        throttle: told the bytes of each read; may sleep.

    Kafka: Cleaner.buildOffsetMap (4.2)
    """

    def __init__(
        self,
        offset_map: OffsetMap,
        buffer_size: int,
        stats: CleanerStats,
        check: Callable[[], None],
        throttle: Callable[[int], None],
    ) -> None:
        self._map = offset_map
        self._buffer_size = buffer_size
        self._stats = stats
        self._check = check
        self._throttle = throttle
        self._transactions = CleanedTransactions()

    def build(self, log: Log, start: int, end: int) -> None:
        """Take in the keys of [start, end); `OffsetMap.latest_offset` tells how far it came.

        Raises:
            CorruptRecordError: a batch cannot be read.

        Kafka: Cleaner.buildOffsetMap (4.2)
        """
        self._map.clear()
        self._teller = MapTeller(log.context, self._map)
        dirty = log.local.segments.values(start, end)
        self._transactions.add_aborted(log.collect_aborted_transactions(start, end))
        ends = [*(segment.base_offset for segment in dirty[1:]), end]
        for segment, segment_end in zip(dirty, ends, strict=False):
            self._check()
            if self._take_segment(segment, start):
                return
            self._map.latest_offset = segment_end - 1  # also where the last offsets are missing
            self._teller.segment(segment, segment_end)

    def _take_segment(self, segment: LogSegment, start: int) -> bool:
        """Take a segment in; return whether the map became full."""
        position = segment.offset_index.lookup(start).position
        for chunk in read_chunks(segment.log, position, self._buffer_size):
            self._check()
            self._throttle(chunk.size)
            for index in range(len(chunk.rows)):
                if self._take_batch(chunk, index, start):
                    return True
                last_offset = int(chunk.rows[index]["last_offset"])
                if last_offset >= start:
                    self._map.latest_offset = last_offset
            self._stats.map_bytes_read += chunk.size
        return False

    def _take_batch(self, chunk: Chunk, index: int, start: int) -> bool:
        row = chunk.rows[index]
        last_offset, producer_id = int(row["last_offset"]), int(row["producer_id"])
        if row["is_control"]:
            control_type = chunk.control_type(index)
            self._transactions.on_control_batch(last_offset, producer_id, control_type)
            self._teller.skipped(chunk, row, "it ends a transaction")
            self._stats.map_messages_read += 1
            return False
        is_transactional = bool(row["is_transactional"])
        if self._transactions.on_batch(last_offset, producer_id, is_transactional=is_transactional):
            self._teller.skipped(chunk, row, "its transaction was aborted")
            self._stats.map_messages_read += int(row["record_count"])
            return False
        columns = chunk.columns(index, KEYS)
        assert columns.keys is not None
        wanted = np.flatnonzero(~columns.keys.is_null() & (columns.offsets >= start))
        keys = present_values(columns.keys, wanted)
        offsets = columns.offsets[wanted]
        known = self._teller.known(keys)
        taken = self._map.put(keys, offsets)
        self._teller.taken(chunk.path, keys, offsets, known, taken)
        is_full = taken < len(keys)
        self._stats.map_messages_read += int(wanted[taken]) if is_full else len(columns)
        return is_full
