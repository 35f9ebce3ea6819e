"""Twins of `kernels.compaction.locate` in plain Python."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.compaction.marks import marks_of
from workbench.kernels.plain.varint import BadRecordError, decode_varint, encode_varint, wrap64
from workbench.kernels.reading.outputs import OUT_OF_ROOM, Rows
from workbench.layout import attributes, compaction, problems
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD

_NONE: Final = -1
Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


def _size(data: bytes, at: int, end: int) -> tuple[int, int, bool]:
    """Return (value, position after it, whether a builder writes it so)."""
    value, behind = decode_varint(data, at, end, 32)
    return value, behind, value >= _NONE and encode_varint(value) == data[at:behind]


def _field(data: bytes, at: int, end: int, code: int) -> tuple[int, int, bool]:
    """Return (size, position of the content, whether a builder writes the size so)."""
    size, behind, is_short = _size(data, at, end)
    if size > end - behind:
        raise BadRecordError(code, at)
    return size, behind, is_short


def _locate_record(
    data: bytes, at: int, end: int, passes: Callable[[int], bool]
) -> tuple[int, dict[str, Any] | None]:
    """Return the position after a record and the fields of its RECORD_PLACE; deltas, not sums.

    None instead of the fields if ``passes`` is true for the offset delta.
    """
    start = at
    length, at = decode_varint(data, at, end, 32)
    if length < SMALLEST_RECORD - 1 or length > end - at:
        raise BadRecordError(problems.BAD_RECORD_LENGTH, start)
    end = at + length
    timestamp_delta, tail = decode_varint(data, at + 1, end, 64)
    offset_delta, at, *shortest = _size(data, tail, end)
    if passes(offset_delta):
        return end, None
    key_size, key_start, is_short = _field(data, at, end, problems.BAD_KEY)
    shortest.append(is_short)
    at = key_start + max(key_size, 0)
    value_size, at, is_short = _field(data, at, end, problems.BAD_VALUE)
    shortest.append(is_short)
    at += max(value_size, 0)
    count, behind, is_short = _size(data, at, end)
    shortest.append(is_short)
    if not 0 <= count <= end - behind:
        raise BadRecordError(problems.BAD_HEADERS, at)
    at = behind
    for _ in range(count):
        size, behind, is_short = _field(data, at, end, problems.BAD_HEADERS)
        if size < 0:
            raise BadRecordError(problems.BAD_HEADERS, at)
        shortest.append(is_short)
        size, at, is_short = _field(data, behind + size, end, problems.BAD_HEADERS)
        shortest.append(is_short)
        at += max(size, 0)
    if at != end:
        raise BadRecordError(problems.RECORD_NOT_FILLED, at)
    return end, {
        "offset": offset_delta,
        "timestamp": timestamp_delta,
        "tail": tail,
        "end": end,
        "key_start": key_start,
        "key_size": max(key_size, _NONE),
        "is_tombstone": value_size < 0,
        "is_shortest": all(shortest),
    }


def _is_superseded(row: Any, marks: Bytes, origin: int) -> bool:
    base, count = int(row["base_offset"]), int(row["record_count"])
    if count < 1 or wrap64(int(row["last_offset"]) - base) != count - 1:
        return False
    return all(
        marks_of(marks, wrap64(base + delta - origin)) & compaction.IS_SUPERSEDED
        for delta in range(count)
    )


def superseded_batches(rows: Rows, marks: Bytes, origin: int, found: npt.NDArray[np.bool_]) -> None:
    """Find the batches that hold only superseded records: see `locate.superseded_batches`."""
    found[:] = [_is_superseded(row, marks, origin) for row in rows]


def locate_records(
    data: Bytes,
    spans: Longs,
    rows: Rows,
    first: int,
    last: int,
    places: Any,
    used: int,
    marks: Bytes,
    origin: int,
) -> tuple[int, int, int, int, int]:
    """Locate the records of batches: see `locate.locate_records`."""
    raw, passed = data.tobytes(), 0
    for index in range(first, last):
        row = rows[index]
        count = int(row["record_count"])
        start, size = int(row["position"]), int(row["size"])
        at, end = start + BATCH_HEADER_SIZE, start + size
        if len(spans):
            at, end = spans[index].tolist()
        if at < 0 or count == 0 or _is_superseded(row, marks, origin):
            passed += count
            continue
        if count < 0 or count * SMALLEST_RECORD > end - at:
            return used, index, problems.BAD_COUNT, at, passed
        if count > len(places) - used:
            return used, index, OUT_OF_ROOM, at, passed
        use_max = row["timestamp_type"] == attributes.LOG_APPEND_TIME
        base, largest = int(row["base_timestamp"]), int(row["max_timestamp"])
        base_offset, behind = int(row["base_offset"]), used

        def passes(delta: int, base_offset: int = base_offset) -> bool:
            return bool(
                marks_of(marks, wrap64(base_offset + delta) - origin) & compaction.IS_SUPERSEDED
            )

        try:
            for number in range(count):
                at, fields = _locate_record(raw, at, end, passes)
                if fields is None:
                    continue
                fields["offset"] = wrap64(base_offset + fields["offset"])
                fields["timestamp"] = largest if use_max else wrap64(base + fields["timestamp"])
                for name, value in {**fields, "batch": index, "index": number}.items():
                    places[behind][name] = value
                behind += 1
            if at != end:
                raise BadRecordError(problems.BYTES_AFTER_RECORDS, at)  # noqa: TRY301
        except BadRecordError as error:
            return used, index, error.code, error.position, passed
        passed += count - (behind - used)
        used = behind
    return used, last, problems.OK, 0, passed


def survey_batches(rows: Rows) -> tuple[int, int]:
    """Return the kinds of batches present: see `locate.survey_batches`."""
    found = 0
    for bit, holds in (
        (compaction.HAS_OTHERS, (rows["magic"] != 2) | (rows["problem"] != problems.OK)),
        (compaction.HAS_COMPRESSED, rows["codec"] != attributes.NONE),
        (compaction.HAS_TRANSACTIONS, rows["is_transactional"] | rows["is_control"]),
        (compaction.HAS_PRODUCERS, rows["producer_id"] != _NONE),
        (compaction.HAS_HORIZONS, rows["delete_horizon"] != _NONE),
    ):
        found |= bit if holds.any() else 0
    return found, max(_NONE, *rows["last_offset"].tolist(), _NONE)
