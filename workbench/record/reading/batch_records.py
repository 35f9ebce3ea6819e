"""The records of batches in memory, decompressed and decoded: columns or objects.

Files of many batches are read by `reader`; this is for the few of an append or a fetch.

Kafka: DefaultRecordBatch.iterator, AbstractLegacyRecordBatch.iterator (4.2)
"""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import HEADERS, KEYS, VALUES
from workbench.layout import problems
from workbench.layout.attributes import NO_TIMESTAMP, NONE, TIMESTAMP_TYPE_NAMES
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD
from workbench.layout.integers import INT32_MAX
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.record import varint
from workbench.record.buffers import thread_pool
from workbench.record.codecs.compression import decompress_batch
from workbench.record.columns import BinaryColumn, ColumnBuilder, HeaderColumn, RecordColumns
from workbench.record.limits import MOST_CONTENT
from workbench.record.reading.wrapper import WrapperError, wrapper_value
from workbench.record.writing.message_encoding import entry_size

ALL_COLUMNS: Final = KEYS | VALUES | HEADERS

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[Any]


class Record(NamedTuple):
    """One record.

    Attributes:
        offset: the record's offset.
        timestamp: the time in epoch ms; None without one.
        timestamp_type: "CreateTime", "LogAppendTime" or None.
        key, value: None for null.
        headers: names with values, in their order; empty below magic 2.
        sequence: the sequence number of an idempotent producer; None without one.
        size: the size in bytes in its batch before compression.
    """

    offset: int
    timestamp: int | None
    timestamp_type: str | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]
    sequence: int | None
    size: int


def decompressed(buffer: Bytes, row: Any, limit: int = MOST_CONTENT) -> tuple[Bytes, int, int]:
    """Return the records of a batch as (bytes, start, end), decompressed if needed.

    The bytes of a compressed batch are valid until this thread decompresses the next.

    Args:
        buffer: uint8[n]; ``row["position"]`` counts from its start.
        row: a BATCH_ROW without a problem.
        limit: the size in bytes to which it may decompress.

    Raises:
        CorruptRecordError: the compressed bytes cannot be read, or a wrapper has no value.
    """
    start = int(row["position"])
    end = start + int(row["size"])
    codec, magic = int(row["codec"]), int(row["magic"])
    if codec == NONE:
        return buffer, start + (BATCH_HEADER_SIZE if magic == 2 else 0), end
    view = memoryview(buffer)[start:end]
    if magic == 2:
        return decompress_batch(codec, view[BATCH_HEADER_SIZE:], magic, start, limit)
    try:
        first, last = wrapper_value(view)
    except WrapperError as error:
        raise CorruptRecordError(None, start, str(error)) from error
    return decompress_batch(codec, view[first:last], magic, start, limit)


def columns_of(
    buffer: Bytes, rows: Rows, options: int = ALL_COLUMNS, limit: int = MOST_CONTENT
) -> RecordColumns:
    """Return the records of one batch as columns; nothing is read of a batch without records.

    Args:
        buffer: uint8[n].
        rows: BATCH_ROW[1]; of a wrapper `base_offset` and `record_count` are filled in.
        options: which of KEYS, VALUES, HEADERS.
        limit: the size in bytes to which it may decompress.

    Raises:
        CorruptRecordError: the batch cannot be read. The CRC is not checked.
    """
    return _decode(buffer, rows, options, limit)[0]


def _decode(
    buffer: Bytes, rows: Rows, options: int, limit: int
) -> tuple[RecordColumns, Bytes, int]:
    """Return the columns of a batch, and the bytes and position where its records begin."""
    row = rows[0]
    # A last offset below the first does not make a batch invalid, as in Kafka.
    is_odd = row["problem"] == problems.BAD_COUNT and row["record_count"] >= 0
    if row["problem"] != problems.OK and not is_odd:
        raise CorruptRecordError(None, int(row["position"]), problems.WORDS[int(row["problem"])])
    builder = ColumnBuilder(options, thread_pool())
    old = row["magic"] < 2
    if not old and row["record_count"] == 0:
        builder.reserve(0, 0)
        return builder.finish(), buffer, 0
    data, start, end = decompressed(buffer, row, limit)
    size = end - start
    if old:
        count = size // SMALLEST_ENTRY + 1
    else:
        count = min(int(row["record_count"]), size // SMALLEST_RECORD)
    out = builder.reserve(count, size)
    spans = np.array([[start, end]], np.int64)
    decode = dispatch.decode_messages if old else dispatch.decode_records
    _, code, position = decode(data, spans, rows, 0, 1, options, out)
    if code not in problems.READ:
        inside = int(position) - start
        raise CorruptRecordError(
            None, int(row["position"]), f"{problems.WORDS[int(code)]}, byte {inside} of the records"
        )
    return builder.finish(), data, start


def plain_columns(
    buffer: Bytes, rows: Rows, options: int = ALL_COLUMNS
) -> tuple[int, RecordColumns, npt.NDArray[np.int64]]:
    """Return the records of many uncompressed batches of magic 2 as columns, decoded at once.

    Args:
        buffer: uint8[n].
        rows: BATCH_ROW[m] without a problem.
        options: which of KEYS, VALUES, HEADERS.

    Returns:
        How many batches were read, up to the first that cannot be (`columns_of` says why), the
        columns, and int64[m + 1], where the records of each batch begin in them.
    """
    starts = rows["position"] + BATCH_HEADER_SIZE
    spans = np.stack([starts, rows["position"] + rows["size"]], axis=1)
    sizes = rows["size"] - BATCH_HEADER_SIZE
    builder = ColumnBuilder(options, thread_pool())
    counts = np.minimum(rows["record_count"], sizes // SMALLEST_RECORD)
    out = builder.reserve(int(counts.sum()), int(sizes.sum()))
    read, *_ = dispatch.decode_records(buffer, spans, rows, 0, len(rows), options, out)
    columns = builder.finish()
    return int(read), columns, np.searchsorted(columns.batch, np.arange(len(rows) + 1))


def records_in(buffer: Bytes, rows: Rows, limit: int = MOST_CONTENT) -> list[Record]:
    """Return the records of one batch, see `columns_of`.

    Raises:
        CorruptRecordError: the batch cannot be read. The CRC is not checked.
    """
    columns, data, at = _decode(buffer, rows, ALL_COLUMNS, limit)
    keys, values, headers = columns.keys, columns.values, columns.headers
    assert keys is not None
    assert values is not None
    assert headers is not None
    count = len(columns)
    magic, base_sequence = int(rows[0]["magic"]), int(rows[0]["base_sequence"])
    offsets = columns.offsets.tolist()
    key_items, value_items = _items(keys), _items(values)
    sequences: list[int | None] = [None] * count
    if magic < 2:
        pairs = zip(key_items, value_items, strict=True)
        sizes = [entry_size(magic, key, value) for key, value in pairs]
    else:
        sizes = _sizes(data, at, count)
        if base_sequence >= 0:
            base_offset = int(rows[0]["base_offset"])
            sequences = [add_to_sequence(base_sequence, at - base_offset) for at in offsets]
    return list(
        map(
            Record,
            offsets,
            [None if time == NO_TIMESTAMP else time for time in columns.timestamps.tolist()],
            map(TIMESTAMP_TYPE_NAMES.get, columns.timestamp_types(rows).tolist()),
            key_items,
            value_items,
            _header_items(headers),
            sequences,
            sizes,
        )
    )


def _items(column: BinaryColumn) -> list[bytes | None]:
    """Return the values of a column."""
    data, offsets = column.data.tobytes(), column.offsets.tolist()
    items: list[bytes | None] = [data[start:end] for start, end in pairwise(offsets)]
    for index in np.flatnonzero(column.is_null()).tolist():
        items[index] = None
    return items


def _header_items(column: HeaderColumn) -> list[list[tuple[bytes, bytes | None]]]:
    """Return the headers of each record."""
    if len(column.keys) == 0:
        return [[] for _ in range(len(column))]
    names = [name or b"" for name in _items(column.keys)]
    every = list(zip(names, _items(column.values), strict=True))
    return [every[first:last] for first, last in pairwise(column.offsets.tolist())]


def _sizes(data: Bytes, at: int, count: int) -> list[int]:
    """Return the size of each record of a magic 2 batch; the first record is at ``at``."""
    view, sizes = memoryview(data), []
    for _ in range(count):
        low = view[at]
        if low < 0x80:  # most lengths take a byte or two
            size = 1 + (low >> 1)
            end = at + size
        elif 0 < (high := view[at + 1]) < 0x80:
            size = 2 + ((low & 0x7F | high << 7) >> 1)
            end = at + size
        else:
            length, body = varint.decode(view, at)
            size = varint.size_of(length) + length
            end = body + length
        sizes.append(size)
        at = end
    return sizes


def add_to_sequence(sequence: int, increment: int) -> int:
    """Return the sequence number ``increment`` after another; after 2**31 - 1 comes 0.

    Kafka: DefaultRecordBatch.incrementSequence (4.2)
    """
    total = sequence + increment
    return total - INT32_MAX - 1 if total > INT32_MAX else total
