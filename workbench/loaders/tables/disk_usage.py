"""What fills the disk, down to keys, values, headers, overhead and preallocated indexes.

The bytes of all rows are the bytes of all files. Those of compressed batches are divided in
proportion to what their parts are before compression, which is an estimate; their sum is exact.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.files import names
from workbench.files.names import FileKind
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Root
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.layout.attributes import NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD
from workbench.layout.index_entries import OFFSET_ENTRY, TIME_ENTRY
from workbench.loaders.tables.record_sizes import header_sizes
from workbench.record.reading.reader import Chunk

Row = tuple[str | None, int | None, int | None, str, str, int, int | None]
"""Topic, partition, base offset of the segment, kind of file, part, bytes, before compression."""

_Part = tuple[str, int, int | None]

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


def usage_of_partition(partition: Partition) -> Iterator[Row]:
    """Yield the rows of a partition directory; what cannot be read is `UNREADABLE`."""
    topic, number = partition.topic, partition.partition
    told = set()
    for segment in partition.segments:
        for kind, entry in segment.files.items():
            told.add(entry.name)
            for part, size, plain in _parts(segment, kind, entry):
                if size or plain:
                    yield topic, number, segment.base_offset, kind, part, size, plain
    for entry in partition.files:
        if entry.name not in told:
            yield topic, number, None, file_kind(entry, partition), WHOLE, entry.size, None


def usage_of_root(root: Root) -> Iterator[Row]:
    """Yield the rows of files outside partition directories."""
    unknown = set(root.unknown)
    for entry in root.files:
        kind = "unknown" if entry in unknown else entry.name
        yield None, None, None, kind, WHOLE, entry.size, None


def file_kind(entry: FileEntry, partition: Partition) -> str:
    """Return what a broker uses a file of a partition directory for."""
    name = names.parse_file_name(entry.name)
    if name is not None:
        return f"{name.kind}{name.suffix}"
    return "unknown" if entry in partition.unknown else entry.name


def _parts(segment: Segment, kind: FileKind, entry: FileEntry) -> list[_Part]:
    if kind == "log":
        return _log_parts(segment, entry.size)
    used: int | None = None
    try:
        if kind == "index" and (offsets := segment.offset_index) is not None:
            used = len(offsets.offsets) * OFFSET_ENTRY.itemsize
        if kind == "timeindex" and (times := segment.time_index) is not None:
            used = len(times.offsets) * TIME_ENTRY.itemsize
    except OSError:
        return [(UNREADABLE, entry.size, None)]
    if used is None:
        return [(WHOLE, entry.size, None)]
    used = min(used, entry.size)
    return [(ENTRIES, used, None), (PREALLOCATED, entry.size - used, None)]


def _log_parts(segment: Segment, size: int) -> list[_Part]:
    stored = np.zeros(len(_PARTS), np.int64)
    plain = np.zeros(len(_PARTS), np.int64)
    with suppress(OSError):
        for chunk in segment.read():
            own, before = _chunk_parts(chunk)
            stored += own
            plain += before
    read = int(stored.sum())
    parts: list[_Part] = list(zip(_PARTS, stored.tolist(), plain.tolist(), strict=True))
    return [*parts, (UNREADABLE, max(size - read, 0), None)]


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
