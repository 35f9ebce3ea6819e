"""Read a `.log` file as the cleaner does: at a time, as many whole batches as fit into a buffer.

Kafka: Cleaner.cleanInto, Cleaner.growBuffersOrFail (4.2)
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.files.file_records import FileRecords
from workbench.layout import problems
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, LENGTH_END
from workbench.record.buffers import thread_pool
from workbench.record.compaction.locating import BatchSurveyor, Chunk

Bytes = npt.NDArray[np.uint8]


def read_chunks(log: FileRecords, start: int, buffer_size: int) -> Iterator[Chunk]:
    """Yield the batches starting at a byte position, in chunks of at most ``buffer_size`` bytes.

    A larger batch is a chunk of its own.

    Raises:
        CorruptRecordError: a size or magic is invalid, or the last batch is incomplete.
    """
    position, surveyor = start, BatchSurveyor()
    buffer = thread_pool().take(np.uint8, min(buffer_size, log.size))
    while position < log.size:
        data = _read(log, position, buffer[:buffer_size])
        chunk = surveyor.survey(data, log.path, position, log.largest_content)
        if not len(chunk.rows):
            size = _size_of_batch(log, position)
            data = _read(log, position, thread_pool().take(np.uint8, size)[:size])
            chunk = surveyor.survey(data, log.path, position, log.largest_content)
        if not len(chunk.rows):
            raise CorruptRecordError(log.path, position, problems.WORDS[problems.UNFINISHED])
        yield chunk
        position += chunk.size


def _read(log: FileRecords, position: int, buffer: Bytes) -> Bytes:
    """Fill a buffer starting at a position; with fewer bytes at the end of the batches."""
    buffer = buffer[: log.size - position]
    return buffer[: log.file.read_into(buffer, position)]


def _size_of_batch(log: FileRecords, position: int) -> int:
    """Return the bytes of a batch that the buffer holds only a part of."""
    left = log.size - position
    header = bytes(log.read(position, ENTRY_HEADER_SIZE))
    if len(header) < ENTRY_HEADER_SIZE:
        problem = f"the file ends within a batch header: {left} bytes are left"
        raise CorruptRecordError(log.path, position, problem)
    size = int.from_bytes(header[8:LENGTH_END], signed=True) + LENGTH_END
    if size > left:
        problem = f"the batch has {size} bytes, but only {left} are left in the segment"
        raise CorruptRecordError(log.path, position, problem)
    return size
