"""Zstandard frames as Kafka stores them: written by a stream, so without content size or checksum.

The library does the decoding. This module walks the frame and block headers first, because that
shows what a decompressor's result does not: whether the last frame is complete, and how many bytes
the blocks can hold at most, which bounds the memory reserved for them.

Kafka: ZstdCompression (4.2), com.github.luben.zstd.ZstdInputStreamNoFinalizer
"""

import importlib
import importlib.util
import struct
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import cramjam

from workbench.record.reading.arena import Arena, DecompressionError

DEFAULT_LEVEL: Final = 3

# cramjam reads the same where zstandard has no wheel, at two thirds of the speed.
_HAS_ZSTANDARD: Final = importlib.util.find_spec("zstandard") is not None
_MAGIC: Final = bytes.fromhex("28b52ffd")
_PLAIN_START: Final = int.from_bytes(_MAGIC, "little")  # then a descriptor of 0: nothing optional
# Magic, descriptor 0, the window, and the header of the first block.
_PLAIN_HEADER: Final = struct.Struct("<IBxHB")
_EMPTY_LAST_BLOCK: Final = b"\1\0\0"
_SKIPPABLE: Final = bytes.fromhex("2a4d18")  # after a byte 50 to 5f
_LARGEST_BLOCK: Final = 128 * 1024
_DICTIONARY_ID_SIZES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_SIZES: Final = (0, 2, 4, 8)
_RAW: Final = 0
_REPEATED: Final = 1
_COMPRESSED: Final = 2
_FIRST_ROOM: Final = 1 << 20
_THREAD: Final = threading.local()


def compress(data: bytes | memoryview, level: int = DEFAULT_LEVEL) -> bytes:
    """Return ``data`` as one frame without a content size, like the stream that Kafka writes."""
    if not _HAS_ZSTANDARD:
        return bytes(cramjam.zstd.compress(data, level))
    return bytes(_compressor(level).compress(data))


def _compressor(level: int) -> Any:
    """Return this thread's compressor of a level: making one costs more than a batch of 16 KB."""
    made: dict[int, Any] = _THREAD.__dict__.setdefault("compressors", {})
    if level not in made:
        made[level] = _zstandard().ZstdCompressor(compression_params=parameters(level))
    return made[level]


def parameters(level: int) -> Any:
    """Return the parameters of a level as Kafka uses it: for a stream of unknown length.

    For small input of known length the library would search for shorter matches: it takes longer,
    and JSON does not become smaller. Tables are still no larger than the input needs.
    """
    return _zstandard().ZstdCompressionParameters.from_level(level, write_content_size=False)


def decompress(data: memoryview, arena: Arena) -> None:
    """Append the content of the frames in ``data`` to ``arena``.

    Raises:
        DecompressionError: a frame is truncated or corrupt, or the limit is reached.
    """
    largest = measure(data)
    if _HAS_ZSTANDARD:
        _decompress_by_reader(data, arena, largest)
    else:
        _decompress_by_cramjam(data, arena, largest)


def read_small(data: memoryview) -> bytes | None:
    """Return the content of one frame of one compressed block, as Kafka writes it.

    Returns:
        None if the bytes are anything else, or corrupt: `decompress` reports which.
    """
    if len(data) < _PLAIN_HEADER.size or not _HAS_ZSTANDARD:
        return None
    magic, descriptor, low, high = _PLAIN_HEADER.unpack_from(data)
    # Of the block's header: bits for last, type 2, the size.
    behind = len(data) - _PLAIN_HEADER.size - (low >> 3 | high << 13)
    if low & 7 == 4 and behind == 3:  # zstd-jni ends a stream with an empty block
        is_whole = bytes(data[-3:]) == _EMPTY_LAST_BLOCK
    else:
        is_whole = low & 7 == 5 and behind == 0
    if not is_whole or descriptor or magic != _PLAIN_START:
        return None
    try:
        content: bytes = _decompressor().decompress(data, _LARGEST_BLOCK)
    except _zstandard().ZstdError:
        return None
    return content


def measure(data: memoryview) -> int:
    """Walk the frame and block headers in ``data``; return the most bytes that they can hold.

    Raises:
        DecompressionError: a frame or block header is not valid, or the last frame is truncated.
    """
    size = len(data)
    at, largest = 0, 0
    while at < size:
        if bytes(data[at : at + 4]) == _MAGIC:
            at, content = _walk_frame(data, at + 4)
            largest += content
        elif bytes(data[at + 1 : at + 4]) == _SKIPPABLE and data[at] & 0xF0 == 0x50:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        else:
            raise DecompressionError(
                f"a zstd frame begins with {_MAGIC.hex()}, not {data[at : at + 4].hex()}"
            )
    if at > size:
        raise _cut_short(data)
    return largest


def _walk_frame(data: memoryview, at: int) -> tuple[int, int]:
    """Return the position after the frame described at ``at``, and its largest content."""
    size = len(data)
    if at >= size:
        raise _cut_short(data)
    descriptor = data[at]
    if descriptor == 0:  # a window and nothing optional: what Kafka writes
        at += 2
    else:
        has_window = not descriptor & 0x20
        at += 1 + has_window + _DICTIONARY_ID_SIZES[descriptor & 3]
        at += _CONTENT_SIZE_SIZES[descriptor >> 6] or (not has_window)
    content = 0
    last = 0
    while not last:
        if at + 3 > size:
            raise _cut_short(data)
        header = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        last, kind, block_size = header & 1, header >> 1 & 3, header >> 3
        at += 3
        if kind == _COMPRESSED:
            at += block_size
            content += _LARGEST_BLOCK
        elif kind == _RAW:
            at += block_size
            content += block_size
        elif kind == _REPEATED:
            at += 1
            content += block_size
        else:
            raise DecompressionError("a zstd block has the reserved type 3")
    return at + (4 if descriptor & 4 else 0), content


def _cut_short(data: memoryview) -> DecompressionError:
    return DecompressionError(f"the zstd frame is truncated: its {len(data)} bytes have no end")


@cache
def _zstandard() -> Any:
    return importlib.import_module("zstandard")


def pieces(data: memoryview, size: int) -> Iterator[bytes]:
    """Yield the content of the frames in ``data``, some bytes at a time.

    Raises:
        DecompressionError: a frame is truncated or corrupt.
    """
    measure(data)
    if not _HAS_ZSTANDARD:
        raise DecompressionError("the zstd library of this machine reads no stream")
    stream = _zstandard().ZstdDecompressor().stream_reader(data, read_across_frames=True)
    while True:
        try:
            piece = stream.read(size)
        except _zstandard().ZstdError as error:
            raise DecompressionError(f"the zstd frame is corrupt: {error}") from error
        if not piece:
            return
        yield piece


def _decompressor() -> Any:
    """Return this thread's decompressor: threads must not share one, and making it costs time."""
    try:
        return _THREAD.decompressor
    except AttributeError:
        _THREAD.decompressor = _zstandard().ZstdDecompressor()
        return _THREAD.decompressor


def _decompress_by_reader(data: memoryview, arena: Arena, largest: int) -> None:
    # A decompressor keeps a window as large as the largest that it met: that is not for the thread.
    made = _decompressor() if largest <= _FIRST_ROOM else _zstandard().ZstdDecompressor()
    reader = made.stream_reader(data, read_across_frames=True)
    end = arena.used + largest
    # One byte more than there can be, so that the reader always reaches the end of the last frame.
    room = min(largest, max(_FIRST_ROOM, 32 * len(data))) + 1
    while True:
        arena.reserve(min(room, arena.limit + 1 - arena.used))
        target = arena.view[arena.used : min(arena.used + room, arena.limit + 1)]
        try:
            filled = reader.readinto(target)
        except _zstandard().ZstdError as error:
            raise DecompressionError(f"the zstd frame is corrupt: {error}") from error
        if arena.used + filled > arena.limit:
            raise arena.limit_error()
        arena.used += filled
        if filled < len(target):
            return
        room = min(2 * room, end + 1 - arena.used)


def _decompress_by_cramjam(data: memoryview, arena: Arena, largest: int) -> None:
    if not len(data):
        return
    spare = arena.limit - arena.used
    room = min(largest, spare)
    arena.reserve(room)
    try:
        filled = cramjam.zstd.decompress_into(data, arena.view[arena.used : arena.used + room])
    except cramjam.DecompressionError as error:
        if largest > spare:
            raise arena.limit_error() from error
        raise DecompressionError(f"the zstd frame is corrupt: {error}") from error
    arena.used += filled
