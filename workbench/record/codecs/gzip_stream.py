"""gzip as Kafka stores it: usually one member; Java reads several and stops at anything else.

    member  ::=  1F 8B 08  flags  time: 4 bytes  extra flags  system  [optional fields]
                 deflate data  CRC-32: 4 bytes  size modulo 2**32: uint32 little-endian

Kafka: GzipCompression (4.2), java.util.zip.GZIPInputStream
"""

import importlib
import struct
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

from workbench.record.reading.arena import Arena, DecompressionError

_inflater: Any
try:
    _inflater = importlib.import_module("isal.isal_zlib")
except ImportError:  # no wheel for this machine: zlib reads the same, at half the speed
    _inflater = zlib

_WINDOW: Final = 31  # zlib's number for a gzip header and trailer around 32 KiB of window
_START: Final = bytes.fromhex("1f8b08")
_HEADER_CRC, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16  # flags of optional fields
_FRAME_SIZE: Final = 18  # header and trailer
_SIZE: Final = struct.Struct("<I")
_STEP: Final = 1 << 20  # bytes of content at a time
_SMALL_STEP: Final = 1 << 9  # bytes of input that a member is given first
_LARGE_STEP: Final = 1 << 18  # … and at most


def compress(data: bytes | memoryview, level: int) -> bytes:
    """Return ``data`` as one member."""
    stream = zlib.compressobj(level, zlib.DEFLATED, _WINDOW)
    return stream.compress(data) + stream.flush()


def read_small(data: memoryview) -> bytes | None:
    """Return the content of one member of at most 1 MiB.

    Returns:
        None if the bytes are anything else, or corrupt: `decompress` reports which.
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
    """Append the content of the members in ``data``; as in Java, later bytes are not read.

    Raises:
        DecompressionError: a member is truncated or corrupt, or the limit is reached.
    """
    for piece in _content(data, lambda: arena.limit + 1 - arena.used):
        arena.append(piece)


def pieces(data: memoryview, size: int) -> Iterator[bytes]:
    """Yield the content of the members in ``data``, some bytes at a time.

    Raises:
        DecompressionError: a member is truncated or corrupt.
    """
    return _content(data, lambda: size)


def _content(data: memoryview, most: Callable[[], int]) -> Iterator[bytes]:
    at = 0
    while True:
        at = yield from _member(data, at, most)
        if len(data) - at <= _FRAME_SIZE or not _has_header(data, at):
            return


def _has_header(data: memoryview, at: int) -> bool:
    """Return whether Java takes the bytes at ``at`` for the header of another member.

    Kafka: java.util.zip.GZIPInputStream.readHeader
    """
    start = at
    if data[at : at + 3] != _START:
        return False
    flags = data[at + 3]
    at += 10
    if flags & _EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            at = _after_zero(data, at)
    if flags & _HEADER_CRC:
        at += 2
        wanted = zlib.crc32(data[start : at - 2]) & 0xFFFF
        return at <= len(data) and int.from_bytes(data[at - 2 : at], "little") == wanted
    return at <= len(data)


def _after_zero(data: memoryview, at: int) -> int:
    """Return the position after the next zero; one after the end if there is none."""
    for start in range(at, len(data), _LARGE_STEP):
        found = bytes(data[start : start + _LARGE_STEP]).find(0)
        if found >= 0:
            return start + found + 1
    return len(data) + 1


def _member(data: memoryview, at: int, most: Callable[[], int]) -> Generator[bytes, None, int]:
    """Yield the content of the member that begins at ``at``, and return its end.

    The inflater copies unused input: so it gets little at a time, and in total no more than the
    member has.
    """
    stream = _inflater.decompressobj(_WINDOW)
    step = _SMALL_STEP
    while True:
        given: Any = data[at : at + step]
        if not len(given):
            raise DecompressionError("the gzip stream is truncated")
        at += len(given)
        is_full = True
        while is_full and not stream.eof:
            room = min(_STEP, most())
            try:
                part = stream.decompress(given, room)
            except _inflater.error as error:
                raise DecompressionError(f"the gzip stream is corrupt: {error}") from error
            yield part
            is_full = len(part) == room  # there may be more, even from used input
            given = stream.unconsumed_tail
        if stream.eof:
            return at - len(stream.unused_data)
        step = min(2 * step, _LARGE_STEP)
