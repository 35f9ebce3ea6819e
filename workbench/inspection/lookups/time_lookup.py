"""Find the first record at or after a time, as a broker's ListOffsets does, in few reads.

A broker takes the first segment whose largest timestamp reaches the time, and answers from that
segment alone: if no record there does (deleted, or compacted away), it finds nothing. A segment
without timestamps, such as an empty one, has the last entry of its time index as its largest
timestamp, or if that has none the time of its file.

Batches after damage count, as for every reader here; a broker stops before them. Timestamps are
taken from the batches; a time index saves reading where it is sound, and a wrong one
changes nothing. Of a remote segment, the metadata says where it ends.

Kafka: UnifiedLog.fetchOffsetByTimestamp, LogSegment.findOffsetByTimestamp,
LogSegment.largestTimestamp, RemoteLogManager.findOffsetByTimestamp (4.2)
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.files.indexes import offset_index, time_index
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.record.buffers import thread_pool
from workbench.record.reading.batch_table import first_offsets, scan_batches, walk_batches
from workbench.record.reading.readable_batches import readable_batches

if TYPE_CHECKING:  # which calls this module
    from workbench.inspection.partition import DiskPartition

Rows = npt.NDArray[Any]
Unreadable = Callable[[Segment, OSError], None]

_AT_ONCE: Final = 32  # segments that are looked into side by side: a bucket takes 20 ms each


class OffsetAtTime(NamedTuple):
    """A record found by its time: ms, and its offset."""

    timestamp: int
    offset: int


def first_record_at(
    partition: "DiskPartition", time: int, unreadable: Unreadable | None = None
) -> OffsetAtTime | None:
    """Return the first record at or after ``time`` (ms) that a broker finds; None without one.

    Args:
        partition: the log.
        time: ms since the epoch.
        unreadable: receives each segment that cannot be read, and the next is asked; None: raise.

    Raises:
        OSError: a segment cannot be read.
    """
    start = partition.log_start_offset
    for read in partition.remote_reads:
        stamp = read.metadata.max_timestamp
        if read.segment is None or (stamp is not None and stamp < time):
            continue
        bounds = max(start, read.low), read.high
        found = _tried(partial(_look, read.segment, time, *bounds), read.segment, unreadable)
        if found is not None and found.record is not None:
            return found.record
    for segment in _not_before(partition.segments, time):
        found = _tried(partial(_look, segment, time, start), segment, unreadable)
        if found is not None and found.reaches:
            return found.record
    return None


def first_in_segment(segment: Segment, time: int) -> OffsetAtTime | None:
    """Return the first record of a segment at or after a time (ms); None without one.

    Raises:
        OSError: the segment cannot be read.
    """
    return _look(segment, time, 0).record


class _Look(NamedTuple):
    """What is in a segment.

    Attributes:
        reaches: whether its largest timestamp is at or after the time.
        record: the first record that is, at or after the wanted offset; None without one.
    """

    reaches: bool
    record: OffsetAtTime | None = None


def _tried(
    look: Callable[[], _Look], segment: Segment, unreadable: Unreadable | None
) -> _Look | None:
    if unreadable is None:
        return look()
    try:
        return look()
    except OSError as error:
        unreadable(segment, error)
        return None


def _not_before(segments: Sequence[Segment], time: int) -> Iterator[Segment]:
    """Yield the segments that can have records at or after a time."""
    if len(segments) == 1:
        yield from segments
        return
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
        largest = time_index.read_last(times.path, segment.base_offset, times.fs)
        if largest is None or largest.timestamp >= time:
            return False
        last = offset_index.read_last(positions.path, segment.base_offset, positions.fs)
        with segment.open() as source:
            table = scan_batches(source, 0 if last is None else last.position)
        stamps = table.rows["max_timestamp"]
        return table.stop.is_end and len(stamps) > 0 and int(stamps.max()) <= largest.timestamp
    return False


def _look(segment: Segment, time: int, start: int, end: int | None = None) -> _Look:
    """Look for a time in one segment; records below ``start``, or from ``end`` on, do not count."""
    position = _position_before(segment, time)
    largest, reaches = -1, False
    for rows in _headers(segment, position):
        rows = rows[rows["problem"] == problems.OK]  # noqa: PLW2901
        if end is not None:
            rows = rows[first_offsets(rows) < end]  # noqa: PLW2901
        largest = max(largest, int(rows["max_timestamp"].max(initial=-1)))
        for row in rows[rows["max_timestamp"] >= time]:
            if row["last_offset"] < start:
                reaches = True
                continue
            begin, stop = int(row["position"]), int(row["position"] + row["size"])
            for chunk in segment.read(begin, stop, options=0, pool=thread_pool()):
                reaches |= not chunk.problems
                columns = chunk.columns
                found = (columns.timestamps >= time) & (columns.offsets >= start)
                if end is not None:
                    found &= columns.offsets < end
                at = int(np.argmax(found)) if found.any() else -1
                if at >= 0:
                    stamp, offset = int(columns.timestamps[at]), int(columns.offsets[at])
                    return _Look(reaches=True, record=OffsetAtTime(stamp, offset))
    if position == 0 and largest < 0:
        reaches = segment.stamp_without_records.timestamp >= time
    return _Look(reaches)


def _headers(segment: Segment, position: int) -> Iterator[Rows]:
    """Yield the batches of a segment by their headers, those after damage, too."""
    with segment.open() as source:
        for table in readable_batches(source, position, base_offset=segment.base_offset):
            yield table.rows


def _position_before(segment: Segment, time: int) -> int:
    """Return a position before which no record reaches a time; 0 if the time index is wrong."""
    index = None
    with suppress(OSError):  # it only saves time
        index = segment.time_index
    if index is None or index.problems:
        return 0
    entry = index.lookup(time - 1)
    position = segment.position_of(entry.offset) if entry.offset > segment.base_offset else 0
    with suppress(OSError), segment.open() as source:
        for table in walk_batches(source, start=position) if position else ():
            holds = np.flatnonzero(table.rows["last_offset"] >= entry.offset)
            if len(holds):
                stamp = int(table.rows["max_timestamp"][holds[0]])
                return position if stamp == entry.timestamp else 0
    return 0
