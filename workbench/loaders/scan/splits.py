"""Split segments into pieces that are read in parallel, and pack them into tasks of similar size.

A job is planned by sizes alone: `byte_ranges` reads nothing. `located` finds the batches of a range
where the range is read: from the first one that begins in it to the first one that begins after it.
The offset index shows where to start looking; the MiB before the range must then chain up to it
without a gap, in ascending offsets. Where it does not, the range belongs to the one before it. So a
wrong index or a damaged header costs pieces, never records. Without an index, all headers before a
range must chain up to it: only its entries show that what is further back has lower offsets. Each
piece has its own offsets, so no offset comes from two of them.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from workbench.errors import LinkError, NotRegularFileError
from workbench.file_system.source import FileSource
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.inspection.segment import Segment
from workbench.inspection.verify.segments.log_pass import first_offsets
from workbench.layout import problems
from workbench.loaders.scan.plan import ByteRange, Rows, SegmentRead
from workbench.record.reading.batch_table import scan_batches, walk_batches
from workbench.record.reading.resync import batch_at

MOST_PIECES: Final = 10_000  # of one segment, however small they should be
OPEN_COST: Final = 4 << 20  # bytes that opening one more file is charged, as in Spark's own packing
CONTEXT: Final = 1 << 20
"""Bytes before a split point whose headers must chain up to it: max.message.bytes allows that many.

So the split point is not inside the value of a record, where another log's batches may be.
"""


_AFTERWARDS: Final = 1 << 16
"""Bytes after the first batch of a piece that must be in order too.

If they are not, it may be the batch before the split point that is out of order.
"""


class _Cut(NamedTuple):
    """A start of a piece: byte position, and an offset above all those before it."""

    position: int
    offset: int


def size_of(read: SegmentRead) -> int:
    """Return how many bytes are read, about as many where that is not located yet."""
    size = read.segment.size if read.stop is None else read.stop
    if read.span is not None:
        return max(0, min(read.span.step, size - read.span.begin))
    return max(0, size - read.start)


def byte_ranges(read: SegmentRead, size: int) -> list[SegmentRead]:
    """Return a read in ranges of about ``size`` bytes; nothing is read for it.

    Without an offset index, a segment that is not on this machine remains whole: the headers
    before a range are a few of a disk's pages, but almost all bytes of an object in a bucket.
    """
    total = _end_of(read)
    count = min(-(-total // size), MOST_PIECES)
    index = read.segment.files.get("index")
    is_cheap = index is not None and index.size
    if count < 2 or not (is_cheap or read.segment.files["log"].is_here):
        return [read]
    step = -(-total // count)
    return [replace(read, span=ByteRange(begin, step)) for begin in range(0, total, step)]


def _end_of(read: SegmentRead) -> int:
    return read.segment.size if read.stop is None else read.stop


def located(read: SegmentRead) -> SegmentRead | None:
    """Return the batches of a range as a read; None if they all belong to an earlier range.

    A read without a span is only shortened to the offsets wanted. A segment that cannot be opened
    belongs to its first range: reading it reports that.

    Raises:
        FileNotFoundError: the segment, or its index, was removed since it was listed.
        OSError: reading failed; another range might not see that, so nothing is read instead.
    """
    if read.span is None:
        return _narrowed(read)
    try:
        piece = _Cuts(read).piece(read.span.begin)
    except OSError as error:
        if not _is_lasting(error):
            raise
        piece = None if read.span.begin else replace(read, span=None)
    return None if piece is None else _narrowed(piece)


def split(read: SegmentRead, size: int) -> list[SegmentRead]:
    """Return a read in located pieces of about ``size`` bytes, as far as its index is sound.

    A segment that cannot be read remains whole: reading it reports that.
    """
    ranges = byte_ranges(read, size)
    if len(ranges) < 2:
        return [read]
    try:
        cuts = _Cuts(ranges[0])
        begins = [each.span.begin for each in ranges if each.span is not None]
        pieces = [piece for begin in begins if (piece := cuts.piece(begin)) is not None]
    except OSError:
        return [read]
    return [narrow for piece in pieces if (narrow := _narrowed(piece)) is not None] or [read]


class _Cuts:
    """The split points of one segment, each found when it is first asked for.

    Args:
        read: any range of the segment.

    Raises:
        OSError: the index cannot be read.
    """

    def __init__(self, read: SegmentRead) -> None:
        assert read.span is not None
        self._read = read
        self._step = read.span.step
        self._end = _end_of(read)
        self._index = _index_of(read.segment)
        self.at = cache(self._at)

    def piece(self, begin: int) -> SegmentRead | None:
        """Return what belongs to the range that begins at a byte.

        Raises:
            OSError: the segment cannot be read.
        """
        whole = replace(self._read, span=None)
        if begin:
            cut = self.at(begin)
            if cut is None or cut.position <= self._read.start:
                return None
            whole = replace(whole, start=cut.position, floor=cut.offset)
        for boundary in range(begin + self._step, self._end, self._step):
            cut = self.at(boundary)
            if cut is not None and cut.position > self._read.start:
                next_base = min(cut.offset, whole.next_base)
                whole = replace(whole, stop=cut.position, next_base=next_base)
                break
        return whole if whole.stop is None or whole.start < whole.stop else None

    def _at(self, boundary: int) -> _Cut | None:
        """Return the split point at the first byte of a range; None: no batch there can be trusted.

        It depends on the batches and the byte alone, not on the index, which grows while a broker
        appends. So two neighboring ranges find the same one.
        """
        with self._read.segment.open() as source:
            before = -1
            start = self._start_for(source, boundary)
            for table in walk_batches(source, boundary, start=start):
                last = _last_in_order(table.rows, before)
                if last is None or table.stop.code == problems.BAD_SIZE:
                    return None
                before = last
            position = table.stop.position
            if not table.stop.is_end:  # a batch reaches into the range
                row = batch_at(source, position)
                last = None if row is None else _last_after(row, before)
                if last is None:
                    return None
                before, position = last, position + int(row["size"])
            if position >= self._end:
                return None
            row = batch_at(source, position)
            if row is None:
                return None
            stop = min(position + int(row["size"]) + _AFTERWARDS, self._end)
            rows = scan_batches(source, position, stop).rows
        if _last_in_order(rows) is None or first_offsets(rows)[0] <= before:
            return None
        return _Cut(position, before + 1) if self._fits(position, before) else None

    def _fits(self, position: int, before: int) -> bool:
        """Return whether the index agrees, so that later split points have larger offsets.

        That holds if two entries are between two split points; if fewer are, both are in one chain.
        The offset of the entry before a split point may be above it: the last of a whole append.
        """
        index = self._index
        if index is None:
            return True
        slot = int(np.searchsorted(index.positions, position))
        is_below = slot < 2 or index.offsets[slot - 2] <= before
        return bool(is_below and (slot == len(index) or index.offsets[slot] > before))

    def _start_for(self, source: FileSource, boundary: int) -> int:
        """Return where the chain up to a range begins: an index entry, otherwise byte 0."""
        if self._index is None:
            return 0
        # The second entry before: so a split point between the two is in the chain, see `_fits`.
        slot = int(np.searchsorted(self._index.positions, boundary - CONTEXT, side="right")) - 2
        start = int(self._index.positions[slot]) if slot >= 0 else 0
        return start if start and batch_at(source, start) is not None else 0


def _last_in_order(rows: Rows, before: int = -1) -> int | None:
    """Return the last offset of batches, BATCH_ROW[n], in ascending order; None if they are not.

    Args:
        rows: the batches; without any, the last offset is that before.
        before: the last offset before them; -1: there is none.
    """
    if not len(rows):
        return before
    first, last = first_offsets(rows), rows["last_offset"]
    is_sound = (rows["problem"] == problems.OK).all() and (first <= last).all()
    if not is_sound or (first[1:] <= last[:-1]).any() or 0 <= before >= first[0]:
        return None
    return int(last[-1])


def _last_after(row: Any, before: int) -> int | None:
    """Return the last offset of a batch, if all of them are above ``before``."""
    lower = row["last_offset"] if row["magic"] < 2 else row["base_offset"]
    return int(row["last_offset"]) if before < lower <= row["last_offset"] else None


def _narrowed(read: SegmentRead) -> SegmentRead | None:
    """Return a piece without the bytes that cannot hold wanted offsets; None if none can."""
    low, high = max(read.low, read.floor), min(read.high, read.next_base)
    if low >= high:
        return None
    first = max(read.segment.base_offset, read.floor)
    if read.low > first:
        start = read.segment.position_of(read.low)
        if start > read.start and (read.stop is None or start < read.stop):
            read = replace(read, start=start)
    return _bounded(read)


def by_offsets(read: SegmentRead, count: int, size: int, log_end: int) -> list[SegmentRead]:
    """Return a read in pieces of at most ``count`` offsets each; nothing is read for it.

    A damaged batch may claim offsets up to 2^63. So a read gives at most `MOST_PIECES` pieces;
    where ``count`` would give more, they hold more.

    Args:
        read: the read, whose ends may be open.
        count: the most offsets of a piece; a compacted log with gaps has fewer records.
        size: about how many bytes a piece may have.
        log_end: the partition's log end offset.
    """
    low = max(read.low, read.segment.base_offset)
    high = min(read.high, read.next_base, max(log_end, low + 1))
    count = min(count, -(-(high - low) // max(1, -(-size_of(read) // size))))
    count = max(count, -(-(high - low) // MOST_PIECES))
    if high - low <= count:
        return [read]
    bounds = [read.low, *range(low + count, high, count), read.high]
    return [replace(read, low=first, high=end) for first, end in pairwise(bounds)]


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
    sizes = [size_of(read) for read in reads]
    for at in sorted(range(len(reads)), key=sizes.__getitem__, reverse=True):
        takes, counts = sizes[at], _offsets_of(reads[at])
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
    index = None
    with suppress(OSError):
        index = _index_of(read.segment)
    if index is None:
        return read
    # An entry's offset may be the last of its batch: the next ones begin past ``high``.
    slot = int(np.searchsorted(index.offsets, read.high)) + 1
    if slot >= len(index):
        return read
    position = int(index.positions[slot])
    try:
        with read.segment.open() as source:
            row = batch_at(source, position)
    except OSError:  # reading the segment reports it
        return read
    if row is None or row["magic"] < 2 or row["base_offset"] < read.high:
        return read
    if not 0 < position - read.start < size_of(read):
        return read
    return replace(read, stop=position)


def _index_of(segment: Segment) -> OffsetIndex | None:
    """Return a segment's index; None if it is not sound, or cannot be opened.

    Raises:
        FileNotFoundError: it was removed since it was listed.
        OSError: reading failed.
    """
    try:
        index = segment.offset_index
    except OSError as error:
        if not _is_lasting(error):
            raise
        return None
    if index is None and "index" in segment.files:
        raise FileNotFoundError(segment.files["index"].path)
    return None if index is None or index.problems or not len(index) else index


def _is_lasting(error: OSError) -> bool:
    """Return whether every task meets the same error: a network's has no number."""
    if isinstance(error, FileNotFoundError):
        return False
    return isinstance(error, NotRegularFileError | LinkError) or error.errno is not None
