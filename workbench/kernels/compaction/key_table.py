"""Numbers by keys in one block of memory, compiled: the cleaner's offset map.

A key is represented by its 128-bit sum under a secret. A table is int64[3 * slots]: for each slot
the two halves of a sum, and the number + 1; 0 there means that the slot is empty. A sum is in the
first slot, from its own, that was free. Keys are hashed ahead, so that their slots are being
fetched from memory when they are needed.

Kafka: SkimpyOffsetMap (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.compaction.marks import marks_of, set_mark
from workbench.kernels.compaction.siphash import LANES, WORKING_MEMORY, hash_places
from workbench.kernels.intrinsics import (
    address_of,
    prefetch,
    read_word,
    working_memory,
    write_i64,
)
from workbench.layout.compaction import IS_SUPERSEDED, WAS_PUT

_ENTRY = 24  # bytes
_AHEAD = 32  # keys
_SUMS = 16 * _AHEAD  # bytes
_HASHING = _SUMS + WORKING_MEMORY  # bytes
_HASHING_LANES = 16 * LANES + WORKING_MEMORY  # bytes
_LINE = 64  # bytes that come from memory at once: a slot and the next one are within two
_NOT_FOUND = -1


@kernel
def _slot_of(sum_start: int, slots: int) -> int:
    """Return the slot where a sum belongs, from its first half: the upper 32 bits, scaled."""
    scaled = (np.uint64(sum_start) >> np.uint64(32)) * np.uint64(slots)
    return np.int64(scaled >> np.uint64(32))  # type: ignore[return-value]


@kernel
def _sum_at(sums: int, index: int) -> tuple[int, int]:
    """Return the sum of one of the keys that were hashed ahead."""
    at = sums + (index // LANES) * 16 * LANES + (index % LANES) * 8
    return read_word(at), read_word(at + 8 * LANES)


@kernel
def _hash_ahead(
    start: int,
    places: Any,
    first: int,
    last: int,
    secret: tuple[int, int],
    table: tuple[int, int],
    memory: int,
) -> None:
    """Hash some keys to the start of ``memory``, and prefetch their slots of the table."""
    address, slots = table
    for lane in range(first, last, LANES):
        sums = memory + 16 * (lane - first)
        hash_places(start, places, lane, min(lane + LANES, last), secret, memory + _SUMS, sums)
        for index in range(LANES):
            slot = address + _ENTRY * _slot_of(read_word(sums + 8 * index), slots)
            prefetch(slot)
            prefetch(slot + _LINE)


@kernel
def _find(table: tuple[int, int], first_half: int, second_half: int) -> tuple[int, int]:
    """Return the address of a sum's slot and its number + 1, or of the free slot for it.

    The address is 0 if the sum is not in the table and no slot is free.
    """
    address, slots = table
    slot = _slot_of(first_half, slots)
    for _ in range(slots):
        at = address + _ENTRY * slot
        number = read_word(at + 16)
        if number == 0 or (read_word(at) == first_half and read_word(at + 8) == second_half):
            return at, number
        slot += 1
        if slot == slots:
            slot = 0
    return 0, 0


@kernel
def put_keys(
    data: npt.NDArray[np.uint8],
    places: Any,
    count: int,
    start_offset: int,
    table: npt.NDArray[np.int64],
    room: int,
    secret_low: int,
    secret_high: int,
    marks: npt.NDArray[np.uint8],
    origin: int,
    before: int,
) -> tuple[int, int, int]:
    """Put the offsets of records under their keys, in order, replacing earlier ones.

    Without room, it stops at the next key, even if that key is in the table.

    Args:
        data: uint8[n], C-contiguous: the bytes with the keys.
        places: RECORD_PLACE[m]; records without a key, or before ``start_offset``, are skipped.
        count: the number of records.
        start_offset: see ``places``.
        table: int64[3 * slots].
        room: the number of new keys that can be put.
        secret_low, secret_high: the halves of the table's secret.
        marks: uint8[n], filled with marks; it can be empty.
        origin: the offset of the first mark.
        before: the last offset put so far.

    Returns:
        (records read, new keys, last offset put): fewer records than ``count`` if there was no more
        room. The offset is -2 if offsets do not ascend; then marks are wrong.
    """
    start = address_of(data)
    where = (address_of(table), len(table) // 3)
    secret = (secret_low, secret_high)
    memory = working_memory(_HASHING)
    new = 0
    mark_at = address_of(marks)
    ascends = True
    for first in range(0, count, _AHEAD):
        last = min(first + _AHEAD, count)
        _hash_ahead(start, places, first, last, secret, where, memory)
        for index in range(first, last):
            place = places[index]
            if place.key_size < 0 or place.offset < start_offset:
                continue
            if new >= room:
                return index, new, before if ascends else -2
            first_half, second_half = _sum_at(memory, index - first)
            at, number = _find(where, first_half, second_half)
            if number == 0:
                write_i64(at, first_half)
                write_i64(at + 8, second_half)
                new += 1
            else:
                set_mark(mark_at, len(marks), number - 1 - origin, IS_SUPERSEDED)
            set_mark(mark_at, len(marks), place.offset - origin, WAS_PUT)
            write_i64(at + 16, place.offset + 1)
            ascends &= place.offset > before
            before = place.offset
    return count, new, before if ascends else -2


@kernel
def find_keys(
    data: npt.NDArray[np.uint8],
    places: Any,
    count: int,
    end_offset: int,
    table: npt.NDArray[np.int64],
    secret_low: int,
    secret_high: int,
    marks: npt.NDArray[np.uint8],
    origin: int,
    found: npt.NDArray[np.int64],
) -> None:
    """Look up the keys of records.

    Args:
        data, places, count, table, secret_low, secret_high: see `put_keys`.
        end_offset: the end of the lookup: records at or after it are not looked up.
        marks, origin: see `put_keys`. For a record with a mark, the offset found is its own, or if
            it is superseded its own + 1, whatever the table has.
        found: int64[m], filled: the offset under the key; -1 if it is not known, there is no key or
            the record is not looked up.
    """
    mark_at = address_of(marks)
    start = address_of(data)
    where = (address_of(table), len(table) // 3)
    secret = (secret_low, secret_high)
    memory = working_memory(_HASHING)
    for first in range(0, count, _AHEAD):
        last = min(first + _AHEAD, count)
        open_ones = 0
        for index in range(first, last):
            place = places[index]
            found[index] = _NOT_FOUND
            if place.key_size >= 0 and place.offset < end_offset:
                bits = marks_of(mark_at, len(marks), place.offset - origin)
                if bits & WAS_PUT:
                    found[index] = place.offset + (bits >> 1)
                else:
                    open_ones += 1
        if open_ones == 0:
            continue
        _hash_ahead(start, places, first, last, secret, where, memory)
        for index in range(first, last):
            place = places[index]
            if found[index] != _NOT_FOUND or place.key_size < 0 or place.offset >= end_offset:
                continue
            first_half, second_half = _sum_at(memory, index - first)
            found[index] = _find(where, first_half, second_half)[1] - 1


@kernel
def sum_keys(
    data: npt.NDArray[np.uint8],
    places: Any,
    secret_low: int,
    secret_high: int,
    sums: npt.NDArray[np.int64],
) -> None:
    """Hash the keys of records; a null key as an empty one.

    Args:
        data: uint8[n], C-contiguous: the bytes with the keys.
        places: RECORD_PLACE[m].
        secret_low, secret_high: the halves of the secret.
        sums: int64[2, m], filled: the first halves of the sums, then the second halves.
    """
    start = address_of(data)
    secret = (secret_low, secret_high)
    memory = working_memory(_HASHING_LANES)
    for first in range(0, len(places), LANES):
        last = min(first + LANES, len(places))
        hash_places(start, places, first, last, secret, memory + 16 * LANES, memory)
        for index in range(first, last):
            sums[0, index], sums[1, index] = _sum_at(memory, index - first)
