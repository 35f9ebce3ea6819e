"""SipHash-2-4 with 128 bits, compiled: without the secret, no one can make keys collide.

Eight keys are hashed side by side, in vectors that the compiler splits to the processor's size.

J.-P. Aumasson, D. J. Bernstein: SipHash, a fast short-input PRF (2012)
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from workbench.kernels._jit import inlined, kernel
from workbench.kernels.intrinsics import read_u8, read_word, write_i64

LANES = 8
WORKING_MEMORY = 8 * LANES * 6  # bytes: state, words and mask of each lane

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_I64, LANES)
_VECTOR_SIZE = 8 * LANES
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WORDS = 4 * _VECTOR_SIZE  # after the state
_MASK = 5 * _VECTOR_SIZE


def _splat(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _at(builder: Any, address: Any, index: int) -> Any:
    """Return a pointer to the vector that many positions after an address."""
    place = builder.add(address, ir.Constant(_I64, index * _VECTOR_SIZE))
    return builder.inttoptr(place, _VECTOR.as_pointer())


def _load(builder: Any, address: Any, index: int) -> Any:
    value = builder.load(_at(builder, address, index))
    value.align = 8
    return value


def _store(builder: Any, address: Any, index: int, value: Any) -> None:
    builder.store(value, _at(builder, address, index)).align = 8


def _rotate(builder: Any, value: Any, bits: int) -> Any:
    left = builder.shl(value, _splat(bits))
    return builder.or_(left, builder.lshr(value, _splat(64 - bits)))


def _round(builder: Any, state: list[Any]) -> list[Any]:
    """Return the state after one round."""
    v0, v1, v2, v3 = state
    v0, v2 = builder.add(v0, v1), builder.add(v2, v3)
    v1 = builder.xor(_rotate(builder, v1, 13), v0)
    v3 = builder.xor(_rotate(builder, v3, 16), v2)
    v0, v2 = builder.add(_rotate(builder, v0, 32), v3), builder.add(v2, v1)
    v1 = builder.xor(_rotate(builder, v1, 17), v2)
    v3 = builder.xor(_rotate(builder, v3, 21), v0)
    return [v0, v1, _rotate(builder, v2, 32), v3]


@intrinsic  # type: ignore[untyped-decorator]
def _begin(_typing_context: Any, _memory: Any, _low: Any, _high: Any) -> Any:
    """Store the state that a secret of two halves begins with, in every lane."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        memory, low, high = arguments
        for index, start in enumerate(_START):
            word = builder.xor(
                high if index % 2 else low, _I64(start ^ (0xEE if index == 1 else 0))
            )
            lanes = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, _I32(0))
            zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
            _store(builder, memory, index, builder.shuffle_vector(lanes, lanes, zeros))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _take_all(_typing_context: Any, _memory: Any, words: Any) -> Any:
    """Absorb one word of each key."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        memory, words = arguments
        taken = ir.Constant(_VECTOR, ir.Undefined)
        for lane in range(LANES):
            word = builder.extract_value(words, lane)
            taken = builder.insert_element(taken, word, _I32(lane))
        state = [_load(builder, memory, index) for index in range(4)]
        state[3] = builder.xor(state[3], taken)
        for _ in range(2):
            state = _round(builder, state)
        state[0] = builder.xor(state[0], taken)
        for index in range(4):
            _store(builder, memory, index, state[index])
        return context.get_dummy_value()

    return types.void(types.int64, words), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _take_words(_typing_context: Any, _memory: Any) -> Any:
    """Absorb one word of each key where the mask has ones."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        (memory,) = arguments
        before = [_load(builder, memory, index) for index in range(4)]
        words, mask = _load(builder, memory, 4), _load(builder, memory, 5)
        is_active = builder.icmp_signed("!=", mask, _splat(0))
        state = [*before[:3], builder.xor(before[3], words)]
        for _ in range(2):
            state = _round(builder, state)
        state[0] = builder.xor(state[0], words)
        for index in range(4):
            value = builder.select(is_active, state[index], before[index])
            _store(builder, memory, index, value)
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _finish(_typing_context: Any, _memory: Any, _sums: Any) -> Any:
    """Store the first halves of all sums, then the second halves."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        memory, sums = arguments
        state = [_load(builder, memory, index) for index in range(4)]
        for half, (place, constant) in enumerate(((2, 0xEE), (1, 0xDD))):
            state[place] = builder.xor(state[place], _splat(constant))
            for _ in range(4):
                state = _round(builder, state)
            pairs = builder.xor(state[0], state[1]), builder.xor(state[2], state[3])
            _store(builder, sums, half, builder.xor(*pairs))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@kernel
def _last_word(key: int, size: int, start: int) -> int:
    """Return the word that ends a key: the bytes after its last whole word, and its size.

    Args:
        start: the first address that can be read.
    """
    left = size & 7
    word = np.int64(size) << 56
    if left == 0:
        return word  # type: ignore[return-value]
    if key + size - 8 >= start:
        before = np.uint64(read_word(key + size - 8))
        return word | np.int64(before >> np.uint64(8 * (8 - left)))  # type: ignore[return-value]
    for index in range(left):
        word |= read_u8(key + size - left + index) << (8 * index)
    return word  # type: ignore[return-value]


@inlined
def _word(start: int, place: Any, block: int) -> int:
    """Return a word of the key of a record."""
    size = max(place.key_size, 0)
    key = start + place.key_start
    if block < size >> 3:
        return read_word(key + 8 * block)  # type: ignore[no-any-return]
    return _last_word(key, size, start)  # type: ignore[no-any-return]


@kernel
def hash_places(
    start: int,
    places: Any,
    first: int,
    last: int,
    secret: tuple[int, int],
    memory: int,
    sums: int,
) -> None:
    """Hash the keys of records; a null key as an empty one.

    Args:
        start: the address of position 0 of ``places``.
        places: RECORD_PLACE[n].
        first, last: the records [first, last), at most LANES.
        secret: the 128 bits of the secret.
        memory: the address of WORKING_MEMORY bytes, a multiple of 64.
        sums: the address of 16 * LANES bytes: the first halves of all, then the second halves.
    """
    _begin(memory, secret[0], secret[1])
    most = least = max(places[first].key_size, 0)
    for index in range(first, last):
        size = max(places[index].key_size, 0)
        most, least = max(most, size), min(least, size)
    if last - first == LANES and most >> 3 == least >> 3:
        for block in range((most >> 3) + 1):
            _take_all(
                memory,
                (
                    _word(start, places[first], block),
                    _word(start, places[first + 1], block),
                    _word(start, places[first + 2], block),
                    _word(start, places[first + 3], block),
                    _word(start, places[first + 4], block),
                    _word(start, places[first + 5], block),
                    _word(start, places[first + 6], block),
                    _word(start, places[first + 7], block),
                ),
            )
        _finish(memory, sums)
        return
    for block in range((most >> 3) + 1):
        for index in range(first, last):
            at = memory + 8 * (index - first)
            size = max(places[index].key_size, 0)
            key = start + places[index].key_start
            blocks = size >> 3
            word = 0
            if block < blocks:
                word = read_word(key + 8 * block)
            elif block == blocks:
                word = _last_word(key, size, start)
            write_i64(at + _WORDS, word)
            write_i64(at + _MASK, block <= blocks)
        _take_words(memory)
    _finish(memory, sums)
