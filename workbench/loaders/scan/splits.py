"""Split segments into pieces that are read in parallel, and pack them into tasks of similar size.

A piece begins where the offset index points to a batch with a valid CRC. Each piece has its own
range of offsets, so whatever a damaged segment holds, no offset comes from two of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from workbench.file_system.source import FileSource
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.inspection.segment import Segment
from workbench.loaders.scan.plan import SegmentRead
from workbench.record.reading.resync import batch_at

MOST_PIECES: Final = 10_000  # of one read, however many offsets a batch claims
OPEN_COST: Final = 4 << 20  # bytes that opening one more file is charged, as in Spark's own packing


class _Cut(NamedTuple):
    """A possible start of a piece: byte position, and the first offset at or after it."""

    position: int
    offset: int


def size_of(read: SegmentRead) -> int:
    """Return how many bytes are read."""
    return max(0, (read.segment.size if read.stop is None else read.stop) - read.start)


def split(read: SegmentRead, size: int) -> list[SegmentRead]:
    """Return a read in pieces of about ``size`` bytes, as far as its index is sound.

    A segment that cannot be read remains whole: reading it reports that.
    """
    try:
        return _split(read, size)
    except OSError:
        return [read]


def _split(read: SegmentRead, size: int) -> list[SegmentRead]:
    whole = _bounded(read)
    count = -(-size_of(whole) // size)
    index = _index_of(whole.segment) if count > 1 else None
    if index is None:
        return [whole]
    step = size_of(whole) / count
    wanted = [whole.start + round(step * piece) for piece in range(1, count)]
    slots = dict.fromkeys(np.searchsorted(index.positions, wanted).tolist())
    cuts = [_Cut(whole.start, whole.low)]
    stop = whole.segment.size if whole.stop is None else whole.stop
    with FileSource(whole.segment.path) as source:
        for slot in slots:
            if slot < len(index) and cuts[-1].position < index.positions[slot] < stop:
                cut = _cut_at(source, whole.segment, int(index.positions[slot]))
                if cut is not None and cuts[-1].offset < cut.offset < whole.high:
                    cuts.append(cut)
    pieces = [
        replace(whole, start=here.position, low=here.offset, stop=there.position, high=there.offset)
        for here, there in pairwise(cuts)
    ]
    return [*pieces, replace(whole, start=cuts[-1].position, low=cuts[-1].offset)]


def split_by_offsets(read: SegmentRead, count: int, log_end: int) -> list[SegmentRead]:
    """Return a read in pieces of at most ``count`` offsets each.

    A damaged batch may claim offsets up to 2^63. So a read gives at most `MOST_PIECES` pieces;
    where ``count`` would give more, they hold more.

    Args:
        read: the read, whose ends may be open.
        count: the most offsets of a piece; a compacted log with gaps has fewer records.
        log_end: the partition's log end offset.
    """
    low = max(read.low, read.segment.base_offset)
    high = min(read.high, read.next_base, max(log_end, low + 1))
    count = max(count, -(-(high - low) // MOST_PIECES))
    if high - low <= count:
        return [read]
    bounds = [read.low, *range(low + count, high, count), read.high]
    pieces = []
    for first, end in pairwise(bounds):
        start = max(read.start, read.segment.position_of(first)) if first > low else read.start
        pieces.append(_bounded(replace(read, start=start, low=first, high=end)))
    return pieces


def pack(
    reads: Sequence[SegmentRead], size: int, records: int | None = None
) -> list[tuple[SegmentRead, ...]]:
    """Pack reads into tasks of about ``size`` bytes, the largest first, as Spark packs files.

    Args:
        reads: the reads in the order of their segments, which each task preserves.
        size: bytes of a task, where each read is charged `OPEN_COST` more.
        records: the most offsets of a task; None: any.
    """
    tasks: list[list[int]] = []
    filled = counted = 0
    for at in sorted(range(len(reads)), key=lambda at: size_of(reads[at]), reverse=True):
        takes, counts = size_of(reads[at]), _offsets_of(reads[at])
        is_full = filled + takes > size or (records is not None and counted + counts > records)
        if not tasks or is_full:
            tasks.append([])
            filled = counted = 0
        tasks[-1].append(at)
        filled += takes + OPEN_COST
        counted += counts
    return [tuple(reads[at] for at in sorted(task)) for task in tasks]


def _offsets_of(read: SegmentRead) -> int:
    """Return how many offsets a read can give, a huge number when its end is open."""
    return min(read.high, read.next_base) - max(read.low, read.segment.base_offset)


def _bounded(read: SegmentRead) -> SegmentRead:
    """Return a read that stops after the last batch it can want, if the index shows where."""
    if read.high >= read.next_base:
        return read
    index = _index_of(read.segment)
    if index is None:
        return read
    # An entry's offset may be the last of its batch: the next ones begin past ``high``.
    slot = int(np.searchsorted(index.offsets, read.high)) + 1
    if slot >= len(index):
        return read
    try:
        with FileSource(read.segment.path) as source:
            cut = _cut_at(source, read.segment, int(index.positions[slot]))
    except OSError:  # reading the segment reports it
        return read
    if cut is None or cut.offset < read.high or not 0 < cut.position - read.start < size_of(read):
        return read
    return replace(read, stop=cut.position)


def _index_of(segment: Segment) -> OffsetIndex | None:
    """Return a segment's index; None if it is missing or not sound."""
    try:
        index = segment.offset_index
    except OSError:
        return None
    return None if index is None or index.problems or not len(index) else index


def _cut_at(source: FileSource, segment: Segment, position: int) -> _Cut | None:
    """Return the start of the batch at ``position``; None unless its CRC is valid."""
    row = batch_at(source, position)
    if row is None:
        return None
    if row["magic"] == 2:
        return _Cut(position, int(row["base_offset"]))
    # A wrapper of magic 0 or 1 does not give its base offset: its first record does.
    for chunk in segment.read(position, position + int(row["size"]), options=0):
        if len(chunk.columns):
            return _Cut(position, int(chunk.columns.offsets[0]))
    return None
