"""Twins of `kernels.writing.encode` in plain Python."""

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.varint import encode_varint, wrap64
from workbench.kernels.reading.outputs import (
    HEADERS,
    KEYS,
    VALUES,
    RecordOutputs,
)

Bytes = npt.NDArray[np.uint8]


def _encode_field(offsets: npt.NDArray[np.int64], data: Bytes, validity: Bytes, item: int) -> bytes:
    if len(validity) and not validity[item >> 3] >> (item & 7) & 1:
        return encode_varint(-1)
    content = data[offsets[item] : offsets[item + 1]].tobytes()
    return encode_varint(len(content)) + content


def _encode_record(
    columns: RecordOutputs, item: int, base_offset: int, base_timestamp: int, options: int
) -> bytes:
    body = b"\0" + encode_varint(wrap64(int(columns.timestamps[item]) - base_timestamp))
    body += encode_varint(int(columns.offsets[item]) - base_offset)
    for kind, offsets, data, validity in (
        (KEYS, columns.key_offsets, columns.key_data, columns.key_validity),
        (VALUES, columns.value_offsets, columns.value_data, columns.value_validity),
    ):
        has_column = options & kind
        body += _encode_field(offsets, data, validity, item) if has_column else encode_varint(-1)
    if options & HEADERS:
        first, last = (int(place) for place in columns.header_offsets[item : item + 2])
        body += encode_varint(last - first)
        always = np.empty(0, np.uint8)
        for header in range(first, last):
            names, values = columns.header_key_offsets, columns.header_value_offsets
            validity = columns.header_value_validity
            body += _encode_field(names, columns.header_key_data, always, header)
            body += _encode_field(values, columns.header_value_data, validity, header)
    else:
        body += encode_varint(0)
    return encode_varint(len(body)) + body


def measure_records(
    columns: RecordOutputs,
    picks: npt.NDArray[np.int64],
    base_offset: int,
    base_timestamp: int,
    options: int,
) -> int:
    """Return how many bytes records take: see `encode.measure_records`."""
    return sum(
        len(_encode_record(columns, int(item), base_offset, base_timestamp, options))
        for item in picks
    )


def encode_records(
    columns: RecordOutputs,
    picks: npt.NDArray[np.int64],
    base_offset: int,
    base_timestamp: int,
    options: int,
    out: Bytes,
    used: int,
) -> int:
    """Write records of magic 2: see `encode.encode_records`."""
    for item in picks:
        record = _encode_record(columns, int(item), base_offset, base_timestamp, options)
        if len(record) > len(out) - used:
            return -1
        out[used : used + len(record)] = np.frombuffer(record, np.uint8)
        used += len(record)
    return used
