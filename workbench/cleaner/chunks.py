"""Read a `.log` file as the cleaner does: as many whole batches as fit into a buffer, at a time.

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
from workbench.record.batch_records import columns_of
from workbench.record.columns import BinaryColumn, RecordColumns
from workbench.record.control import decode_control_type
from workbench.record.memory_records import MemoryRecords
from workbench.record.reader import KEYS


class Chunk(NamedTuple):
    """Some whole batches.

    Attributes:
        path: of the file.
        position: of the first of them in it.
        buffer: uint8[n].
        rows: BATCH_ROW[m], with places in ``buffer``.
        size: bytes of the batches; behind them the buffer may hold a part of another.
    """

    path: str
    position: int
    buffer: npt.NDArray[np.uint8]
    rows: npt.NDArray[Any]
    size: int

    def columns(self, index: int, options: int) -> RecordColumns:
        """Return the records of a batch; see `record.batch_records.columns_of`.

        Raises:
            CorruptRecordError: they cannot be read.
        """
        try:
            return columns_of(self.buffer, self.rows[index : index + 1], options)
        except CorruptRecordError as error:
            raise _placed(error, self.path, self.position) from error

    def control_type(self, index: int) -> int | None:
        """Return the type of the first record of a control batch; None if it has no records.

        Raises:
            CorruptRecordError: it cannot be read.
        """
        keys = self.columns(index, KEYS).keys
        assert keys is not None
        return decode_control_type(keys.item(0)) if len(keys) else None


def present_values(column: BinaryColumn, picks: npt.NDArray[np.int64]) -> list[bytes]:
    """Return some values of a column, none of which is null."""
    data = column.data.tobytes()
    starts, ends = column.offsets[picks].tolist(), column.offsets[picks + 1].tolist()
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def read_chunks(log: FileRecords, start: int, buffer_size: int) -> Iterator[Chunk]:
    """Yield the batches from a byte position on, in chunks of at most ``buffer_size`` bytes.

    A batch that is larger is a chunk of its own.

    Raises:
        CorruptRecordError: a size or magic cannot be right, or the last batch is not whole.
    """
    position = start
    while position < log.size:
        records = log.read(position, buffer_size)
        rows = _rows(records, log.path, position)
        if not len(rows):
            records = log.read(position, _size_of_batch(log, position))
            rows = _rows(records, log.path, position)
        if not len(rows):
            raise CorruptRecordError(log.path, position, problems.WORDS[problems.UNFINISHED])
        size = int(rows["size"].sum())
        yield Chunk(log.path, position, records.buffer, rows, size)
        position += size


def _rows(records: MemoryRecords, path: str, position: int) -> npt.NDArray[Any]:
    try:
        return records.batches().rows
    except CorruptRecordError as error:
        raise _placed(error, path, position) from error


def _size_of_batch(log: FileRecords, position: int) -> int:
    """Return the bytes of a batch of which the buffer holds a part only."""
    left = log.size - position
    header = bytes(log.read(position, ENTRY_HEADER_SIZE))
    if len(header) < ENTRY_HEADER_SIZE:
        problem = f"the file ends within the header of a batch: {left} bytes are left"
        raise CorruptRecordError(log.path, position, problem)
    size = int.from_bytes(header[8:LENGTH_END], signed=True) + LENGTH_END
    if size > left:
        problem = f"a batch of {size} bytes, but only {left} are left in the segment"
        raise CorruptRecordError(log.path, position, problem)
    return size


def _placed(error: CorruptRecordError, path: str, position: int) -> CorruptRecordError:
    return CorruptRecordError(path, position + (error.position or 0), error.problem)
