"""Read a `.log` file as the cleaner does: at a time, as many whole batches as fit into a buffer.

Kafka: Cleaner.cleanInto, Cleaner.growBuffersOrFail (4.2)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.files.file_records import FileRecords
from workbench.layout import problems
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, LENGTH_END
from workbench.record.buffers import thread_pool
from workbench.record.columns import RecordColumns
from workbench.record.compaction.locating import BatchSurveyor, Located, RecordLocator, Survey
from workbench.record.control import decode_control_type
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import columns_of
from workbench.record.reading.reader import KEYS


class Chunk(NamedTuple):
    """Some whole batches; valid until the next chunk is read.

    Attributes:
        path: the file's path.
        position: byte position of the first batch in the file.
        buffer: uint8[n].
        survey: the batches' survey, with positions in ``buffer``; after them the buffer may hold
            a part of another batch.
        limit: the size in bytes to which a batch may decompress.
    """

    path: str
    position: int
    buffer: npt.NDArray[np.uint8]
    survey: Survey
    limit: int

    @property
    def size(self) -> int:
        """The batches' size in bytes."""
        return self.survey.size

    @property
    def rows(self) -> npt.NDArray[Any]:
        """BATCH_ROW[m], with positions in `buffer`."""
        return self.survey.rows

    def columns(self, index: int, options: int) -> RecordColumns:
        """Return the records of a batch; see `record.reading.batch_records.columns_of`.

        Raises:
            CorruptRecordError: the records cannot be read.
        """
        try:
            return columns_of(self.buffer, self.rows[index : index + 1], options, self.limit)
        except CorruptRecordError as error:
            raise _placed(error, self.path, self.position) from error

    def records(
        self, locator: RecordLocator, wanted: npt.NDArray[np.bool_] | None
    ) -> Iterator[Located]:
        """Yield where the records of the batches are; see `RecordLocator.locate`.

        Raises:
            CorruptRecordError: the records cannot be read.
        """
        try:
            yield from locator.locate(self.buffer, self.survey, wanted, self.limit)
        except CorruptRecordError as error:
            raise _placed(error, self.path, self.position) from error

    def control_type(self, index: int) -> int | None:
        """Return the type of the first record of a control batch; None if it has no records.

        Raises:
            CorruptRecordError: the record cannot be read.
        """
        keys = self.columns(index, KEYS).keys
        assert keys is not None
        return decode_control_type(keys.item(0)) if len(keys) else None


def read_chunks(log: FileRecords, start: int, buffer_size: int) -> Iterator[Chunk]:
    """Yield the batches starting at a byte position, in chunks of at most ``buffer_size`` bytes.

    A larger batch is a chunk of its own.

    Raises:
        CorruptRecordError: a size or magic is invalid, or the last batch is incomplete.
    """
    position, surveyor = start, BatchSurveyor()
    buffer = thread_pool().take(np.uint8, min(buffer_size, log.size))
    while position < log.size:
        records = _read(log, position, buffer[:buffer_size])
        survey = _survey(surveyor, records, log.path, position)
        if not len(survey.rows):
            size = _size_of_batch(log, position)
            records = _read(log, position, thread_pool().take(np.uint8, size)[:size])
            survey = _survey(surveyor, records, log.path, position)
        if not len(survey.rows):
            raise CorruptRecordError(log.path, position, problems.WORDS[problems.UNFINISHED])
        yield Chunk(log.path, position, records.buffer, survey, log.largest_content)
        position += survey.size


def _read(log: FileRecords, position: int, buffer: npt.NDArray[np.uint8]) -> MemoryRecords:
    """Fill a buffer starting at a position; with fewer bytes at the end of the batches."""
    buffer = buffer[: log.size - position]
    return MemoryRecords(buffer[: log.file.read_into(buffer, position)])


def _survey(surveyor: BatchSurveyor, records: MemoryRecords, path: str, position: int) -> Survey:
    try:
        return surveyor.survey(records)
    except CorruptRecordError as error:
        raise _placed(error, path, position) from error


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


def _placed(error: CorruptRecordError, path: str, position: int) -> CorruptRecordError:
    return CorruptRecordError(path, position + (error.position or 0), error.problem)
