"""Twins of `kernels.reading.messages` in plain Python."""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.checksum import crc32
from workbench.kernels.plain.reading.outputs import Bytes, Fields, append
from workbench.kernels.plain.varint import BadRecordError, wrap64
from workbench.kernels.reading.outputs import (
    CHECK_CRC,
    KEY_BYTES,
    KEYS,
    OUT_OF_ROOM,
    RECORDS,
    VALUE_BYTES,
    VALUES,
    RecordOutputs,
    Rows,
)
from workbench.layout import attributes, problems
from workbench.layout.batch_header import (
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.message_header import (
    MESSAGE_CRC_FROM,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.structure import as_struct

_V0 = as_struct(MESSAGE_V0)
_V1 = as_struct(MESSAGE_V1)


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


def _inner_messages(data: bytes, begin: int, end: int, row: Any) -> tuple[list[Fields], int]:
    """Decode the entries of one decompressed wrapper, with final timestamps and offsets.

    Returns:
        The entries, and where the whole ones end.
    """
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
    ], at


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
        behind = end
        try:
            if row["codec"] != attributes.NONE:
                records, behind = _inner_messages(raw, begin, end, row)
                row["base_offset"], row["record_count"] = records[0][1], len(records)
            elif options & CHECK_CRC and crc32(data[begin + MESSAGE_CRC_FROM : end]) != row["crc"]:
                return index, problems.CRC_MISMATCH, begin
            else:
                records = [_message(raw, begin, end)]
        except BadRecordError as error:
            return index, error.code, error.position
        for record in records:
            append(out, options, index, record)
        if behind != end:
            return index, problems.CUT_WRAPPER, behind
    return last, problems.OK, 0


def check_message_crcs(
    data: Bytes, position: int, rows: Rows, matches: npt.NDArray[np.bool_]
) -> None:
    """Check the CRC of whole magic 0 and 1 entries: see `kernels.reading.messages`."""
    for index, row in enumerate(rows):
        if row["problem"] == problems.OK and row["magic"] < 2:
            begin = int(row["position"]) - position
            covered = data[begin + MESSAGE_CRC_FROM : begin + int(row["size"])]
            matches[index] = crc32(covered) == row["crc"]
