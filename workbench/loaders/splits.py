"""Segments in pieces that are read side by side, and pieces in tasks of about the same size.

A piece begins where the offset index leads to and a batch with a right CRC stands. Each says which
offsets are its own, so that whatever a damaged segment holds, no offset comes from two of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from workbench.files.offset_index import OffsetIndex
from workbench.inspection.segment import Segment
from workbench.loaders.plan import SegmentRead
from workbench.record.resync import batch_at
from workbench.record.source import FileSource

OPEN_COST: Final = 4 << 20  # bytes that opening one more file counts as, as in Spark's own packing


class _Cut(NamedTuple):
    """A place where a piece may begin: byte position, and the first offset from there on."""

    position: int
    offset: int


def size_of(read: SegmentRead) -> int:
    """Return how many bytes are read."""
    return max(0, (read.segment.size if read.stop is None else read.stop) - read.start)


def split(read: SegmentRead, size: int) -> list[SegmentRead]:
    """Return a read in pieces of about ``size`` bytes, as far as its index is sound.

    Raises:
        OSError: the segment cannot be read.
    """
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

    Args:
        read: whose ends may be open.
        count: of offsets; where a compacted log has gaps there are fewer records.
        log_end: the offset behind the partition's last.
    """
    low = max(read.low, read.segment.base_offset)
    high = min(read.high, read.next_base, max(log_end, low + 1))
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
    """Put reads into tasks of about ``size`` bytes, the largest first, as Spark packs files.

    Args:
        reads: in the order of their segments; that order stays within a task.
        size: bytes of a task, each read counted with `OPEN_COST` more.
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
    """Return a read that stops behind the last batch it can want, where the index tells."""
    if read.high >= read.next_base:
        return read
    index = _index_of(read.segment)
    if index is None:
        return read
    # An entry's offset may be the last of its batch: what begins at ``high`` or above is behind.
    slot = int(np.searchsorted(index.offsets, read.high)) + 1
    if slot >= len(index):
        return read
    with FileSource(read.segment.path) as source:
        cut = _cut_at(source, read.segment, int(index.positions[slot]))
    if cut is None or cut.offset < read.high or not 0 < cut.position - read.start < size_of(read):
        return read
    return replace(read, stop=cut.position)


def _index_of(segment: Segment) -> OffsetIndex | None:
    """Return a segment's index; None when there is none, or it is not sound."""
    try:
        index = segment.offset_index
    except FileNotFoundError:
        return None
    return None if index is None or index.problems or not len(index) else index


def _cut_at(source: FileSource, segment: Segment, position: int) -> _Cut | None:
    """Return the place of the batch at ``position``; None unless its CRC is right."""
    row = batch_at(source, position)
    if row is None:
        return None
    if row["magic"] == 2:
        return _Cut(position, int(row["base_offset"]))
    # A wrapper of magic 0 or 1 does not tell its base offset: its first record does.
    for chunk in segment.read(position, position + int(row["size"]), options=0):
        if len(chunk.columns):
            return _Cut(position, int(chunk.columns.offsets[0]))
    return None
