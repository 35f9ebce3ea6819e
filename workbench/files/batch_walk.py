"""Walk over batch headers from a position in a `.log` file, until the caller stops.

A lookup through an index ends a few batches after the position where it begins, so the first
headers are read by hand, in small reads of one or several headers; later ones come from the
compiled walk, in windows that grow.

Kafka: FileLogInputStream.nextBatch (4.2)
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from workbench.errors import CorruptRecordError
from workbench.file_system.local import File
from workbench.layout import problems
from workbench.layout.batch_header import BATCH_HEADER_SIZE, ENTRY_HEADER_SIZE, LENGTH_END
from workbench.layout.message_header import SMALLEST_MESSAGE
from workbench.record.reading.batch_table import scan_batches

# In BATCH_HEADER: base offset, length, leader epoch, magic, last offset delta, max timestamp.
_FIELDS: Final = Struct(">qiib4x2xi8xq")
_READ: Final = 4096  # bytes; holds the headers of all small batches up to an index entry's distance
_BY_HAND: Final = 32  # batches
_FIRST_WINDOW: Final = 1 << 16  # bytes
_LAST_WINDOW: Final = 1 << 22
_COLUMNS: Final = [
    "position",
    "size",
    "base_offset",
    "last_offset",
    "max_timestamp",
    "partition_leader_epoch",
    "magic",
]


class BatchHeader(NamedTuple):
    """The fields of a BATCH_ROW that a search reads."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    partition_leader_epoch: int
    magic: int


def walk_batches(file: File, start: int, end: int) -> Iterator[BatchHeader]:
    """Yield the headers of the whole batches in [start, end).

    Bytes after the last whole batch are skipped silently.

    Args:
        file: a `.log`.
        start: byte position of a batch.
        end: byte position where the batches end.

    Raises:
        CorruptRecordError: the size of a batch cannot be right; batches before it were yielded.
        OSError: the file cannot be read.
    """
    position = start
    data, data_at = b"", start
    for _ in range(_BY_HAND):
        at = position - data_at
        if at + BATCH_HEADER_SIZE > len(data):
            data, data_at, at = file.read_bytes(position, _READ), position, 0
            if len(data) < BATCH_HEADER_SIZE:
                break
        base, length, epoch, magic, delta, max_timestamp = _FIELDS.unpack_from(data, at)
        size = length + LENGTH_END
        if magic != 2 or size < BATCH_HEADER_SIZE or position + size > end:
            break  # left to the compiled walk
        yield BatchHeader(position, size, base, base + delta, max_timestamp, epoch, magic)
        position += size
    yield from _walk_windows(file, position, end)


def _walk_windows(file: File, position: int, end: int) -> Iterator[BatchHeader]:
    window = _FIRST_WINDOW
    while position < end:
        stop = min(position + window, end)
        table = scan_batches(file, position, stop)
        yield from map(BatchHeader._make, table.rows[_COLUMNS].tolist())
        reached, code = table.stop.position, table.stop.code
        if code == problems.BAD_SIZE:
            check_size(file, reached, end)
            return
        if stop == end:
            return
        # The next window begins with the batch that does not end in this one.
        position = reached
        window = min(4 * window, max(_LAST_WINDOW, window if len(table) else 4 * window))


def check_size(file: File, position: int, end: int) -> None:
    """Reject a size below the smallest, unless there is no room for a batch anyway.

    Args:
        file: a `.log`.
        position: where a batch starts.
        end: byte position where the batches end.

    Raises:
        CorruptRecordError: the size cannot be right.
    """
    if end - position <= ENTRY_HEADER_SIZE:  # a broker ignores so few bytes
        return
    size = int.from_bytes(file.read_bytes(position + LENGTH_END - 4, 4), signed=True)
    if size < SMALLEST_MESSAGE:
        problem = (
            f"the batch size is too small (found {size}, expected at least {SMALLEST_MESSAGE})"
        )
        raise CorruptRecordError(file.path, position, problem)
