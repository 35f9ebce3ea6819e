"""Compress and decompress the records of a batch, in the framing that Kafka gives each codec.

Compressors of different libraries write different bytes for the same data; only the framing must be
Kafka's. Decompressing is strict where Kafka is: what it refuses is an error here, what it leaves
unverified is not verified.

Kafka: org.apache.kafka.common.compress (4.2)
"""

import importlib
import zlib
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from workbench.layout.attributes import GZIP, LZ4, NONE, SNAPPY, ZSTD, codec_name
from workbench.record import lz4_frame, xerial_snappy, zstd_frame
from workbench.record.arena import Arena, DecompressionError

_inflater: Any
try:
    _inflater = importlib.import_module("isal.isal_zlib")
except ImportError:  # no wheel for this machine: zlib reads the same, at half the speed
    _inflater = zlib

__all__ = [
    "Arena",
    "DecompressionError",
    "compress",
    "decompress",
    "decompress_into",
    "decompress_run",
]

DEFAULT_LIMIT: Final = (
    1 << 30
)  # bytes of one batch; brokers take batches of 1 MB unless told otherwise
LEVELS: Final = {
    GZIP: (1, 9, -1),
    LZ4: (1, 17, 9),
    ZSTD: (-131072, 22, 3),
}  # lowest, highest, default

_GZIP_WINDOW: Final = 31  # zlib's number for a gzip header and trailer around 32 KiB of window
_GZIP_START: Final = bytes.fromhex("1f8b08")
_GZIP_FRAME_SIZE: Final = 18  # header and trailer
_LARGEST_DEFLATE_RATIO: Final = 1032
_GZIP_STEP: Final = 1 << 20
_SMALL_STEP: Final = 1 << 12


def decompress_into(
    codec: int,
    data: memoryview,
    arena: Arena,
    magic: int,
    limit: int = DEFAULT_LIMIT,
) -> tuple[int, int]:
    """Append the decompressed bytes of one batch to ``arena``.

    Args:
        codec: its id in the attributes.
        data: uint8[n], C-contiguous: the records of a batch, or the value of a wrapper message.
        arena: on an error it holds what it held before.
        magic: of the batch or wrapper. 0 skips the header checksum of lz4.
        limit: bytes that the batch may expand to; not much more is ever allocated for it.

    Returns:
        Where the bytes start and end in ``arena.data``; the end is exclusive.

    Raises:
        DecompressionError: the codec is unknown, cannot read the bytes, or the limit is reached.
    """
    start = arena.used
    arena.limit = start + limit
    try:
        if codec == GZIP:
            _decompress_gzip(data, arena)
        elif codec == LZ4:
            lz4_frame.decompress(data, arena, magic)
        elif codec == SNAPPY:
            xerial_snappy.decompress(data, arena)
        elif codec == ZSTD:
            zstd_frame.decompress(data, arena)
        elif codec == NONE:
            arena.append(data)
        else:
            _refuse(codec)
    except DecompressionError:
        arena.used = start
        raise
    return start, arena.used


def decompress_run(
    codec: int,
    data: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    arena: Arena,
    spans: npt.NDArray[np.int64],
    *,
    magic: int,
    limit: int = DEFAULT_LIMIT,
    enough: int,
) -> tuple[int, list[tuple[int, DecompressionError]]]:
    """Append batches of one codec and magic to ``arena``, until it holds ``enough`` bytes.

    The same as `decompress_into` for each, with less to do in Python between them.

    Args:
        codec: their id in the attributes.
        data: uint8[n], C-contiguous; what the compressed records lie in.
        places: int64[m, 2]; where the compressed records of each batch start and end in ``data``.
        arena: not cleared; take views of its ``data`` only afterwards.
        spans: int64[m, 2]; filled for each batch taken: where its bytes start and end in the arena,
            with nothing between for one that failed.
        magic: of the batches.
        limit: bytes that one batch may expand to.
        enough: bytes in the arena after which no further batch is begun; the first always is.

    Returns:
        How many batches were taken, 1 or more unless there are none, and which of them failed.
    """
    failures: list[tuple[int, DecompressionError]] = []
    view = memoryview(data)
    index = 0
    while index < len(places) and (index == 0 or arena.used < enough):
        if codec == LZ4:
            index += lz4_frame.decompress_run(
                data, places[index:], arena, spans[index:], (magic, limit, enough)
            )
            if index == len(places) or (index and arena.used >= enough):
                break
        start, end = places[index].tolist()
        try:
            spans[index] = decompress_into(codec, view[start:end], arena, magic, limit)
        except DecompressionError as error:
            spans[index] = arena.used
            failures.append((index, error))
        index += 1
    return index, failures


def decompress(
    codec: int, data: bytes | bytearray | memoryview, magic: int, limit: int = DEFAULT_LIMIT
) -> bytes:
    """Return the decompressed bytes of one batch; `decompress_into` is the fast way for many.

    Raises:
        DecompressionError: the codec is unknown, cannot read the bytes, or the limit is reached.
    """
    arena = Arena(4 * len(data))
    start, end = decompress_into(codec, memoryview(data), arena, magic, limit)
    return bytes(arena.view[start:end])


def compress(codec: int, data: bytes | memoryview, magic: int, level: int | None = None) -> bytes:
    """Return ``data`` compressed as the records of a batch or the value of a wrapper message.

    Args:
        codec: its id in the attributes.
        data: the records, or the inner messages.
        magic: of the batch. 0 gives lz4 the wrong header checksum that it has there.
        level: Kafka's; None is the codec's default. Codecs without levels take no other.

    Raises:
        ValueError: the codec is unknown, is zstd in an old format, or has no such level.
    """
    level = _check_level(codec, level)
    if codec == NONE:
        return bytes(data)
    if codec == SNAPPY:
        return xerial_snappy.compress(data)
    if codec == LZ4:
        return lz4_frame.compress(data, magic, level)
    if codec == GZIP:
        stream = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW)
        return stream.compress(data) + stream.flush()
    if magic < 2:
        raise ValueError(f"zstd is not allowed in magic {magic}")
    return zstd_frame.compress(data, level)


def _check_level(codec: int, level: int | None) -> int:
    if codec in (NONE, SNAPPY):
        if level is not None:
            raise ValueError(f"codec {codec_name(codec)} has no levels")
        return 0
    if codec not in LEVELS:
        raise ValueError(f"codec {codec_name(codec)} is not known")
    lowest, highest, default = LEVELS[codec]
    if level is None or level == default:
        return default
    if not lowest <= level <= highest:
        raise ValueError(f"{codec_name(codec)} has levels {lowest} to {highest}, not {level}")
    return level


def _refuse(codec: int) -> NoReturn:
    raise DecompressionError(f"codec {codec_name(codec)} is not known")


def _decompress_gzip(data: memoryview, arena: Arena) -> None:
    """Append what the members in ``data`` hold; Java ignores what follows the last one."""
    # The trailer ends with the size modulo 2**32: a hint only, as the bytes may not be a trailer.
    hint = int.from_bytes(data[-4:], "little")
    rest: Any = data
    while True:
        rest = _decompress_member(rest, arena, hint)
        if len(rest) <= _GZIP_FRAME_SIZE or rest[:3] != _GZIP_START:
            return


def _decompress_member(data: Any, arena: Arena, hint: int) -> bytes:
    """Append one member and return the bytes after it."""
    if hint > _GZIP_STEP:
        # A few steps for large data: each copies the input that is still to be read.
        hint = max(_GZIP_STEP, min(hint, _LARGEST_DEFLATE_RATIO * len(data)) // 8)
    stream = _inflater.decompressobj(_GZIP_WINDOW)
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
