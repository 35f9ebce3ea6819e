"""Twins of `kernels.compaction.key_table` in plain Python."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.compaction.marks import marks_of
from workbench.kernels.plain.compaction.siphash import siphash
from workbench.kernels.plain.varint import wrap64
from workbench.layout import compaction

_NONE: Final = -1
_WORD: Final = 2**64
Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


def _find(table: Longs, sums: tuple[int, int]) -> tuple[int, int]:
    """Return the position of a slot in a table and its number + 1; position -1: none is free."""
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
        bits = marks_of(marks, offset - origin)
        found[index] = _NONE
        if is_asked and bits & compaction.WAS_PUT:
            found[index] = offset + (bits >> 1)
        elif is_asked:
            sums = siphash(_key(data, record), (secret_low, secret_high))
            found[index] = _find(table, sums)[1] - 1


def sum_keys(data: Bytes, places: Any, secret_low: int, secret_high: int, sums: Longs) -> None:
    """Hash keys: see `key_table.sum_keys`."""
    for index, record in enumerate(places):
        key = _key(data, record) if record["key_size"] >= 0 else b""
        sums[:, index] = [wrap64(half) for half in siphash(key, (secret_low, secret_high))]
