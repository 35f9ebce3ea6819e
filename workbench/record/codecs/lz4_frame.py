"""LZ4 as Kafka stores it: one frame of independent blocks, a subset of the LZ4 frame format 1.5.1.

    frame  ::=  04 22 4D 18  flags  block descriptor  [content size: 8 bytes]  header checksum
                block*  00 00 00 00  [content checksum: 4 bytes]
    block  ::=  size: uint32 little-endian, high bit: stored as it is  bytes  [checksum: 4 bytes]

The header checksum is the second byte of the XXH32 of the header from the flags on. In messages of
magic 0 it is that of the header from the magic on, a mistake that Kafka keeps writing there and
does not verify. The content checksum is not verified, and what follows the frame is not read, as in
Kafka.

Kafka: Lz4Compression, Lz4BlockInputStream, Lz4BlockOutputStream (4.2)
"""

import struct
from functools import lru_cache
from typing import Final, NamedTuple

import cramjam
import numpy as np

from workbench.kernels import dispatch
from workbench.kernels.codecs.inputs import BLOCK_TOO_LARGE, CUT_SHORT, NO_ROOM, OK
from workbench.kernels.dispatch import is_compiled
from workbench.layout.lz4_frame import (
    BLOCK_SIZE,
    MAGIC,
    STORED_BIT,
    WRITTEN_DESCRIPTOR,
    WRITTEN_FLAGS,
    WRITTEN_HEADER,
)
from workbench.record.codecs.libraries import lz4_decoder
from workbench.record.reading.arena import Arena, DecompressionError

END_MARK: Final = bytes(4)
FAST_LEVEL: Final = 9  # of Kafka's levels 1 to 17, this one selects the fast compressor

_VERSION: Final = 0xC0
_INDEPENDENT: Final = 0x20
_BLOCK_CHECKSUM: Final = 0x10
_CONTENT_SIZE: Final = 0x08
_CONTENT_CHECKSUM: Final = 0x04
_RESERVED_FLAGS: Final = 0x03
_BLOCK_SIZES: Final = {code: 1 << (8 + 2 * code) for code in (4, 5, 6, 7)}
_UINT32: Final = struct.Struct("<I")


class FrameHeader(NamedTuple):
    """The fields of a frame's header."""

    flags: int
    largest_block: int
    blocks_at: int  # position of the first block


# A header as Kafka writes it needs no further check.
_WRITTEN: Final = FrameHeader(WRITTEN_FLAGS, BLOCK_SIZE, 7)


def compress(data: bytes | memoryview, magic: int, level: int = FAST_LEVEL) -> bytes:
    """Return ``data`` as one frame; magic 0 gets the wrong header checksum that it needs."""
    if 0 < len(data) <= BLOCK_SIZE and magic > 0:  # as a batch mostly is
        packed = _compress_block(data, level)
        if len(packed) < len(data):
            return b"".join((WRITTEN_HEADER, _UINT32.pack(len(packed)), packed, END_MARK))
    descriptor = bytes((WRITTEN_FLAGS, WRITTEN_DESCRIPTOR))
    hashed = MAGIC + descriptor if magic == 0 else descriptor
    parts = [MAGIC, descriptor, bytes((header_checksum(hashed),))]
    view = memoryview(data)
    for at in range(0, len(view), BLOCK_SIZE):
        block = view[at : at + BLOCK_SIZE]
        packed = _compress_block(block, level)
        if len(packed) < len(block):
            parts += (_UINT32.pack(len(packed)), packed)
        else:
            parts += (_UINT32.pack(len(block) | STORED_BIT), block.tobytes())
    parts.append(END_MARK)
    return b"".join(parts)


def decompress(data: memoryview, arena: Arena, magic: int) -> None:
    """Append the content of the frame in ``data`` to ``arena``.

    Raises:
        DecompressionError: Kafka cannot read the header, a block is truncated, too large, corrupt
            or has an invalid checksum, or the limit is reached.
    """
    written_header = bytes(data[:7]) == WRITTEN_HEADER
    header = _WRITTEN if written_header else read_header(data, magic)
    if is_compiled() and not header.flags & _BLOCK_CHECKSUM:
        at = _decompress_blocks(data, arena, header)
    else:
        at = _decompress_rebuilt(data, arena, header)
    if header.flags & _CONTENT_CHECKSUM and len(data) - at < 4:
        raise DecompressionError("the lz4 frame is truncated in its content checksum")


def read_header(data: memoryview, magic: int) -> FrameHeader:
    """Read and check the header of a frame, as strictly as Kafka.

    Raises:
        DecompressionError: it is truncated, uses an option that Kafka rejects, or, unless ``magic``
            is 0, its checksum is invalid.
    """
    if len(data) < 7:
        raise DecompressionError(f"the lz4 frame has {len(data)} bytes (expected at least 7)")
    if data[:4] != MAGIC:
        raise DecompressionError(f"an lz4 frame begins with {MAGIC.hex()}, not {data[:4].hex()}")
    flags, descriptor = data[4], data[5]
    if flags & _RESERVED_FLAGS:
        raise DecompressionError(f"reserved bits of the lz4 flags {flags:#04x} are set")
    if not flags & _INDEPENDENT:
        raise DecompressionError("the lz4 blocks depend on each other, which Kafka does not read")
    if flags & _VERSION != 0x40:
        raise DecompressionError(f"the lz4 frame has version {flags >> 6}, 1 is known")
    largest_block = _BLOCK_SIZES.get(descriptor >> 4)
    if largest_block is None or descriptor & 0x0F:
        raise DecompressionError(f"the lz4 block descriptor {descriptor:#04x} is not valid")
    checksum_at = 14 if flags & _CONTENT_SIZE else 6
    if len(data) <= checksum_at:
        raise DecompressionError("the lz4 frame is truncated in its header")
    if magic > 0:
        wanted = header_checksum(bytes(data[4:checksum_at]))
        if data[checksum_at] != wanted:
            raise DecompressionError(
                f"the checksum of the lz4 header is {data[checksum_at]:#04x}, "
                f"it should be {wanted:#04x}"
            )
    return FrameHeader(flags, largest_block, checksum_at + 1)


@lru_cache(maxsize=64)
def header_checksum(header: bytes) -> int:
    """Return the second byte of the XXH32 (seed 0) of fewer than 16 bytes."""
    assert len(header) < 16
    mask = 0xFFFFFFFF
    value = (374761393 + len(header)) & mask
    words = len(header) // 4 * 4
    for (word,) in _UINT32.iter_unpack(header[:words]):
        value = (value + word * 3266489917) & mask
        value = ((value << 17 | value >> 15) * 668265263) & mask
    for byte in header[words:]:
        value = (value + byte * 374761393) & mask
        value = ((value << 11 | value >> 21) * 2654435761) & mask
    value = ((value ^ value >> 15) * 2246822519) & mask
    value = ((value ^ value >> 13) * 3266489917) & mask
    return (value ^ value >> 16) >> 8 & 0xFF


def _compress_block(block: bytes | memoryview, level: int) -> bytes:
    if level == FAST_LEVEL:
        return bytes(cramjam.lz4.compress_block(block, store_size=False))
    return bytes(
        cramjam.lz4.compress_block(
            block, mode="high_compression", compression=level, store_size=False
        )
    )


def _decompress_blocks(data: memoryview, arena: Arena, header: FrameHeader) -> int:
    source = np.frombuffer(data, np.uint8)
    at = header.blocks_at
    room = max(header.largest_block, 4 * len(source))
    while True:
        arena.reserve(min(room, arena.limit - arena.used))
        code, at, arena.used = dispatch.decode_blocks(
            source,
            at,
            header.largest_block,
            arena.data,
            arena.used,
            min(arena.limit, len(arena.data)),
            lz4_decoder(),
        )
        if code == OK:
            return int(at)
        if code == CUT_SHORT:
            raise _cut_short(data, at)
        if code == BLOCK_TOO_LARGE:
            raise _block_too_large(at, header)
        if code != NO_ROOM:
            raise DecompressionError(f"the lz4 block at byte {at} of the frame is corrupt")
        if len(arena.data) >= arena.limit:
            raise arena.limit_error()
        room *= 2


def _decompress_rebuilt(data: memoryview, arena: Arena, header: FrameHeader) -> int:
    """Let the lz4 library read the frame, after a header without fields Kafka does not verify."""
    blocks = _measure_blocks(data, header)
    descriptor = bytes((header.flags & ~(_CONTENT_SIZE | _CONTENT_CHECKSUM), data[5]))
    checksum = bytes((header_checksum(descriptor),))
    frame = b"".join((MAGIC, descriptor, checksum, data[header.blocks_at : blocks.end]))
    spare = arena.limit - arena.used
    room = min(blocks.largest_content, spare)
    arena.reserve(room)
    try:
        filled = cramjam.lz4.decompress_into(frame, arena.view[arena.used : arena.used + room])
    except cramjam.DecompressionError as error:
        if blocks.largest_content > spare:
            raise arena.limit_error() from error
        raise DecompressionError(f"the lz4 frame is corrupt: {error}") from error
    arena.used += filled
    return blocks.end


class _Blocks(NamedTuple):
    end: int  # position after the end mark
    largest_content: int  # bytes that the blocks can hold at most


def _measure_blocks(data: memoryview, header: FrameHeader) -> _Blocks:
    at, content = header.blocks_at, 0
    checksum_size = 4 if header.flags & _BLOCK_CHECKSUM else 0
    while True:
        if len(data) - at < 4:
            raise _cut_short(data, at)
        (size,) = _UINT32.unpack_from(data, at)
        stored, size = size & STORED_BIT, size & ~STORED_BIT
        if size == 0:
            return _Blocks(at + 4, content)
        if size > header.largest_block:
            raise _block_too_large(at, header)
        if size + checksum_size > len(data) - at - 4:
            raise _cut_short(data, at)
        content += size if stored else min(header.largest_block, 255 * size)
        at += 4 + size + checksum_size


def _cut_short(data: memoryview, at: int) -> DecompressionError:
    return DecompressionError(
        f"the lz4 frame is truncated: the block at byte {at} of its {len(data)} is incomplete"
    )


def _block_too_large(at: int, header: FrameHeader) -> DecompressionError:
    return DecompressionError(
        f"the lz4 block at byte {at} of the frame is larger than {header.largest_block} bytes"
    )
