"""Search a `.log` file from a position for the batch or the record that a lookup wants.

A lookup through an index ends a few batches after the position where it begins. A call of the
operating system costs as much as reading some KiB, so the file is read in windows, and the first
one usually holds all that is needed.

Kafka: FileRecords.searchForOffsetFromPosition, searchForTimestamp (4.2)
"""

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from workbench.errors import CorruptRecordError
from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import SEARCHED_FIELDS
from workbench.layout import problems
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, LENGTH_END
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.integers import INT64_MAX, INT64_MIN
from workbench.layout.message_header import SMALLEST_MESSAGE
from workbench.record.buffers import own_pages

FIRST_WINDOW: Final = 4096  # bytes; the distance of index entries
LARGEST_WINDOW: Final = 1 << 18
_ROOM: Final = 1 << 13  # records of a batch; one that has more is read elsewhere


class SearchedHeader(NamedTuple):
    """The fields of a BATCH_ROW that a search reads: `SEARCHED_FIELDS`."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    partition_leader_epoch: int
    magic: int


class FoundRecord(NamedTuple):
    """The batch where a search by time ended, and the record if it was read.

    Attributes:
        batch: the batch.
        timestamp: ms.
        offset: the record's offset; None: another reader must look into the batch.
    """

    batch: SearchedHeader
    timestamp: int
    offset: int | None


class _Memory(threading.local):
    """What each thread reads into."""

    def __init__(self) -> None:
        self.window = own_pages(LARGEST_WINDOW)
        self.rows = np.zeros(1, BATCH_ROW)
        self.headers = np.zeros((2, len(SEARCHED_FIELDS)), np.int64)
        self.passed, self.found = self.headers
        self.offsets, self.timestamps = np.zeros(_ROOM, np.int64), np.zeros(_ROOM, np.int64)
        self.batch = np.zeros(_ROOM, np.int32)


_MEMORY: Final = _Memory()


def search_batch(
    source: FileSource, start: int, end: int, offset: int, first_window: int = FIRST_WINDOW
) -> tuple[SearchedHeader | None, SearchedHeader | None]:
    """Return the last batch before, and the first that begins at or after an offset.

    A compressed message of magic 0 or 1 that reaches the offset ends the search too: its base
    offset is not in the header.

    Args:
        source: a `.log`.
        start: byte position of a batch to start at.
        end: byte position where the batches end; an incomplete one there is not looked at.
        offset: the offset.
        first_window: bytes to read first.

    Returns:
        Each None if there is none at or after ``start``.

    Raises:
        CorruptRecordError: the size of a batch on the way cannot be right.
        OSError: the file cannot be read.
    """
    memory = _MEMORY
    memory.passed[1] = 0
    wanted = (_int64(offset), INT64_MAX, memory.rows, memory.headers)
    code, _ = _search(source, start, end, first_window, dispatch.find_batch, wanted)
    passed = SearchedHeader._make(memory.passed.tolist())
    found = SearchedHeader._make(memory.found.tolist()) if code == problems.FOUND else None
    return passed if passed.size else None, found


def search_record(
    source: FileSource,
    start: int,
    end: int,
    timestamp: int,
    offset: int,
    first_window: int = FIRST_WINDOW,
) -> FoundRecord | None:
    """Search for the first record at or after an offset that is not older than a time in ms.

    Returns:
        None if there is none. A batch without a record if it has such a timestamp, but is not as
        usual: compressed, for example. If no record of it is assumed, search again after it.

    Arguments and errors: see `search_batch`.
    """
    memory = _MEMORY
    wanted = (
        _int64(offset),
        _int64(timestamp),
        memory.rows,
        memory.headers,
        memory.offsets,
        memory.timestamps,
        memory.batch,
    )
    code, slot = _search(source, start, end, first_window, dispatch.find_record, wanted)
    if code != problems.FOUND:
        return None
    batch = SearchedHeader._make(memory.found.tolist())
    if slot < 0:
        return FoundRecord(batch, batch.max_timestamp, None)
    return FoundRecord(batch, int(memory.timestamps[slot]), int(memory.offsets[slot]))


def _int64(number: int) -> int:
    """Return the nearest number that a batch can have."""
    return number if INT64_MIN <= number <= INT64_MAX else max(INT64_MIN, min(number, INT64_MAX))


def _search(
    source: FileSource,
    position: int,
    end: int,
    size: int,
    kernel: Callable[..., tuple[int, ...]],
    wanted: tuple[object, ...],
) -> tuple[int, int]:
    """Call a search kernel on one window after the other; return its code and last result."""
    window = _MEMORY.window
    while True:
        got = source.read_into(window[:size], position)
        reached, code, *slot = kernel(window[:got], position, end, *wanted)
        if code == problems.FOUND:
            return code, slot[0] if slot else -1
        if code == problems.BAD_SIZE:
            check_size(source, reached, end)
        if code != problems.MORE_DATA or reached == position:  # or the file is shorter than it was
            return code, -1
        # Larger windows for small batches; of a batch beyond the window, only the next header.
        size = min(4 * size, LARGEST_WINDOW) if reached <= position + got else FIRST_WINDOW
        position = reached


def check_size(source: FileSource, position: int, end: int) -> None:
    """Reject a size below the smallest, unless there is no room for a batch anyway.

    Args:
        source: a `.log`.
        position: where a batch starts.
        end: byte position where the batches end.

    Raises:
        CorruptRecordError: the size cannot be right.
    """
    if end - position <= ENTRY_HEADER_SIZE:  # a broker ignores so few bytes
        return
    size = int.from_bytes(source.read(position + LENGTH_END - 4, 4).tobytes(), signed=True)
    if size < SMALLEST_MESSAGE:
        problem = (
            f"the batch size is too small (found {size}, expected at least {SMALLEST_MESSAGE})"
        )
        raise CorruptRecordError(source.path, position, problem)
