"""Find the first offset at or after a time in few reads, by time indexes.

A segment is skipped if its time index ends below the time and its last batches agree; the first one
that is not skipped is read from where its time index says. So a time index is trusted as by a
broker, where it is sound and not obviously short; a scan trusts none. Of a remote segment, the
metadata says where it ends.

Kafka: UnifiedLog.fetchOffsetByTimestamp, LogSegment.findOffsetByTimestamp (4.2)
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import numpy as np

from workbench.file_system.source import FileSource
from workbench.files.indexes import offset_index, time_index
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.record.reading.batch_table import scan_batches, walk_batches

_AT_ONCE: Final = 32  # segments that are looked into side by side: a bucket takes 20 ms each


def first_offset_at(partition: Partition, time: int) -> int | None:
    """Return the first offset whose record is at or after ``time`` (ms); None without one.

    Raises:
        OSError: a segment cannot be read.
    """
    start = partition.log_start_offset
    for read in partition.remote_reads:
        stamp = read.metadata.max_timestamp
        if read.segment is None or (stamp is not None and stamp < time):
            continue
        offset = None
        if stamp is not None or not _is_before(read.segment, time):
            offset = _first_in(read.segment, time, max(start, read.low))
        if offset is not None and offset < read.high:
            return offset
    for segment in _not_before(partition.segments, time):
        offset = _first_in(segment, time, start)
        if offset is not None:
            return offset
    return None


def _not_before(segments: Iterable[Segment], time: int) -> Iterator[Segment]:
    """Yield the segments that can have records at or after a time."""
    left = list(segments)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while left:
            group, left = left[:_AT_ONCE], left[_AT_ONCE:]
            ended = pool.map(lambda segment: _is_before(segment, time), group)
            for segment, is_before in zip(group, ended, strict=True):
                if not is_before:
                    yield segment


def _is_before(segment: Segment, time: int) -> bool:
    """Return whether all records are below a time, by the ends of the indexes and of the log."""
    times, positions = segment.files.get("timeindex"), segment.files.get("index")
    if segment.is_active or times is None or positions is None:
        return False
    with suppress(OSError):  # reading the segment raises it again
        largest = time_index.read_last(times.path, segment.base_offset)
        if largest is None or largest.timestamp >= time:
            return False
        last = offset_index.read_last(positions.path, segment.base_offset)
        with FileSource(segment.path) as source:
            table = scan_batches(source, 0 if last is None else last.position)
        stamps = table.rows["max_timestamp"]
        return table.stop.is_end and len(stamps) > 0 and int(stamps.max()) <= largest.timestamp
    return False


def _first_in(segment: Segment, time: int, start: int) -> int | None:
    """Return the first offset of a segment, from ``start`` on, at or after a time; None: none."""
    position = _position_before(segment, time)
    with FileSource(segment.path) as source:
        for table in walk_batches(source, start=position):
            rows = table.rows
            reaching = (rows["max_timestamp"] >= time) & (rows["last_offset"] >= start)
            for row in rows[np.flatnonzero(reaching)]:
                begin, end = int(row["position"]), int(row["position"] + row["size"])
                for chunk in segment.read(begin, end, options=0):
                    columns = chunk.columns
                    found = (columns.timestamps >= time) & (columns.offsets >= start)
                    if found.any():
                        return int(columns.offsets[found][0])
    return None


def _position_before(segment: Segment, time: int) -> int:
    """Return a position before which no record reaches a time; 0 if the time index is wrong."""
    index = None
    with suppress(OSError):  # it only saves time
        index = segment.time_index
    if index is None or index.problems:
        return 0
    entry = index.lookup(time - 1)
    position = segment.position_of(entry.offset) if entry.offset > segment.base_offset else 0
    with suppress(OSError), FileSource(segment.path) as source:
        for table in walk_batches(source, start=position) if position else ():
            holds = np.flatnonzero(table.rows["last_offset"] >= entry.offset)
            if len(holds):
                stamp = int(table.rows["max_timestamp"][holds[0]])
                return position if stamp == entry.timestamp else 0
    return 0
