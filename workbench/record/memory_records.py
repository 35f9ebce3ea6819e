"""Batches in memory: what is appended to a log and what is read from it.

A run of complete batches of any magic, perhaps with an incomplete one after them, which is ignored.
A broker sets offsets and times in them in place (`record.writing.batch_checks`), so the bytes are
writable.

Kafka: MemoryRecords, ByteBufferLogInputStream (4.2)
"""

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.layout import problems
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.layout.batch_header import ENTRY_HEADER_SIZE, LENGTH_END, MAGIC_AT
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_MESSAGE
from workbench.layout.rows import with_more_rows
from workbench.record.limits import MOST_CONTENT
from workbench.record.reading.batch_records import Record, records_in
from workbench.record.reading.batch_table import BatchTable, ScanStop
from workbench.record.writing.batch_writer import BatchWriter, Header

_LEAST_ROWS: Final = 64  # there is room for them from the start
_MOST_SHOWN: Final = 60  # characters of a wrong record in a message
_BYTES_A_ROW: Final = 2048  # a guess, below a usual batch

Pair = tuple[bytes | None, bytes | None]


class MemoryRecords:
    """Batches in memory.

    Args:
        buffer: uint8[n], C-contiguous and writable; kept, not copied.

    Attributes:
        buffer: the same.
    """

    __slots__ = ("buffer",)

    def __init__(self, buffer: npt.NDArray[np.uint8]) -> None:
        self.buffer = buffer

    @classmethod
    def copy_of(cls, data: bytes | bytearray | memoryview | npt.NDArray[np.uint8]) -> Self:
        """Return records of their own from bytes that may be read-only."""
        return cls(np.frombuffer(bytearray(memoryview(data)), np.uint8))

    @classmethod
    def of(
        cls,
        *records: Record | Pair | tuple[int, bytes | None, bytes | None],
        magic: int = 2,
        codec: str = "none",
        base_offset: int = 0,
        timestamp: int | None = None,
        **options: Any,
    ) -> Self:
        """Return one batch with these records, at offsets one after the other.

        Args:
            records: each a (key, value), a (timestamp in ms, key, value) or a `Record`, whose
                timestamp and headers are taken too.
            magic, codec, base_offset: see `RecordsBuilder`.
            timestamp: the timestamp in ms of records without one.
            options: the other arguments of `RecordsBuilder`.

        Raises:
            TypeError: a record is something else.
            ValueError: see `RecordsBuilder`.

        Kafka: MemoryRecords.withRecords (4.2)
        """
        writer = BatchWriter(magic, codec, base_offset=base_offset, **options)
        for record in records:
            time: int | None = timestamp
            headers: list[tuple[bytes, bytes | None]] | tuple[Header, ...] = ()
            if isinstance(record, Record):
                key, value, headers = record.key, record.value, record.headers
                time = record.timestamp if record.timestamp is not None else timestamp
            else:
                *before, key, value = _checked(record)
                time = before[0] if before else timestamp
            time = NO_TIMESTAMP if time is None else time
            writer.append_record(writer.next_offset, time, key, value, headers)
        return cls(writer.finish())

    @property
    def size(self) -> int:
        """The size in bytes, including an incomplete batch at the end."""
        return len(self.buffer)

    @property
    def view(self) -> memoryview:
        """The bytes."""
        return memoryview(self.buffer)

    def __bytes__(self) -> bytes:
        return self.buffer.tobytes()

    def part(self, start: int, stop: int) -> "MemoryRecords":
        """Return the bytes [start, stop) as records that share the memory."""
        return MemoryRecords(self.buffer[start:stop])

    def batches(self, rows: npt.NDArray[Any] | None = None) -> BatchTable:
        """Return the complete batches; `BatchTable.stop` says what follows the last one.

        Args:
            rows: BATCH_ROW[m], memory for the table if it has room.

        Raises:
            CorruptRecordError: a size is below the smallest, or the magic is not 0, 1 or 2.

        Kafka: MemoryRecords.batches, ByteBufferLogInputStream.nextBatch (4.2)
        """
        count, position, size = 0, 0, len(self.buffer)
        if rows is None:
            rows = np.zeros(max(_LEAST_ROWS, size // _BYTES_A_ROW), BATCH_ROW)
        while True:
            done, position, code = dispatch.scan_window(
                self.buffer[position:], position, size, rows[count:]
            )
            count += int(done)
            if code != problems.ROWS_FULL:
                break
            rows = with_more_rows(rows[:count], count)
        position, code, rows = int(position), int(code), rows[:count]
        if rows["problem"].any():
            for row in rows[(rows["magic"] < 0) | (rows["magic"] > 2)]:
                raise unknown_magic(int(row["position"]), int(row["magic"]))
        _check_rest(self.buffer, position, code)
        return BatchTable(rows, ScanStop(code, position))

    def records(self, limit: int = MOST_CONTENT) -> list[Record]:
        """Return all records of all whole batches, decompressed.

        Args:
            limit: the size in bytes to which each batch may decompress.

        Raises:
            CorruptRecordError: a batch or record cannot be read. The CRC is not checked.

        Kafka: AbstractRecords.records (4.2)
        """
        rows = self.batches().rows
        found: list[Record] = []
        for index in range(len(rows)):
            found += records_in(self.buffer, rows[index : index + 1], limit)
        return found

    def __repr__(self) -> str:
        return f"MemoryRecords({self.size} bytes)"


def unknown_magic(position: int, magic: int) -> CorruptRecordError:
    """Return the error about a batch of another format."""
    return CorruptRecordError(None, position, f"magic {magic} is not known: 0, 1 and 2 are")


def too_small(position: int, size: int) -> CorruptRecordError:
    """Return the error about a batch whose length field no batch has."""
    problem = f"the size of a batch is {size} bytes (expected at least {SMALLEST_MESSAGE})"
    return CorruptRecordError(None, position + 8, problem)


def _check_rest(buffer: npt.NDArray[np.uint8], position: int, code: int) -> None:
    """Check the size and magic of an incomplete batch, as Kafka does.

    Raises:
        CorruptRecordError: the size or the magic is not valid.
    """
    rest = buffer[position : position + ENTRY_HEADER_SIZE].tobytes()
    if code == problems.END or len(rest) < LENGTH_END:
        return
    size = int.from_bytes(rest[8:LENGTH_END], signed=True)
    if size < SMALLEST_MESSAGE:
        raise too_small(position, size)
    if len(rest) == ENTRY_HEADER_SIZE:
        magic = int.from_bytes(rest[MAGIC_AT:], signed=True)
        if not 0 <= magic <= 2:
            raise unknown_magic(position, magic)


def _checked(record: Any) -> tuple[Any, ...]:
    """Return a record that is a tuple of bytes, perhaps with its time before them.

    Raises:
        TypeError: it is something else.
    """
    wanted = "expected (key, value) or (timestamp in ms, key, value), with bytes or None"
    if not isinstance(record, tuple | list) or len(record) not in {2, 3}:
        raise TypeError(f"a record is {_shown(record)}, {wanted}; put several in a list")
    for name, part in zip(("key", "value"), record[-2:], strict=True):
        if part is not None and not isinstance(part, bytes | bytearray | memoryview):
            fix = f": b{part!r}, or .encode()" if isinstance(part, str) else ""
            raise TypeError(f"the {name} of a record is {_shown(part)}, {wanted}{fix}")
    if len(record) > 2 and not isinstance(record[0], int | np.integer | None):
        raise TypeError(f"the timestamp of a record is {_shown(record[0])}, {wanted}")
    return tuple(record)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


EMPTY: Final = MemoryRecords(np.empty(0, np.uint8))
