"""The kernels in plain Python: readable twins, oracle of the tests, and what runs without numba.

Same arguments, same results, same codes and positions as the compiled ones in `checksum`, `scan`,
`decode` and `messages`, whose docstrings hold here too.
"""

import zlib
from typing import Any

import crcmod.predefined
import numpy as np
import numpy.typing as npt

from workbench.kernels.outputs import (
    CHECK_CRC,
    HEADER_COUNT,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADER_VALUE_NULLS,
    HEADERS,
    KEY_BYTES,
    KEY_NULLS,
    KEYS,
    OUT_OF_ROOM,
    RECORDS,
    VALUE_BYTES,
    VALUE_NULLS,
    VALUES,
    RecordOutputs,
    Rows,
    no_outputs,
)
from workbench.kernels.plain_recover import choose_entries, first_invalid
from workbench.kernels.plain_scan import HAS_PREAD, scan_file, scan_window
from workbench.layout import attributes, problems
from workbench.layout.batch_header import (
    BATCH_HEADER_SIZE,
    CRC_FROM,
    LENGTH_END,
    MAGIC_AT,
    SMALLEST_RECORD,
)
from workbench.layout.message_header import (
    MESSAGE_CRC_FROM,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.structure import as_struct

__all__ = [
    "HAS_PREAD",
    "check_crcs",
    "check_message_crcs",
    "choose_entries",
    "crc32",
    "crc32c",
    "decode_messages",
    "decode_records",
    "decode_times",
    "first_invalid",
    "scan_file",
    "scan_window",
]

_V0 = as_struct(MESSAGE_V0)
_V1 = as_struct(MESSAGE_V1)
_crc32c = crcmod.predefined.mkCrcFun("crc-32c")

Bytes = npt.NDArray[np.uint8]


def crc32c(data: Bytes) -> int:
    """Return the CRC-32C of uint8[n]."""
    return int(_crc32c(memoryview(data)))


def crc32(data: Bytes) -> int:
    """Return the CRC-32 of uint8[n]."""
    return zlib.crc32(memoryview(data))


class BadRecordError(ValueError):
    """A record cannot be decoded: carries the code and the byte position."""

    def __init__(self, code: int, position: int) -> None:
        super().__init__(problems.WORDS[code])
        self.code = code
        self.position = position


def decode_varint(data: bytes, at: int, end: int, bits: int) -> tuple[int, int]:
    """Decode a zigzag varint of up to ``bits`` bits; raise on a cut or too long one."""
    raw, shift, start = 0, 0, at
    while at < end and shift < bits:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= (1 << bits) - 1
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
    raise BadRecordError(problems.BAD_VARINT, start)


def wrap64(value: int) -> int:
    """Return what an int64 holds of ``value``."""
    return (value + 2**63) % 2**64 - 2**63


def _sized(data: bytes, at: int, end: int, code: int) -> tuple[bytes | None, int]:
    """Read a varint size and that many bytes; any negative size is null."""
    size, behind = decode_varint(data, at, end, 32)
    if size > end - behind:
        raise BadRecordError(code, at)
    return (None, behind) if size < 0 else (data[behind : behind + size], behind + size)


Header = tuple[bytes, bytes | None]
Fields = tuple[int, int, bytes | None, bytes | None, list[Header]]


def _record(data: bytes, at: int, end: int) -> tuple[Fields, int]:
    """Decode one record: (timestamp delta, offset delta, key, value, headers) and where it ends."""
    length, body = decode_varint(data, at, end, 32)
    if length < SMALLEST_RECORD - 1 or length > end - body:
        raise BadRecordError(problems.BAD_RECORD_LENGTH, at)
    end = body + length
    timestamp_delta, at = decode_varint(data, body + 1, end, 64)
    offset_delta, at = decode_varint(data, at, end, 32)
    key, at = _sized(data, at, end, problems.BAD_KEY)
    value, at = _sized(data, at, end, problems.BAD_VALUE)
    count, behind = decode_varint(data, at, end, 32)
    if count < 0 or count > end - behind:
        raise BadRecordError(problems.BAD_HEADERS, at)
    at = behind
    headers: list[Header] = []
    for _ in range(count):
        key_at = at
        name, at = _sized(data, at, end, problems.BAD_HEADERS)
        if name is None:
            raise BadRecordError(problems.BAD_HEADERS, key_at)
        content, at = _sized(data, at, end, problems.BAD_HEADERS)
        headers.append((name, content))
    if at != end:
        raise BadRecordError(problems.RECORD_NOT_FILLED, at)
    return (timestamp_delta, offset_delta, key, value, headers), end


def _put(
    out: tuple[npt.NDArray[np.int64], Bytes, Bytes], places: tuple[int, int, int], value: bytes |
        None,
    used: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Append to a binary column; ``places`` are those of count, bytes, nulls in ``used``."""
    offsets, data, validity = out
    count, size, nulls = places
    item, at = int(used[count]), int(used[size])
    if value is None:
        validity[item >> 3] &= ~(1 << (item & 7)) & 0xFF
        used[nulls] += 1
    else:
        data[at : at + len(value)] = np.frombuffer(value, np.uint8)
        used[size] += len(value)
    offsets[item + 1] = used[size]


_NO_NULLS = -1  # of header keys, which cannot be null


def _append(out: RecordOutputs, options: int, row: int, record: Fields) -> None:
    """Append one record, given with its final timestamp and offset."""
    timestamp, offset, key, value, headers = record
    used = out.used
    item = int(used[RECORDS])
    out.offsets[item], out.timestamps[item], out.batch[item] = offset, timestamp, row
    if options & KEYS:
        columns = (out.key_offsets, out.key_data, out.key_validity)
        _put(columns, (RECORDS, KEY_BYTES, KEY_NULLS), key, used)
    if options & VALUES:
        columns = (out.value_offsets, out.value_data, out.value_validity)
        _put(columns, (RECORDS, VALUE_BYTES, VALUE_NULLS), value, used)
    if options & HEADERS:
        for name, content in headers:
            columns = (out.header_key_offsets, out.header_key_data, out.header_value_validity)
            _put(columns, (HEADER_COUNT, HEADER_KEY_BYTES, _NO_NULLS), name, used)
            columns = (out.header_value_offsets, out.header_value_data, out.header_value_validity)
            _put(columns, (HEADER_COUNT, HEADER_VALUE_BYTES, HEADER_VALUE_NULLS), content, used)
            used[HEADER_COUNT] += 1
        out.header_offsets[item + 1] = used[HEADER_COUNT]
    used[RECORDS] += 1


def _batch_records(data: bytes, span: tuple[int, int], row: Any) -> list[Fields]:
    """Decode one batch whole, with final timestamps and offsets."""
    at, end = span
    records: list[Fields] = []
    for _ in range(int(row["record_count"])):
        (delta, offset_delta, key, value, headers), at = _record(data, at, end)
        timestamp = wrap64(int(row["base_timestamp"]) + delta)
        if row["timestamp_type"] == attributes.LOG_APPEND_TIME:
            timestamp = int(row["max_timestamp"])
        offset = wrap64(int(row["base_offset"]) + offset_delta)
        records.append((timestamp, offset, key, value, headers))
    if records and at != end:
        raise BadRecordError(problems.BYTES_AFTER_RECORDS, at)
    return records


def decode_records(
    data: Bytes, spans: npt.NDArray[np.int64], rows: Rows, first: int, last: int, options: int,
    out: RecordOutputs,
) -> tuple[int, int, int]:  # fmt: skip
    """Decode the records of magic 2 batches into columns: see `decode.decode_records`."""
    raw = data.tobytes()
    for index in range(first, last):
        begin, end = (int(place) for place in spans[index])
        row = rows[index]
        if int(row["record_count"]) * SMALLEST_RECORD > end - begin:
            return index, problems.BAD_COUNT, begin
        if _lacks_room(out, options, int(row["record_count"]), end - begin):
            return index, OUT_OF_ROOM, begin
        if options & CHECK_CRC:
            covered = data[begin - BATCH_HEADER_SIZE + CRC_FROM : end]
            if crc32c(covered) != row["crc"]:
                return index, problems.CRC_MISMATCH, begin
        try:
            records = _batch_records(raw, (begin, end), row)
        except BadRecordError as error:
            return index, error.code, error.position
        for record in records:
            _append(out, options, index, record)
    return last, problems.OK, 0


def decode_times(
    data: Bytes, rows: Rows, offsets: npt.NDArray[np.int64], timestamps: npt.NDArray[np.int64],
    batch: npt.NDArray[np.int32],
) -> int:  # fmt: skip
    """Decode offsets and times of the records of one batch: see `decode.decode_times`."""
    count, _, _ = scan_window(data, 0, len(data), rows)
    row = rows[0]
    kind = (row["problem"], row["magic"], row["codec"])
    if count == 0 or kind != (problems.OK, 2, attributes.NONE):
        return -1
    out = no_outputs()._replace(offsets=offsets, timestamps=timestamps, batch=batch)
    spans = np.array([[BATCH_HEADER_SIZE, row["size"]]])
    _, code, _ = decode_records(data, spans, rows, 0, 1, 0, out)
    return int(out.used[RECORDS]) if code == problems.OK else -1


def _lacks_room(out: RecordOutputs, options: int, records: int, size: int) -> bool:
    used = out.used
    return bool(
        used[RECORDS] + records > len(out.offsets)
        or (options & KEYS and used[KEY_BYTES] + size > len(out.key_data))
        or (options & VALUES and used[VALUE_BYTES] + size > len(out.value_data))
        or (
            options & HEADERS
            and (
                used[HEADER_COUNT] + size // 2 + 1 >= len(out.header_key_offsets)
                or used[HEADER_KEY_BYTES] + size > len(out.header_key_data)
                or used[HEADER_VALUE_BYTES] + size > len(out.header_value_data)
            )
        )
    )


def _message(data: bytes, at: int, end: int) -> Fields:
    """Decode one entry: its own timestamp and stored offset."""
    offset, _, _, magic, _ = _V0.unpack_from(data, at)
    timestamp = _V1.unpack_from(data, at)[-1] if magic == 1 else -1
    place = at + (_V1.size if magic == 1 else _V0.size)
    size = int.from_bytes(data[place : place + 4], signed=True)
    if size > end - place - 8:
        raise BadRecordError(problems.BAD_KEY, place)
    key = None if size < 0 else data[place + 4 : place + 4 + size]
    place += 4 + max(size, 0)
    size = int.from_bytes(data[place : place + 4], signed=True)
    if size > end - place - 4:
        raise BadRecordError(problems.BAD_VALUE, place)
    value = None if size < 0 else data[place + 4 : place + 4 + size]
    place += 4 + max(size, 0)
    if place != end:
        raise BadRecordError(problems.RECORD_NOT_FILLED, place)
    return timestamp, offset, key, value, []


def _inner_messages(data: bytes, begin: int, end: int, row: Any) -> list[Fields]:
    """Decode the entries of one decompressed wrapper, with final timestamps and offsets."""
    at, records = begin, []
    while end - at >= LENGTH_END:
        size = int.from_bytes(data[at + 8 : at + LENGTH_END], signed=True)
        if size < SMALLEST_MESSAGE:
            raise BadRecordError(problems.BAD_INNER_MESSAGE, at)
        if size > end - at - LENGTH_END:
            break
        magic, bits = data[at + MAGIC_AT], data[at + MAGIC_AT + 1]
        if magic > 1 or (magic == 1 and size < SMALLEST_MESSAGE + 8):
            raise BadRecordError(problems.BAD_INNER_MESSAGE, at)
        if bits & attributes.CODEC_MASK:
            raise BadRecordError(problems.NESTED_COMPRESSION, at)
        timestamp, offset, key, value, headers = _message(data, at, at + LENGTH_END + size)
        if magic == 1 and row["timestamp_type"] == attributes.LOG_APPEND_TIME:
            timestamp = int(row["max_timestamp"])
        records.append((timestamp, offset, key, value, headers))
        at += LENGTH_END + size
    if not records:
        raise BadRecordError(problems.EMPTY_WRAPPER, at)
    shift, wrapper_offset = 0, int(row["last_offset"])
    if row["magic"] == 1 and wrapper_offset != 0:
        shift = wrapper_offset - records[-1][1]
        if shift < 0:
            raise BadRecordError(problems.BAD_WRAPPER_OFFSET, at)
    return [
        (timestamp, wrap64(offset + shift), key, value, headers)
        for timestamp, offset, key, value, headers in records
    ]


def decode_messages(
    data: Bytes, spans: npt.NDArray[np.int64], rows: Rows, first: int, last: int, options: int,
    out: RecordOutputs,
) -> tuple[int, int, int]:  # fmt: skip
    """Decode magic 0 and 1 entries into columns: see `messages.decode_messages`."""
    raw = data.tobytes()
    for index in range(first, last):
        begin, end = (int(place) for place in spans[index])
        row = rows[index]
        size = end - begin
        if (
            out.used[RECORDS] + size // SMALLEST_ENTRY + 1 > len(out.offsets)
            or (options & KEYS and out.used[KEY_BYTES] + size > len(out.key_data))
            or (options & VALUES and out.used[VALUE_BYTES] + size > len(out.value_data))
        ):
            return index, OUT_OF_ROOM, begin
        try:
            if row["codec"] != attributes.NONE:
                records = _inner_messages(raw, begin, end, row)
                row["base_offset"], row["record_count"] = records[0][1], len(records)
            elif options & CHECK_CRC and crc32(data[begin + MESSAGE_CRC_FROM : end]) != row["crc"]:
                return index, problems.CRC_MISMATCH, begin
            else:
                records = [_message(raw, begin, end)]
        except BadRecordError as error:
            return index, error.code, error.position
        for record in records:
            _append(out, options, index, record)
    return last, problems.OK, 0


def _check(
    data: Bytes, position: int, rows: Rows, matches: npt.NDArray[np.bool_], *, old: bool
) -> None:
    for index, row in enumerate(rows):
        if row["problem"] == problems.OK and (row["magic"] < 2) is np.bool_(old):
            begin, end = (
                int(row["position"]) - position,
                int(row["position"] + row["size"]) - position,
            )
            crc = (
                crc32(data[begin + MESSAGE_CRC_FROM : end])
                if old
                else crc32c(data[begin + CRC_FROM : end])
            )
            matches[index] = crc == row["crc"]


def check_crcs(data: Bytes, position: int, rows: Rows, matches: npt.NDArray[np.bool_]) -> None:
    """Check the CRC of whole magic 2 batches: see `decode.check_crcs`."""
    _check(data, position, rows, matches, old=False)


def check_message_crcs(
    data: Bytes, position: int, rows: Rows, matches: npt.NDArray[np.bool_]
) -> None:
    """Check the CRC of whole magic 0 and 1 entries: see `messages.check_message_crcs`."""
    _check(data, position, rows, matches, old=True)
