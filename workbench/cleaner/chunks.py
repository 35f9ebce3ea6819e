"""Read a `.log` file as the cleaner does: at a time, as many whole batches as fit into a buffer.

Kafka: Cleaner.cleanInto, Cleaner.growBuffersOrFail (4.2)
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.files.file_records import FileRecords
from workbench.layout import problems
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, LENGTH_END, MAGIC_AT
from workbench.layout.rows import with_more_rows
from workbench.record.buffers import BufferPool, thread_pool
from workbench.record.compaction.locating import BatchSurveyor, SurveyedBatches

Bytes = npt.NDArray[np.uint8]


def read_chunks(
    log: FileRecords, start: int, buffer_size: int, pool: BufferPool | None = None
) -> Iterator[SurveyedBatches]:
    """Yield the batches starting at a byte position, in chunks of at most ``buffer_size`` bytes.

    A larger batch is a chunk of its own.

    Args:
        log: the file.
        start: the byte position.
        buffer_size: bytes.
        pool: where each chunk gets memory of its own; None: a chunk is valid until the next.

    Raises:
        CorruptRecordError: a size or magic is invalid, or the last batch is incomplete.
    """
    position, surveyor = start, BatchSurveyor()
    buffer_size = max(buffer_size, ENTRY_HEADER_SIZE)
    memory, buffer = pool or thread_pool(), None
    while position < log.size:
        left = log.size - position
        if buffer is None or pool is not None:
            buffer = memory.take(np.uint8, min(buffer_size, log.size))
        data = _read(log, position, buffer[:buffer_size])
        size = _size_of_batch(data)
        if len(data) < size <= left:
            data = _read(log, position, memory.take(np.uint8, size)[:size])
        chunk = surveyor.survey(data, log.path, position, log.largest_content)
        if not len(chunk.rows):
            problem = problems.WORDS[problems.UNFINISHED]
            if len(data) < ENTRY_HEADER_SIZE:
                problem = f"the file ends within a batch header: {left} bytes are left"
            elif size > left:
                problem = f"the batch has {size} bytes, but only {left} are left in the segment"
            raise CorruptRecordError(log.path, position, problem)
        yield chunk if pool is None else chunk._replace(rows=with_more_rows(chunk.rows, 0))
        position += chunk.size


def _read(log: FileRecords, position: int, buffer: Bytes) -> Bytes:
    """Fill a buffer starting at a position; with fewer bytes at the end of the batches."""
    buffer = buffer[: log.size - position]
    return buffer[: log.file.read_into(buffer, position)]


def _size_of_batch(data: Bytes) -> int:
    """Return the size of the first batch in bytes; 0 if its header is incomplete or invalid."""
    if len(data) < ENTRY_HEADER_SIZE or data[MAGIC_AT] > 2:
        return 0
    return int.from_bytes(data[8:LENGTH_END].tobytes(), signed=True) + LENGTH_END
