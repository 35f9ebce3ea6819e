"""Find where a log ends, from a few batch headers and without compiled code.

A compiled walk over headers is for many batches: loading it takes longer than walking over the tail
of some hundred logs. Anything odd is left to that walk, so the answers are the same.

Kafka: LogSegment.readNextOffset (4.2)
"""

import struct
from contextlib import suppress
from typing import Final

from workbench.file_system.source import FileSource
from workbench.files.indexes import offset_index
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout.batch_header import (
    BATCH_HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.message_header import SMALLEST_ENTRY

_SMALL_LOG: Final = 1 << 16  # bytes; smaller logs are walked from their start
_WINDOW: Final = 1 << 16
_MOST_BATCHES: Final = 3000  # above this the compiled walk is faster, even with its loading

_OFFSET_AND_SIZE: Final = struct.Struct(">qi")
_DELTA: Final = struct.Struct(">i")


def log_end_offset(partition: DiskPartition) -> int:
    """Return what `DiskPartition.log_end_offset` does: the offset that the next record would get.

    Raises:
        OSError: a file cannot be read.
    """
    return next_offset(partition.segments[-1]) if partition.segments else 0


def next_offset(segment: Segment) -> int:
    """Return what `Segment.next_offset` does: the offset after the last whole batch.

    Raises:
        OSError: the file cannot be read.
    """
    with segment.open() as source:
        start, lowest = _start(segment, source.size)
        last = _last_offset(source, start, lowest)
    if last is None:
        return segment.next_offset
    return segment.base_offset if last < 0 else last + 1


def _start(segment: Segment, size: int) -> tuple[int, int]:
    """Return where to start, and what the last offset of the batch there must reach."""
    entry = segment.files.get("index")
    if entry is None or entry.size == 0 or size <= _SMALL_LOG:
        return 0, -1
    last = None
    with suppress(OSError):  # it only saves time
        last = offset_index.read_last(entry.path, segment.base_offset, entry.fs)
    if last is None or not 0 < last.position < size:
        return 0, -1
    return last.position, last.offset


def _last_offset(source: FileSource, position: int, lowest: int) -> int | None:
    """Return the last whole batch's last offset, -1 without any; None where anything is odd."""
    end = source.size
    window, window_at = memoryview(b""), position
    last = -1
    for _ in range(_MOST_BATCHES):
        if end - position < SMALLEST_ENTRY:
            return last
        at = position - window_at
        if at + BATCH_HEADER_SIZE > len(window):
            window, window_at, at = memoryview(source.read(position, _WINDOW)), position, 0
        if at + min(BATCH_HEADER_SIZE, end - position) > len(window):
            return None  # the file is shorter now
        offset, size = _OFFSET_AND_SIZE.unpack_from(window, at)
        size += LENGTH_END
        if size < SMALLEST_ENTRY:
            return None
        if size > end - position:
            return last
        magic = window[at + MAGIC_AT]
        if magic > 2 or (magic == 2 and size < BATCH_HEADER_SIZE):
            return None
        last = offset
        if magic == 2:
            last += _DELTA.unpack_from(window, at + LAST_OFFSET_DELTA_AT)[0]
        if last < lowest:
            return None
        lowest = -1
        position += size
    return None
