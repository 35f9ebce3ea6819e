"""Fill the offset map with the keys of the dirty section of a log, until it is full.

Kafka: Cleaner.buildOffsetMap (4.2)
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.cleaning_steps import MapTeller
from workbench.cleaner.offset_map import OffsetMap
from workbench.cleaner.statistics import CleanerStats
from workbench.cleaner.transactions import CleanedTransactions
from workbench.log.log import Log
from workbench.log.segments.segment import LogSegment
from workbench.record.compaction.locating import Chunk, RecordLocator


class MapBuilder:
    """Builds the map of one round.

    Args:
        offset_map: the map to empty and fill.
        buffer_size: bytes read at a time.
        stats: the counts to raise.
        check: called between reads; ends the cleaning by raising.
        throttle: receives the bytes of each read; may sleep.

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
        self._locator = RecordLocator()

    def build(self, log: Log, start: int, end: int) -> None:
        """Put the keys of [start, end) into the map; `OffsetMap.latest_offset` says how far it got.

        Raises:
            CorruptRecordError: a batch cannot be read.

        Kafka: Cleaner.buildOffsetMap (4.2)
        """
        self._map.clear()
        self._map.mark(start, end)
        self._teller = MapTeller(log.context, self._map)
        dirty = log.local.segments.values(start, end)
        self._transactions.add_aborted(log.collect_aborted_transactions(start, end))
        ends = [*(segment.base_offset for segment in dirty[1:]), end]
        for segment, segment_end in zip(dirty, ends, strict=False):
            self._check()
            if self._take_segment(segment, start):
                return
            self._map.latest_offset = segment_end - 1  # even if the last offsets are missing
            self._teller.segment(segment, segment_end)

    def _take_segment(self, segment: LogSegment, start: int) -> bool:
        """Put a segment's keys into the map; return whether it became full."""
        position = segment.offset_index.lookup(start).position
        for chunk in read_chunks(segment.log, position, self._buffer_size):
            self._check()
            self._throttle(chunk.size)
            if self._take_chunk(chunk, start):
                return True
            self._stats.map_bytes_read += chunk.size
        return False

    def _take_chunk(self, chunk: Chunk, start: int) -> bool:
        """Put some batches' keys into the map; return whether it became full."""
        rows = chunk.rows
        without_keys = self._records_without_keys(chunk)
        wanted = None if without_keys is None else without_keys < 0
        done, partly = 0, None
        for located in self._locator.locate(chunk, wanted):
            self._teller.skipped(chunk, done, located.first)
            known = self._teller.known(located)
            passed = self._map.put_records(located, start)
            self._teller.taken(chunk.path, located, start, known, passed)
            self._stats.map_messages_read += passed
            done = located.last
            if passed < len(located.places):
                done = int(located.places["batch"][passed])
                partly = located.places[:passed]
                break
        else:
            self._teller.skipped(chunk, done, len(rows))
            done = len(rows)
        if without_keys is not None:
            self._stats.map_messages_read += int(without_keys[:done].clip(0).sum())
        self._reach(rows["last_offset"][:done], start)
        if partly is None:
            return False
        is_taken = (partly["batch"] == done) & (partly["key_size"] >= 0)
        self._reach(partly["offset"][is_taken], start)
        return True

    def _reach(self, offsets: npt.NDArray[np.int64], start: int) -> None:
        """Extend the map to the last of some offsets, unless it is before ``start``."""
        for offset in reversed(offsets):
            if offset >= start:
                self._map.latest_offset = int(offset)
                return

    def _records_without_keys(self, chunk: Chunk) -> npt.NDArray[np.int64] | None:
        """Return the record counts of control and aborted batches, -1 for others; None if none."""
        found, rows = None, chunk.rows
        for index, _, can_go in self._transactions.follow(chunk):
            is_control = bool(rows["is_control"][index])
            if is_control or can_go:
                found = np.full(len(rows), -1) if found is None else found
                found[index] = 1 if is_control else rows["record_count"][index]
        return found
