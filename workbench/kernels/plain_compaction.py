"""Where records lie and what is known of keys, in plain Python: twins of `locate`, `key_table`.

Same arguments, same results, same codes and positions as the compiled ones, whose docstrings hold
here too.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels.outputs import OUT_OF_ROOM, Rows
from workbench.kernels.plain import BadRecordError, decode_varint, wrap64
from workbench.kernels.plain_encode import encode_varint
from workbench.layout import attributes, compaction, problems
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD

__all__ = ["find_keys", "locate_records", "put_keys", "superseded_batches", "survey_batches"]

_NONE: Final = -1
_WORD: Final = 2**64
_SIP_START: Final = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


# --- where records lie -----------------------------------------------------------------------


def _size(data: bytes, at: int, end: int) -> tuple[int, int, bool]:
    """Return (value, place behind it, whether a builder writes it so)."""
    value, behind = decode_varint(data, at, end, 32)
    return value, behind, value >= _NONE and encode_varint(value) == data[at:behind]


def _field(data: bytes, at: int, end: int, code: int) -> tuple[int, int, bool]:
    """Return (size, place of the content, whether a builder writes the size so)."""
    size, behind, is_short = _size(data, at, end)
    if size > end - behind:
        raise BadRecordError(code, at)
    return size, behind, is_short


def _marks_of(marks: Bytes, offset: int) -> int:
    """Return the bits of an offset, counted from the origin; 0 where there are none."""
    if 0 <= offset < 4 * len(marks):
        return int(marks[offset // 4]) >> 2 * (offset % 4) & 3
    return 0


def _locate_record(
    data: bytes, at: int, end: int, passes: Callable[[int], bool]
) -> tuple[int, dict[str, Any] | None]:
    """Return the place behind a record and the fields of its RECORD_PLACE; deltas, not sums.

    None in place of the fields: ``passes`` says so of the offset delta.
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
        _marks_of(marks, wrap64(base + delta - origin)) & compaction.IS_SUPERSEDED
        for delta in range(count)
    )


def superseded_batches(rows: Rows, marks: Bytes, origin: int) -> npt.NDArray[np.bool_]:
    """Return which batches hold none but superseded records: see `locate.superseded_batches`."""
    return np.array([_is_superseded(row, marks, origin) for row in rows], np.bool_)


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
                _marks_of(marks, wrap64(base_offset + delta) - origin) & compaction.IS_SUPERSEDED
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
    """Return what there is among batches: see `locate.survey_batches`."""
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


# --- what is known of keys -------------------------------------------------------------------


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) % _WORD


def _rounds(state: list[int], count: int) -> None:
    for _ in range(count):
        v0, v1, v2, v3 = state
        v0, v2 = (v0 + v1) % _WORD, (v2 + v3) % _WORD
        v1, v3 = _rotated(v1, 13) ^ v0, _rotated(v3, 16) ^ v2
        v0, v2 = (_rotated(v0, 32) + v3) % _WORD, (v2 + v1) % _WORD
        v1, v3 = _rotated(v1, 17) ^ v2, _rotated(v3, 21) ^ v0
        state[:] = v0, v1, _rotated(v2, 32), v3


def siphash(key: bytes, secret: tuple[int, int]) -> tuple[int, int]:
    """Return the two halves of the SipHash-2-4-128 of a key, unsigned."""
    words = [word % _WORD for word in secret]
    state = [start ^ words[index % 2] for index, start in enumerate(_SIP_START)]
    state[1] ^= 0xEE
    padded = key + bytes(7 - len(key) % 8) + bytes([len(key) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    halves = []
    for index, constant in ((2, 0xEE), (1, 0xDD)):
        state[index] ^= constant
        _rounds(state, 4)
        halves.append(state[0] ^ state[1] ^ state[2] ^ state[3])
    return halves[0], halves[1]


def _find(table: Longs, sums: tuple[int, int]) -> tuple[int, int]:
    """Return the place of a slot in a table and its number + 1; the place -1: none is free."""
    slots = len(table) // 3
    slot = (sums[0] >> 32) * slots >> 32
    for _ in range(slots):
        first, second, number = table[3 * slot : 3 * slot + 3].tolist()
        if number == 0 or (first % _WORD, second % _WORD) == sums:
            return 3 * slot, number
        slot = (slot + 1) % slots
    return _NONE, 0


def _key(data: Bytes, record: Any) -> bytes:
    start = int(record["key_start"])
    return data[start : start + int(record["key_size"])].tobytes()


def put_keys(
    data: Bytes,
    places: Any,
    count: int,
    start_offset: int,
    table: Longs,
    room: int,
    secret_low: int,
    secret_high: int,
    marks: Bytes,
    origin: int,
    before: int,
) -> tuple[int, int, int]:
    """Put offsets under keys: see `key_table.put_keys`."""
    new, ascends = 0, True
    for index, record in enumerate(places[:count]):
        offset = int(record["offset"])
        if record["key_size"] < 0 or offset < start_offset:
            continue
        if new >= room:
            return index, new, before if ascends else -2
        sums = siphash(_key(data, record), (secret_low, secret_high))
        at, number = _find(table, sums)
        if number == 0:
            table[at : at + 2] = [wrap64(half) for half in sums]
            new += 1
        before_it = number - 1 if number else origin - 1  # nothing is marked there
        for marked, bit in (
            (before_it, compaction.IS_SUPERSEDED),
            (offset, compaction.WAS_PUT),
        ):
            if 0 <= marked - origin < 4 * len(marks):
                marks[(marked - origin) // 4] |= bit << 2 * ((marked - origin) % 4)
        table[at + 2] = offset + 1
        ascends, before = ascends and offset > before, offset
    return count, new, before if ascends else -2


def find_keys(
    data: Bytes,
    places: Any,
    count: int,
    end_offset: int,
    table: Longs,
    secret_low: int,
    secret_high: int,
    marks: Bytes,
    origin: int,
    found: Longs,
) -> None:
    """Look up keys: see `key_table.find_keys`."""
    for index, record in enumerate(places[:count]):
        offset = int(record["offset"])
        is_asked = record["key_size"] >= 0 and offset < end_offset
        bits = _marks_of(marks, offset - origin)
        found[index] = _NONE
        if is_asked and bits & compaction.WAS_PUT:
            found[index] = offset + (bits >> 1)
        elif is_asked:
            sums = siphash(_key(data, record), (secret_low, secret_high))
            found[index] = _find(table, sums)[1] - 1
