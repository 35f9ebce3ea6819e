"""Twins of `kernels.reading.decode` in plain Python."""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.checksum import crc32c
from workbench.kernels.plain.reading.outputs import Bytes, Fields, Header, append, lacks_room
from workbench.kernels.plain.varint import BadRecordError, decode_varint, wrap64
from workbench.kernels.reading.outputs import (
    CHECK_CRC,
    OUT_OF_ROOM,
    RecordOutputs,
    Rows,
)
from workbench.layout import attributes, problems
from workbench.layout.batch_header import (
    BATCH_HEADER_SIZE,
    CRC_FROM,
    SMALLEST_RECORD,
)


def _sized(data: bytes, at: int, end: int, code: int) -> tuple[bytes | None, int]:
    """Read a varint size and that many bytes; any negative size is null."""
    size, behind = decode_varint(data, at, end, 32)
    if size > end - behind:
        raise BadRecordError(code, at)
    return (None, behind) if size < 0 else (data[behind : behind + size], behind + size)


def _record(data: bytes, at: int, end: int) -> tuple[Fields, int]:
    """Decode one record: (timestamp delta, offset delta, key, value, headers) and its end."""
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
        if lacks_room(out, options, int(row["record_count"]), end - begin):
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
            append(out, options, index, record)
    return last, problems.OK, 0


def check_crcs(data: Bytes, position: int, rows: Rows, matches: npt.NDArray[np.bool_]) -> None:
    """Check the CRC of whole magic 2 batches: see `kernels.reading.decode.check_crcs`."""
    for index, row in enumerate(rows):
        if row["problem"] == problems.OK and row["magic"] == 2:
            begin = int(row["position"]) - position
            covered = data[begin + CRC_FROM : begin + int(row["size"])]
            matches[index] = crc32c(covered) == row["crc"]
