"""One batch header after the other, from a place in a `.log` file until enough is seen.

A look-up through an index ends a few batches behind the place where it begins, so the first headers
are read by hand, a small read each or several of them in one; who goes on gets them from the
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
from workbench.record.batch_table import scan_batches

# Of BATCH_HEADER: base offset, length, leader epoch, magic, last offset delta, max timestamp.
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
    """What a search looks at; the fields are those of BATCH_ROW."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    partition_leader_epoch: int
    magic: int


def walk_batches(file: File, start: int, end: int) -> Iterator[BatchHeader]:
    """Yield the headers of the whole batches of [start, end).

    Bytes behind the last whole batch are passed over silently.

    Args:
        file: a `.log`.
        start: byte position of a batch.
        end: of the batches, in bytes.

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
            break  # the compiled walk knows what that is
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
        # A batch that does not end in the window is begun with in the next one.
        position = reached
        window = min(4 * window, max(_LAST_WINDOW, window if len(table) else 4 * window))


def check_size(file: File, position: int, end: int) -> None:
    """Refuse a size below the smallest, unless there is no room for a batch anyway.

    Args:
        file: a `.log`.
        position: where a batch starts.
        end: of the batches, in bytes.

    Raises:
        CorruptRecordError: the size cannot be right.
    """
    if end - position <= ENTRY_HEADER_SIZE:  # a broker does not look at so few
        return
    size = int.from_bytes(file.read_bytes(position + LENGTH_END - 4, 4), signed=True)
    if size < SMALLEST_MESSAGE:
        problem = f"a batch of {size} bytes, at least {SMALLEST_MESSAGE} are needed"
        raise CorruptRecordError(file.path, position, problem)
