r"""Snappy as Kafka stores it: blocks of raw snappy in the framing of the snappy-java library.

    stream   ::=  "\x82SNAPPY\0"  version: int32  compatible version: int32  chunk*
    chunk    ::=  size: int32  raw snappy block of that size

A stream can follow another: its magic is then in the position of a size. Input that does not start
with the magic is one raw snappy block, as some non-Java producers write it. There is no
checksum.

Kafka: SnappyCompression (4.2), org.xerial.snappy.SnappyInputStream
"""

import struct
from typing import Final

import cramjam

from workbench.record.reading.arena import Arena, DecompressionError

MAGIC: Final = b"\x82SNAPPY\0"
HEADER: Final = MAGIC + struct.pack(">ii", 1, 1)
HEADER_SIZE: Final = len(HEADER)
BLOCK_SIZE: Final = 32 * 1024  # bytes of input in a chunk that Kafka writes

_INT32: Final = struct.Struct(">i")
_MAGIC_AS_SIZE: Final[int] = _INT32.unpack_from(MAGIC)[0]
_LARGEST_RATIO: Final = 22  # an element of 3 bytes copies at most 64


def compress(data: bytes | memoryview) -> bytes:
    """Return ``data`` as one stream with chunks of 32 KiB of input."""
    view = memoryview(data)
    parts = [HEADER]
    for at in range(0, len(view), BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(view[at : at + BLOCK_SIZE]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: memoryview, arena: Arena) -> None:
    """Append the content of ``data`` to ``arena``.

    Raises:
        DecompressionError: a chunk is truncated or is not snappy, a size is negative, the version
            is below 1, or the limit is reached.
    """
    size = len(data)
    if bytes(data[:HEADER_SIZE]) != HEADER and not _begins_stream(data, 0):
        _decompress_block(data, arena)
        return
    at = HEADER_SIZE
    while at + 4 <= size:
        (block_size,) = _INT32.unpack_from(data, at)
        at += 4
        if 0 <= block_size <= size - at:
            _decompress_block(data[at : at + block_size], arena)
            at += block_size
        elif block_size == _MAGIC_AS_SIZE:
            if size - at < HEADER_SIZE - 4:
                return
            if not _begins_stream(data, at - 4):
                raise DecompressionError("the second snappy stream does not begin with its magic")
            at += HEADER_SIZE - 4
        else:
            raise DecompressionError(
                f"a snappy chunk says it has {block_size} bytes, {size - at} are left"
            )


def _begins_stream(data: memoryview, at: int) -> bool:
    """Return whether a complete stream header is at ``at``; raise on an unknown version."""
    if len(data) - at < HEADER_SIZE or bytes(data[at : at + len(MAGIC)]) != MAGIC:
        return False
    (version,) = _INT32.unpack_from(data, at + len(MAGIC))
    if version < 1:
        raise DecompressionError(f"the snappy stream has version {version}, 1 or more is known")
    return True


def _decompress_block(block: memoryview, arena: Arena) -> None:
    # The size comes from the bytes: it is checked before it reserves anything.
    size = _declared_size(block)
    if size > _LARGEST_RATIO * len(block):
        raise DecompressionError(
            f"a snappy block of {len(block)} bytes says it holds {size} bytes, which cannot be"
        )
    start = arena.used
    end = start + size
    if end > arena.limit:
        raise arena.limit_error()
    if end > len(arena.data):
        arena.reserve(size)
    try:
        written = cramjam.snappy.decompress_raw_into(block, arena.view[start:end])
    except cramjam.DecompressionError as error:
        raise DecompressionError(f"a snappy block is corrupt: {error}") from error
    if written != size:
        raise DecompressionError(f"a snappy block gave {written} bytes, it says {size}")
    arena.used = end


def _declared_size(block: memoryview) -> int:
    """Return the varint of at most 5 bytes that a raw block begins with."""
    size = shift = 0
    for byte in block[:5]:
        if byte < 0x80:
            return size | byte << shift
        size |= (byte & 0x7F) << shift
        shift += 7
    raise DecompressionError("a snappy block does not begin with its size")
