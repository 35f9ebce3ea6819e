"""gzip as Kafka stores it: a stream of one member, as a rule; Java reads several and stops at else.

    member  ::=  1F 8B 08  flags  time: 4 bytes  extra flags  system  [optional fields]
                 deflate data  CRC-32: 4 bytes  size modulo 2**32: uint32 little-endian

Kafka: GzipCompression (4.2), java.util.zip.GZIPInputStream
"""

import importlib
import struct
import zlib
from typing import Any, Final

from workbench.record.arena import Arena, DecompressionError

_inflater: Any
try:
    _inflater = importlib.import_module("isal.isal_zlib")
except ImportError:  # no wheel for this machine: zlib reads the same, at half the speed
    _inflater = zlib

_WINDOW: Final = 31  # zlib's number for a gzip header and trailer around 32 KiB of window
_START: Final = bytes.fromhex("1f8b08")
_FRAME_SIZE: Final = 18  # header and trailer
_SIZE: Final = struct.Struct("<I")
_LARGEST_RATIO: Final = 1032
_STEP: Final = 1 << 20
_SMALL_STEP: Final = 1 << 12


def compress(data: bytes | memoryview, level: int) -> bytes:
    """Return ``data`` as one member."""
    stream = zlib.compressobj(level, zlib.DEFLATED, _WINDOW)
    return stream.compress(data) + stream.flush()


def read_small(data: memoryview) -> bytes | None:
    """Return what one member of at most 1 MiB holds.

    Returns:
        None when the bytes are anything else, or corrupt: `decompress` tells.
    """
    if len(data) < _FRAME_SIZE:
        return None
    (size,) = _SIZE.unpack_from(data, len(data) - 4)
    if size > _STEP:
        return None
    stream = _inflater.decompressobj(_WINDOW)
    try:  # with room for one byte more, so that the end is seen in the same call
        content: bytes = stream.decompress(data, size + 1)
    except _inflater.error:
        return None
    return content if stream.eof and not stream.unused_data else None


def decompress(data: memoryview, arena: Arena) -> None:
    """Append what the members in ``data`` hold; as in Java, what follows the last one is not read.

    Raises:
        DecompressionError: a member is cut short or corrupt, or the limit is reached.
    """
    # The trailer ends with the size modulo 2**32: a hint only, as the bytes may not be a trailer.
    hint = int.from_bytes(data[-4:], "little")
    rest: Any = data
    while True:
        rest = _decompress_member(rest, arena, hint)
        if len(rest) <= _FRAME_SIZE or rest[:3] != _START:
            return


def _decompress_member(data: Any, arena: Arena, hint: int) -> bytes:
    """Append one member and return the bytes after it."""
    if hint > _STEP:
        # A few steps for large data: each copies the input that is still to be read.
        hint = max(_STEP, min(hint, _LARGEST_RATIO * len(data)) // 8)
    stream = _inflater.decompressobj(_WINDOW)
    while True:
        spare = arena.limit + 1 - arena.used
        step = hint if 0 < hint < spare else min(_SMALL_STEP, spare)  # 0 would mean no limit
        try:
            part = stream.decompress(data, step)
        except _inflater.error as error:
            raise DecompressionError(f"the gzip stream is corrupt: {error}") from error
        arena.append(part)
        if stream.eof:
            rest: bytes = stream.unused_data
            return rest
        data = stream.unconsumed_tail
        if len(part) < step:
            raise DecompressionError("the gzip stream is cut short")
        hint = max(hint, _SMALL_STEP)
