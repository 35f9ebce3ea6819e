"""What fills the disk, down to keys, values, headers, overhead and preallocated space.

The bytes of all rows are the bytes of all files. Those of compressed batches are divided in
proportion to what their parts are before compression, which is an estimate; their sum is exact.
Preallocated and sparse files have holes, for which the disk holds nothing: a file's last bytes are
counted as its holes.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.files import names
from workbench.files.names import FileKind
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Root
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment, is_preallocated
from workbench.layout import problems
from workbench.layout.attributes import NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD
from workbench.layout.index_entries import OFFSET_ENTRY, TIME_ENTRY
from workbench.loaders.tables.record_sizes import header_sizes
from workbench.record.reading.reader import Chunk
from workbench.tables.directories import DiskUsageRow

KEYS: Final = "keys"
VALUES: Final = "values"
HEADERS: Final = "headers"
RECORD_OVERHEAD: Final = "record overhead"
BATCH_OVERHEAD: Final = "batch overhead"
UNREADABLE: Final = "unreadable"
ENTRIES: Final = "entries"
PREALLOCATED: Final = "preallocated"
WHOLE: Final = "whole"

_PARTS: Final = (KEYS, VALUES, HEADERS, RECORD_OVERHEAD, BATCH_OVERHEAD)
MAGIC_V2: Final = 2

Longs = npt.NDArray[np.int64]


class FilePart(NamedTuple):
    """A part of a file.

    Attributes:
        name: `KEYS`, `VALUES`, …
        size: bytes in the file.
        occupied: bytes that the disk holds; less than ``size`` if the part has holes.
        uncompressed: bytes before compression; None if the part is never compressed.
    """

    name: str
    size: int
    occupied: int
    uncompressed: int | None = None


def usage_of_partition(partition: DiskPartition) -> Iterator[DiskUsageRow]:
    """Yield the rows of a partition directory; what cannot be read is `UNREADABLE`."""
    topic, number = partition.topic, partition.partition
    told = set()
    for segment in partition.segments:
        for kind, entry in segment.files.items():
            told.add(entry.name)
            for part in parts_of_file(segment, kind):
                yield DiskUsageRow(topic, number, segment.base_offset, kind, *part)
    for entry in partition.files:
        if entry.name not in told:
            part = FilePart(WHOLE, entry.size, entry.occupied)
            yield DiskUsageRow(topic, number, None, file_kind(entry, partition), *part)


def usage_of_root(root: Root) -> Iterator[DiskUsageRow]:
    """Yield the rows of files outside partition directories."""
    unknown = set(root.unknown)
    for entry in root.files:
        kind = "unknown" if entry in unknown else entry.name
        yield DiskUsageRow(None, None, None, kind, *FilePart(WHOLE, entry.size, entry.occupied))


def file_kind(entry: FileEntry, partition: DiskPartition) -> str:
    """Return what a broker uses a file of a partition directory for."""
    name = names.parse_file_name(entry.name)
    if name is not None:
        return f"{name.kind}{name.suffix}"
    return "unknown" if entry in partition.unknown else entry.name


def parts_of_file(
    segment: Segment, kind: FileKind, *, most: int | None = None, read: "LogFileParts | None" = None
) -> list[FilePart]:
    """Return the parts of one file of a segment that are not empty, in their order.

    Args:
        segment: the segment.
        kind: which of its files.
        most: read at most about so many bytes of a `.log` file, and estimate the parts of the
            rest from them. None reads the whole file.
        read: what was read of the `.log` file before it grew: only what is new is read. It is
            updated.
    """
    entry = segment.files[kind]
    if kind == "log":
        parts = (read or LogFileParts()).parts(segment, entry.size, most)
    else:
        parts = _other(segment, kind, entry)
    return [part for part in _with_holes(parts, entry) if part.size or part.uncompressed]


def _with_holes(parts: list[FilePart], entry: FileEntry) -> Iterable[FilePart]:
    """Take the holes of a file from its last parts."""
    holes = entry.size - entry.occupied
    found = []
    for part in reversed(parts):
        hole = min(holes, part.size)
        holes -= hole
        found.append(part._replace(occupied=part.size - hole))
    return reversed(found)


def _other(segment: Segment, kind: FileKind, entry: FileEntry) -> list[FilePart]:
    used: int | None = None
    size = entry.size
    try:
        if kind == "index" and (offsets := segment.offset_index) is not None:
            used = len(offsets.offsets) * OFFSET_ENTRY.itemsize
        if kind == "timeindex" and (times := segment.time_index) is not None:
            used = len(times.offsets) * TIME_ENTRY.itemsize
    except OSError:
        return [FilePart(UNREADABLE, size, size)]
    if used is None:
        return [FilePart(WHOLE, size, size)]
    used = min(used, size)
    return [FilePart(ENTRIES, used, used), FilePart(PREALLOCATED, size - used, size - used)]


class LogFileParts:
    """The parts of a `.log` file, as far as it was read.

    Attributes:
        reached: position after the last batch that was read.
    """

    def __init__(self) -> None:
        self.reached = 0
        self._stored = np.zeros(len(_PARTS), np.int64)
        self._plain = np.zeros(len(_PARTS), np.int64)

    def parts(self, segment: Segment, size: int, most: int | None) -> list[FilePart]:
        """Read on, and return the parts; of more than ``most`` bytes the rest is estimated."""
        preallocated = 0
        with suppress(OSError), segment.open() as source:
            for chunk in self._new_chunks(segment, most):
                own, before = _chunk_parts(chunk)
                self._stored += own
                self._plain += before
                if len(chunk.rows):
                    end = chunk.rows["position"][-1] + chunk.rows["size"][-1]
                    self.reached = max(self.reached, int(end))
                preallocated += sum(
                    problem.size
                    for problem in chunk.problems
                    if is_preallocated(problem, source, segment)
                )
        stored, plain = self._stored.copy(), self._plain.copy()
        if most is not None and self.reached >= most:
            stored = stored * size // self.reached
            plain = plain * size // self.reached
            stored[-1] += size - int(stored.sum())
        rest = max(size - int(stored.sum()), 0)
        preallocated = min(preallocated, rest)
        parts = [
            FilePart(name, own, own, before)
            for name, own, before in zip(_PARTS, stored.tolist(), plain.tolist(), strict=True)
        ]
        unreadable = rest - preallocated
        parts.append(FilePart(UNREADABLE, unreadable, unreadable))
        return [*parts, FilePart(PREALLOCATED, preallocated, preallocated)]

    def _new_chunks(self, segment: Segment, most: int | None) -> Iterator[Chunk]:
        if most is not None and self.reached >= most:
            return
        for chunk in segment.read(self.reached):
            yield chunk
            if most is not None and self.reached >= most:
                return


def _chunk_parts(chunk: Chunk) -> tuple[Longs, Longs]:
    """Return int64[5] each: bytes of the parts on the disk, and before compression."""
    rows, columns = chunk.rows, chunk.columns
    damaged = [problem.position for problem in chunk.problems]
    is_read = (rows["problem"] == problems.OK) & ~np.isin(rows["position"], damaged)
    keys, values = columns.keys, columns.values
    assert keys is not None
    assert values is not None

    def by_batch(sizes: Longs) -> Longs:
        return np.bincount(columns.batch, sizes, len(rows)).astype(np.int64)

    told = np.stack(
        [
            by_batch(keys.sizes()),
            by_batch(values.sizes()),
            by_batch(header_sizes(columns)),
            by_batch(np.full(len(columns), SMALLEST_RECORD)),
        ]
    )
    head = np.where(rows["magic"] == MAGIC_V2, BATCH_HEADER_SIZE, 0) * is_read
    body = rows["size"] * is_read - head
    is_plain = rows["codec"] == NONE
    told[3] = np.where(is_plain, body - told[:3].sum(axis=0), told[3])
    shares = body * told // np.maximum(told.sum(axis=0), 1)
    shares[3] = body - shares[:3].sum(axis=0)
    stored = np.append(shares.sum(axis=1), head.sum())
    return stored, np.append(told.sum(axis=1), head.sum())
