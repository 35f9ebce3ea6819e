"""LZ4 frames into bytes and back, compiled. Every byte read or written is checked first.

A block is a run of sequences: a token (high half: literal count, low half: match length - 4; 15
means that more bytes follow and are added, up to the first below 255), the literals, a distance
back as two bytes little-endian. The last sequence of a block ends after its literals.

Kafka: Lz4BlockInputStream.readBlock (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.foreign import call_lz4
from workbench.kernels.codecs.inputs import (
    BLOCK_TOO_LARGE,
    CORRUPT_BLOCK,
    CUT_SHORT,
    NO_ROOM,
    OK,
)
from workbench.kernels.intrinsics import (
    address_of,
    copy,
    read_u8,
    read_word,
    write_i32,
    write_i64,
    write_u8,
)
from workbench.layout.lz4_frame import BLOCK_SIZE, STORED_BIT, WRITTEN_HEADER

_HEADER_SIZE: Final = len(WRITTEN_HEADER)
_CHECKSUM_AT: Final = _HEADER_SIZE - 1
_WRITTEN: Final = int.from_bytes(WRITTEN_HEADER, "little")  # a word, with a byte to overwrite
_HEADER_MASK: Final = (1 << 8 * _CHECKSUM_AT) - 1
_HEADER: Final = _WRITTEN & _HEADER_MASK  # magic, flags and block descriptor
_SIZE: Final = 4  # bytes of a block's size, and of the end mark
_SMALLEST_FRAME: Final = _HEADER_SIZE + _SIZE


@kernel
def decode_blocks(
    source: npt.NDArray[np.uint8],
    at: int,
    largest_block: int,
    target: npt.NDArray[np.uint8],
    used: int,
    target_end: int,
    library: int,
) -> tuple[int, int, int]:
    """Decode independent blocks up to the end mark of their frame.

    Args:
        source: uint8[n], C-contiguous; the frame, followed by any bytes.
        at: position of the first block's size in ``source``.
        largest_block: bytes that a block may hold or expand to.
        target: uint8[capacity], C-contiguous; filled from ``used``. Bytes between the returned
            position and ``target_end`` may be overwritten.
        used: position in ``target`` to fill from.
        target_end: position in ``target`` to stop at, exclusive; at most its length.
        library: the address of `LZ4_decompress_safe`; 0: there is none.

    Returns:
        (code, at, used). ``OK``: the positions after the end mark and after the last byte filled.
        Otherwise the positions at which the failing block begins; after ``NO_ROOM`` the same call
        with a larger target continues there.
    """
    base, start = address_of(source), address_of(target)
    code, source_at, target_at = _decode_blocks(
        base + at, base + len(source), largest_block, start + used, start + target_end, library
    )
    return code, source_at - base, target_at - start


@kernel
def decode_frame(
    source: int, end: int, target: int, limit: int, checksum: int, library: int
) -> int:
    """Decode a frame with the header that Kafka writes, between addresses, writing below ``limit``.

    Args:
        checksum: the checksum that the header must have, -1 for any.
        library: the address of `LZ4_decompress_safe`; 0: there is none.

    Returns:
        The address after the last byte; -1: it has another header, does not fit or is corrupt.
    """
    if (
        end - source < _SMALLEST_FRAME
        or read_word(source) & _HEADER_MASK != _HEADER
        or (checksum >= 0 and read_u8(source + _CHECKSUM_AT) != checksum)
    ):
        return -1
    blocks = source + _HEADER_SIZE
    code, _, reached = _decode_blocks(blocks, end, BLOCK_SIZE, target, limit, library)
    return reached if code == OK else -1


@kernel
def encode_frame(library: int, source: int, size: int, target: int, room: int) -> int:
    """Write a frame as Kafka does, between addresses.

    Args:
        library: the address of `LZ4_compress_default`.
        size: the number of bytes to compress.
        room: the number of bytes that can be written.

    Returns:
        The size of the frame; -1 if the room may be too small.
    """
    blocks = (size + BLOCK_SIZE - 1) // BLOCK_SIZE
    if room < _HEADER_SIZE + 1 + blocks * _SIZE + size + size // 128 + 64:
        return -1
    write_i64(target, _WRITTEN)
    at = target + _HEADER_SIZE
    done = 0
    while done < size:
        block = min(BLOCK_SIZE, size - done)
        packed = call_lz4(library, source + done, at + _SIZE, block, target + room - at - _SIZE)
        if 0 < packed < block:
            write_i32(at, packed)
            at += _SIZE + packed
        else:
            write_i32(at, block | STORED_BIT)
            copy(at + _SIZE, source + done, block)
            at += _SIZE + block
        done += block
    write_i32(at, 0)
    return at + _SIZE - target


@kernel
def _decode_blocks(
    source: int, end: int, largest_block: int, target: int, limit: int, library: int
) -> tuple[int, int, int]:
    """Decode blocks between addresses; see `decode_blocks`.

    If the library refuses a block, it is decoded again to find the reason.
    """
    while True:
        if end - source < 4:
            return CUT_SHORT, source, target
        size = (
            read_u8(source)
            | read_u8(source + 1) << 8
            | read_u8(source + 2) << 16
            | read_u8(source + 3) << 24
        )
        stored = size & STORED_BIT
        size &= STORED_BIT - 1
        if size == 0:
            return OK, source + 4, target
        if size > largest_block:
            return BLOCK_TOO_LARGE, source, target
        block = source + 4
        if size > end - block:
            return CUT_SHORT, source, target
        if stored:
            if size > limit - target:
                return NO_ROOM, source, target
            copy(target, block, size)
            target += size
        else:
            block_limit = min(limit, target + largest_block)
            reached = -1
            if library != 0:
                expanded = call_lz4(library, block, target, size, block_limit - target)
                reached = target + expanded if expanded >= 0 else -1
            if reached == -1:
                reached = _decode_block(block, block + size, target, block_limit, limit)
            if reached == -1 or (reached == -2 and block_limit < limit):
                return CORRUPT_BLOCK, source, target
            if reached == -2:
                return NO_ROOM, source, target
            target = reached
        source = block + size


@kernel
def _decode_block(source: int, end: int, target: int, limit: int, room: int) -> int:
    """Decode one block between two addresses.

    Writes end before ``room``; the block's own bytes end before ``limit``, at most ``room``.

    Returns:
        The address after the last byte, -1 for a corrupt block, -2 when it grows beyond ``limit``.
    """
    start = target
    # Below these a short sequence, at most 14 literals and a match of 18, needs no further check.
    short_source, short_target = end - 18, min(limit - 32, room - 64)
    while True:
        if source >= end:
            return -1
        token = read_u8(source)
        source += 1
        count = token >> 4
        if count < 15 and source <= short_source and target <= short_target:
            copy(target, source, 16)  # one load and store for any count
            source += count
            target += count
            distance = read_u8(source) | read_u8(source + 1) << 8
            source += 2
            count = token & 15
            if count < 15 and 8 <= distance <= target - start:
                match = target - distance
                copy(target, match, 8)
                copy(target + 8, match + 8, 8)
                copy(target + 16, match + 16, 8)
                target += count + 4
                continue
        else:
            if count == 15:
                more = 255
                while more == 255:
                    if source >= end:
                        return -1
                    more = read_u8(source)
                    source += 1
                    count += more
            if count > end - source:
                return -1
            if count > limit - target:
                return -2
            if source + count + 32 <= end and target + count + 32 <= room:
                done = 0
                while done < count:
                    copy(target + done, source + done, 32)
                    done += 32
            else:
                copy(target, source, count)
            source += count
            target += count
            if source == end:
                return target
            if end - source < 2:
                return -1
            distance = read_u8(source) | read_u8(source + 1) << 8
            source += 2
            count = token & 15
        if count == 15:
            more = 255
            while more == 255:
                if source >= end:
                    return -1
                more = read_u8(source)
                source += 1
                count += more
        count += 4
        if distance == 0 or distance > target - start:
            return -1
        if count > limit - target:
            return -2
        _copy_match(target, distance, count, room)
        target += count


@kernel
def _copy_match(target: int, distance: int, count: int, room: int) -> None:
    """Repeat ``count`` bytes from ``distance`` before ``target``; the two may overlap."""
    done = 0
    if target + count + 16 > room:
        while done < count:
            write_u8(target + done, read_u8(target + done - distance))
            done += 1
        return
    # The smallest multiple of the distance that a copy of 16 bytes does not overlap.
    period = distance
    if distance < 16:
        period = distance * (15 // distance + 1)
        while done < min(period, count):
            write_u8(target + done, read_u8(target + done - distance))
            done += 1
    while done < count:
        copy(target + done, target + done - period, 16)
        done += 16
