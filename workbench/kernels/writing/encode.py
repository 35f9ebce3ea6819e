"""Columns of records into the bytes of magic 2 records, compiled.

Kafka: DefaultRecord.writeTo, DefaultRecord.sizeInBytes (4.2)
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import (
    address_of,
    copy,
    read_half_word,
    read_u8,
    read_word,
    write_u8,
)
from workbench.kernels.reading.outputs import HEADERS, KEYS, VALUES, RecordOutputs

_NULL = -1


class _Column(NamedTuple):
    """Addresses of a binary column; the validity's is 0 if nothing is null."""

    offsets: int
    data: int
    validity: int


class _Sources(NamedTuple):
    """Addresses of the columns: passing arrays would cost reference counts for each record."""

    offsets: int
    timestamps: int
    keys: _Column
    values: _Column
    header_offsets: int
    header_keys: _Column
    header_values: _Column


@kernel
def _column(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], validity: npt.NDArray[np.uint8]
) -> _Column:
    """Return the addresses of a binary column."""
    return _Column(
        address_of(offsets), address_of(data), address_of(validity) if len(validity) > 0 else 0
    )


@kernel
def _sources_of(columns: RecordOutputs) -> _Sources:
    """Return the addresses of the columns."""
    return _Sources(
        address_of(columns.offsets),
        address_of(columns.timestamps),
        _column(columns.key_offsets, columns.key_data, columns.key_validity),
        _column(columns.value_offsets, columns.value_data, columns.value_validity),
        address_of(columns.header_offsets),
        _Column(address_of(columns.header_key_offsets), address_of(columns.header_key_data), 0),
        _column(
            columns.header_value_offsets, columns.header_value_data, columns.header_value_validity
        ),
    )


@kernel
def _zigzag(value: int) -> np.uint64:
    """Return a signed number as the unsigned number in its varint."""
    return np.uint64((value << 1) ^ (value >> 63))


@kernel
def varint_size(value: int) -> int:
    """Return how many bytes the varint of ``value`` takes."""
    raw = _zigzag(value)
    size = 1
    while raw > np.uint64(0x7F):
        raw >>= np.uint64(7)
        size += 1
    return size


@kernel
def write_varint(at: int, value: int) -> int:
    """Write the varint of ``value`` at an address; return the address after it."""
    raw = _zigzag(value)
    while raw > np.uint64(0x7F):
        write_u8(at, np.int64(raw & np.uint64(0x7F)) | 0x80)
        raw >>= np.uint64(7)
        at += 1
    write_u8(at, np.int64(raw))
    return at + 1


@kernel
def _length(column: _Column, item: int) -> int:
    """Return the size of one item of a binary column, -1 for null."""
    if column.validity != 0 and (read_u8(column.validity + (item >> 3)) >> (item & 7)) & 1 == 0:
        return _NULL
    place = column.offsets + 8 * item
    return read_word(place + 8) - read_word(place)  # type: ignore[no-any-return]


@kernel
def _field_size(column: _Column, item: int) -> int:
    """Return the size of a field with its size prefix."""
    length = _length(column, item)
    return varint_size(length) + max(length, 0)  # type: ignore[no-any-return]


@kernel
def _write_field(at: int, column: _Column, item: int) -> int:
    """Write one field with its size; return the address after it."""
    length = _length(column, item)
    at = write_varint(at, length)
    if length > 0:
        copy(at, column.data + read_word(column.offsets + 8 * item), length)
        at += length
    return at


@kernel
def _body_size(
    of: _Sources, item: int, offset_delta: int, timestamp_delta: int, options: int
) -> int:
    """Return the bytes of a record after its length."""
    size = 1 + varint_size(timestamp_delta) + varint_size(offset_delta)
    size += _field_size(of.keys, item) if options & KEYS else 1
    size += _field_size(of.values, item) if options & VALUES else 1
    if options & HEADERS == 0:
        return size + 1  # type: ignore[no-any-return]
    first = read_half_word(of.header_offsets + 4 * item)
    last = read_half_word(of.header_offsets + 4 * item + 4)
    size += varint_size(last - first)
    for header in range(first, last):
        size += _field_size(of.header_keys, header) + _field_size(of.header_values, header)
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
    of = _sources_of(columns)
    total = 0
    for item in picks:
        offset_delta = read_word(of.offsets + 8 * item) - base_offset
        timestamp_delta = read_word(of.timestamps + 8 * item) - base_timestamp
        size = _body_size(of, item, offset_delta, timestamp_delta, options)
        total += size + varint_size(size)
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
    """Write records of magic 2, one after the other.

    Args:
        columns: the columns as decoded; a validity of length 0 means that nothing is null.
        picks: int64[m], the records to write, by their positions in the columns.
        base_offset: the batch's base offset; the deltas must fit into int32.
        base_timestamp: the batch's base timestamp in ms.
        options: the sum of KEYS, VALUES, HEADERS: the columns to write. A record without the column
            has a null key or value, and no headers.
        out: uint8[n], C-contiguous; filled from ``used``.
        used: the position in ``out``.

    Returns:
        The position after the last record; -1 if ``out`` has no room for all.
    """
    of = _sources_of(columns)
    base = address_of(out)
    at = base + used
    end = base + len(out)
    for item in picks:
        offset_delta = read_word(of.offsets + 8 * item) - base_offset
        timestamp_delta = read_word(of.timestamps + 8 * item) - base_timestamp
        size = _body_size(of, item, offset_delta, timestamp_delta, options)
        if size + varint_size(size) > end - at:
            return -1
        at = write_varint(at, size)
        write_u8(at, 0)
        at = write_varint(at + 1, timestamp_delta)
        at = write_varint(at, offset_delta)
        at = _write_field(at, of.keys, item) if options & KEYS else write_varint(at, _NULL)
        at = _write_field(at, of.values, item) if options & VALUES else write_varint(at, _NULL)
        first = 0
        last = 0
        if options & HEADERS:
            first = read_half_word(of.header_offsets + 4 * item)
            last = read_half_word(of.header_offsets + 4 * item + 4)
        at = write_varint(at, last - first)
        for header in range(first, last):
            at = _write_field(at, of.header_keys, header)
            at = _write_field(at, of.header_values, header)
    return at - base  # type: ignore[no-any-return]
