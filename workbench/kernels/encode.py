"""Columns of records into the bytes of magic 2 records, compiled.

Kafka: DefaultRecord.writeTo, DefaultRecord.sizeInBytes (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of, copy, write_u8
from workbench.kernels.outputs import HEADERS, KEYS, VALUES, RecordOutputs

_NULL = -1


@kernel
def _zigzag(value: int) -> np.uint64:
    """Return a signed number as the unsigned one that its varint holds."""
    return np.uint64((value << 1) ^ (value >> 63))


@kernel
def _varint_size(value: int) -> int:
    """Return how many bytes the varint of ``value`` takes."""
    raw = _zigzag(value)
    size = 1
    while raw > np.uint64(0x7F):
        raw >>= np.uint64(7)
        size += 1
    return size


@kernel
def _write_varint(at: int, value: int) -> int:
    """Write the varint of ``value`` at an address; return the address behind it."""
    raw = _zigzag(value)
    while raw > np.uint64(0x7F):
        write_u8(at, np.int64(raw & np.uint64(0x7F)) | 0x80)
        raw >>= np.uint64(7)
        at += 1
    write_u8(at, np.int64(raw))
    return at + 1


@kernel
def _length(offsets: npt.NDArray[np.int64], validity: npt.NDArray[np.uint8], item: int) -> int:
    """Return the bytes of one item of a binary column, -1 for null."""
    if len(validity) > 0 and (validity[item >> 3] >> (item & 7)) & 1 == 0:
        return _NULL
    return offsets[item + 1] - offsets[item]  # type: ignore[no-any-return]


@kernel
def _sized(length: int) -> int:
    """Return the bytes of a field with its size."""
    return _varint_size(length) + max(length, 0)  # type: ignore[no-any-return]


@kernel
def _write_field(
    at: int,
    length: int,
    data: npt.NDArray[np.uint8],
    start: int,
) -> int:
    """Write one field with its size; return the address behind it."""
    at = _write_varint(at, length)
    if length > 0:
        copy(at, address_of(data) + start, length)
        at += length
    return at


@kernel
def _body_size(
    columns: RecordOutputs, item: int, offset_delta: int, timestamp_delta: int, options: int
) -> int:
    """Return the bytes of a record behind its length."""
    size = 1 + _varint_size(timestamp_delta) + _varint_size(offset_delta)
    length = _NULL
    if options & KEYS:
        length = _length(columns.key_offsets, columns.key_validity, item)
    size += _sized(length)
    length = _NULL
    if options & VALUES:
        length = _length(columns.value_offsets, columns.value_validity, item)
    size += _sized(length)
    if options & HEADERS == 0:
        return size + 1  # type: ignore[no-any-return]
    first = np.int64(columns.header_offsets[item])
    last = np.int64(columns.header_offsets[item + 1])
    size += _varint_size(last - first)
    for header in range(first, last):
        size += _sized(columns.header_key_offsets[header + 1] - columns.header_key_offsets[header])
        size += _sized(_length(columns.header_value_offsets, columns.header_value_validity, header))
    return size  # type: ignore[no-any-return]


@kernel
def measure_records(
    columns: RecordOutputs,
    picks: npt.NDArray[np.int64],
    base_offset: int,
    base_timestamp: int,
    options: int,
) -> int:
    """Return how many bytes `encode_records` writes for the same arguments."""
    total = 0
    for item in picks:
        size = _body_size(
            columns,
            item,
            columns.offsets[item] - base_offset,
            columns.timestamps[item] - base_timestamp,
            options,
        )
        total += size + _varint_size(size)
    return total


@kernel
def encode_records(
    columns: RecordOutputs,
    picks: npt.NDArray[np.int64],
    base_offset: int,
    base_timestamp: int,
    options: int,
    out: npt.NDArray[np.uint8],
    used: int,
) -> int:
    """Write records of magic 2, one behind the other.

    Args:
        columns: what decoding gives; a validity of length 0 means that nothing is null.
        picks: int64[m], the records to write, by their places in the columns.
        base_offset: of the batch; the deltas must fit into int32.
        base_timestamp: ms, of the batch.
        options: sum of KEYS, VALUES, HEADERS: which columns there are. A record without the column
            has a null key or value, and no headers.
        out: uint8[n], C-contiguous; filled from ``used`` on.
        used: position in ``out``.

    Returns:
        The position behind the last record; -1 when ``out`` has no room for all.
    """
    base = address_of(out)
    at = base + used
    end = base + len(out)
    for item in picks:
        offset_delta = columns.offsets[item] - base_offset
        timestamp_delta = columns.timestamps[item] - base_timestamp
        size = _body_size(columns, item, offset_delta, timestamp_delta, options)
        if size + _varint_size(size) > end - at:
            return -1
        at = _write_varint(at, size)
        write_u8(at, 0)
        at = _write_varint(at + 1, timestamp_delta)
        at = _write_varint(at, offset_delta)
        if options & KEYS:
            length = _length(columns.key_offsets, columns.key_validity, item)
            at = _write_field(at, length, columns.key_data, columns.key_offsets[item])
        else:
            at = _write_varint(at, _NULL)
        if options & VALUES:
            length = _length(columns.value_offsets, columns.value_validity, item)
            at = _write_field(at, length, columns.value_data, columns.value_offsets[item])
        else:
            at = _write_varint(at, _NULL)
        if options & HEADERS == 0:
            at = _write_varint(at, 0)
            continue
        first = np.int64(columns.header_offsets[item])
        last = np.int64(columns.header_offsets[item + 1])
        at = _write_varint(at, last - first)
        for header in range(first, last):
            start = columns.header_key_offsets[header]
            length = columns.header_key_offsets[header + 1] - start
            at = _write_field(at, length, columns.header_key_data, start)
            length = _length(columns.header_value_offsets, columns.header_value_validity, header)
            start = columns.header_value_offsets[header]
            at = _write_field(at, length, columns.header_value_data, start)
    return at - base  # type: ignore[no-any-return]
