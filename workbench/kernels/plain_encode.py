"""The kernels that write records in plain Python: readable twins of `encode` and `verbatim`.

Same arguments, same results as the compiled ones, whose docstrings hold here too.
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels.outputs import HEADERS, KEYS, VALUES, RecordOutputs
from workbench.kernels.plain import BadRecordError, decode_varint, wrap64
from workbench.layout import problems

__all__ = ["are_verbatim", "encode_records", "measure_records"]

Bytes = npt.NDArray[np.uint8]


def encode_varint(value: int) -> bytes:
    """Return a 64-bit number as Kafka writes it: zigzag, seven bits a byte, low ones first."""
    raw = (value << 1 ^ value >> 63) % 2**64
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


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


def _verbatim_record(data: bytes, at: int, end: int, offset_delta: int, least: int) -> int | None:
    """Return where a record ends, and None if a builder would write it in another way.

    Args:
        least: ms, the smallest timestamp delta that there may be.
    """

    def shortest(at: int, bits: int = 32) -> tuple[int, int]:
        value, behind = decode_varint(data, at, end, bits)
        if encode_varint(value) != data[at:behind]:
            raise BadRecordError(problems.BAD_VARINT, at)
        return value, behind

    def field(at: int, least: int = -1) -> int:
        size, behind = shortest(at)
        if not least <= size <= end - behind:
            raise BadRecordError(problems.BAD_VALUE, at)
        return behind + max(size, 0)

    try:
        length, at = shortest(at)
        if not 1 <= length <= end - at or data[at]:
            return None
        end = at + length
        delta, at = shortest(at + 1, 64)
        found, at = shortest(at)
        if delta < least or (offset_delta == 0 and delta) or found != offset_delta:
            return None
        at = field(field(at))
        count, at = shortest(at)
        if count < 0:
            return None
        for _ in range(count):
            at = field(field(at, 0))
    except BadRecordError:
        return None
    return at if at == end else None


def are_verbatim(data: Bytes, start: int, end: int, count: int, base_timestamp: int) -> bool:
    """Return whether records are as a builder writes them: see `verbatim.are_verbatim`."""
    raw, at = data[start:end].tobytes(), 0
    for index in range(count):
        found = _verbatim_record(raw, at, len(raw), index, -1 - base_timestamp)
        if found is None:
            return False
        at = found
    return at == len(raw)
