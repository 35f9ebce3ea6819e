"""Snappy streams into bytes, compiled. Every byte read or written is checked first.

A block is the size of its content as a varint, then elements. The low two bits of an element's
first byte, the tag, are its kind, the others its length:

    0    literal: tag >> 2 is the length - 1, or 60 to 63: it follows in 1 to 4 bytes
    1    copy of 4 to 11 bytes: 3 bits of length - 4, 3 high bits of the distance, 1 byte more
    2    copy of 1 to 64 bytes: 6 bits of length - 1, the distance in 2 bytes
    3    copy of 1 to 64 bytes: 6 bits of length - 1, the distance in 4 bytes

All are little-endian. A copy goes back its distance in the content; it may reach into itself.

Kafka: org.xerial.snappy.SnappyInputStream (4.2)
"""

from typing import Any, Final

import numpy as np

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of, copy, read_i32, read_u8, read_word, write_u8

_HEADER: Final = 0x595050414E5382  # the magic as a little-endian word
_VERSIONS: Final = 0x0100000001000000  # version 1, readable by version 1
_HEADER_SIZE: Final = 16
_LARGEST_VARINT: Final = 5
_SHORT: Final = 64  # bytes that a short element of any length can copy
_REACH: Final = 80  # bytes that a short element can read, from its tag
_FAILED: Final = -1


def _describe_elements() -> Any:
    """Return int64[256], the meaning of each tag, so that decoding it takes no branch.

    From the lowest bit: 8 bits the length, 16 bits a mask for the distance after the tag, 16 bits
    its addend. Then bit 62: a literal; bit 63: an element that is not short.
    """
    tags = np.arange(256)
    kind = tags & 3
    length = np.where(kind == 1, (tags >> 2 & 7) + 4, (tags >> 2) + 1)
    mask = np.array([0, 0xFF, 0xFFFF, 0])[kind]
    high = np.where(kind == 1, (tags & 0xE0) << 3, 0)
    is_long = (kind == 3) | ((kind == 0) & (length > 60))
    return length | mask << 8 | high << 24 | np.where(kind == 0, 1 << 62, 0) | -(is_long << 63)


_ELEMENTS: Final = _describe_elements()


@kernel
def decode_stream(source: int, end: int, readable: int, target: int, limit: int) -> int:
    """Decode a stream with the header that Kafka writes, between addresses.

    Reads below ``readable``, writes below ``limit``.

    Returns:
        The address after the last byte; -1: it has another header, does not fit or is corrupt.
    """
    is_long = end - source >= _HEADER_SIZE
    if not is_long or read_word(source) != _HEADER or read_word(source + 8) != _VERSIONS:
        return _FAILED
    at = source + _HEADER_SIZE
    while end - at >= 4:
        size = read_i32(at)
        at += 4
        if size < 0 or size > end - at:
            return _FAILED
        target = _decode_block(at, at + size, readable, target, limit)
        if target == _FAILED:
            return _FAILED
        at += size
    return target


@kernel
def _decode_block(source: int, end: int, readable: int, target: int, room: int) -> int:
    """Decode one block between two addresses, reading below ``readable``, writing below ``room``.

    Returns:
        The address after its last byte, or ``_FAILED``.
    """
    start = target
    size, shift = 0, 0
    while True:
        if source >= end or shift == 7 * _LARGEST_VARINT:
            return _FAILED
        byte = read_u8(source)
        source += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > room - target:
        return _FAILED
    limit = target + size
    elements = address_of(_ELEMENTS)
    short_source, short_target = min(end, readable - _REACH), room - _SHORT
    while source < end and target <= limit:
        tag = read_u8(source)
        # Which kind comes next cannot be guessed, so a short element is decoded without branches on
        # it, and the next tag is fetched from both possible positions. One element can go beyond
        # the block, never beyond ``readable`` and ``room``: the check is after the loop.
        while source < short_source and target <= short_target:
            is_literal = tag & 3 == 0
            if_literal, if_copy = (tag >> 2) + 2, (tag & 3) + 1
            next_if_literal, next_if_copy = read_u8(source + if_literal), read_u8(source + if_copy)
            element = read_word(elements + 8 * tag)
            literal = element << 1 >> 63  # all bits set or none
            length = element & 0xFF
            distance = (read_word(source + 1) & (element >> 8 & 0xFFFF)) + (element >> 24 & 0xFFFF)
            # Negative for a copy of itself or from before the block, and for an element not short.
            room_between = (distance - length) | (target - start - distance)
            if room_between & ~literal | element < 0:
                break
            begin = target - distance + (source + 1 - target & literal)
            copy(target, begin, 16)
            if length > 16:
                copy(target + 16, begin + 16, 16)
                copy(target + 32, begin + 32, 32)
            tag = next_if_literal if is_literal else next_if_copy
            source += if_literal if is_literal else if_copy
            target += length
        if source < end and target <= limit:
            source, target = _decode_element(source, end, start, target, limit)
    return target if source == end and target == limit else _FAILED


@kernel
def _decode_element(source: int, end: int, start: int, target: int, limit: int) -> tuple[int, int]:
    """Decode one element of any kind, byte by byte.

    Returns:
        The addresses after it, or ``end`` and ``_FAILED``.
    """
    tag = read_u8(source)
    kind = tag & 3
    source += 1
    length = (tag >> 2 & 7) + 4 if kind == 1 else (tag >> 2) + 1
    extra = kind if kind < 3 else 4  # bytes after the tag
    if kind == 0 and length > 60:
        extra = length - 60
    if extra > end - source:
        return end, _FAILED
    value = 0
    for place in range(extra):
        value |= read_u8(source + place) << 8 * place
    source += extra
    if kind == 0:
        if extra:
            length = value + 1
        if length > end - source or length > limit - target:
            return end, _FAILED
        copy(target, source, length)
        return source + length, target + length
    distance = value | (tag & 0xE0) << 3 if kind == 1 else value
    if distance == 0 or distance > target - start or length > limit - target:
        return end, _FAILED
    for place in range(length):
        write_u8(target + place, read_u8(target + place - distance))
    return source, target + length
