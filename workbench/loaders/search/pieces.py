"""The order in which a search reads: pieces of segments by the time at which they begin.

So the records of several partitions come nearly merged by time, although one piece is read after
the other, and the memory of one is enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from workbench.layout.attributes import NO_TIMESTAMP
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.scan import Scan
from workbench.loaders.scan.splits import size_of, split
from workbench.record.reading.resync import batch_at

SMALLEST_PIECE: Final = 4 << 20  # bytes
MOST_PIECES: Final = 2000
"""About how many pieces a search has besides one per segment: each is looked into beforehand."""


@dataclass(frozen=True)
class SegmentPiece:
    """A part of a segment.

    Attributes:
        read: what to read.
        time: ms, from which on its records are: never before the piece before it.
        size: bytes.
    """

    read: SegmentRead
    time: int
    size: int


def pieces_by_time(scan: Scan, *, newest_first: bool = False) -> list[SegmentPiece]:
    """Return what a scan reads, by time; the pieces of a partition keep their order.

    Args:
        scan: the scan; its columns do not matter.
        newest_first: the order is turned round: the last piece is the first.
    """
    reads = scan.plan()
    size = max(SMALLEST_PIECE, sum(map(size_of, reads)) // MOST_PIECES)
    pieces = [piece for read in reads for piece in _split(read, size)]
    latest: dict[str, int] = {}
    timed = []
    for piece in pieces:
        name = piece.partition.path
        latest[name] = max(latest.get(name, NO_TIMESTAMP), _time_at(piece))
        timed.append(SegmentPiece(piece, latest[name], size_of(piece)))
    timed.sort(key=lambda piece: piece.time)
    return timed[::-1] if newest_first else timed


def _split(read: SegmentRead, size: int) -> Iterator[SegmentRead]:
    if size_of(read) <= size:
        yield read
    else:
        yield from split(read, size)


def _time_at(read: SegmentRead) -> int:
    """Return the time of the first batch that is read; -1: it has none, or cannot be read."""
    try:
        with read.segment.open() as source:
            row = batch_at(source, read.start)
    except OSError:  # reading the segment reports it
        return NO_TIMESTAMP
    return NO_TIMESTAMP if row is None else int(row["max_timestamp"])
