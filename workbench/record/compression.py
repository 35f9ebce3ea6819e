"""Compress and decompress the records of a batch, in the framing that Kafka gives each codec.

Compressors of different libraries write different bytes for the same data; only the framing must be
Kafka's. Decompressing is strict where Kafka is: what it refuses is an error here, what it leaves
unverified is not verified.

Kafka: org.apache.kafka.common.compress (4.2)
"""

from collections.abc import Callable
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from workbench.layout.attributes import GZIP, LZ4, NONE, SNAPPY, ZSTD, codec_name
from workbench.layout.lz4_frame import WRITTEN_CHECKSUM
from workbench.record import gzip_stream, lz4_frame, xerial_snappy, zstd_frame
from workbench.record.arena import Arena, DecompressionError
from workbench.record.buffers import read_only
from workbench.record.libraries import compiled_decoder

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

# What reads one usual batch in one call of a library, or gives None.
_READ_SMALL: Final[dict[int, Callable[[memoryview], bytes | None]]] = {
    GZIP: gzip_stream.read_small,
    ZSTD: zstd_frame.read_small,
}
_AT_ONCE: Final = 64  # batches whose places become Python integers at once


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
    read_small = _READ_SMALL.get(codec)
    content = read_small(data) if read_small else None
    try:
        if content is not None:
            arena.append(content)
        elif codec == GZIP:
            gzip_stream.decompress(data, arena)
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
        places: int64[m, 2]; where the compressed records of each batch start and end in ``data``;
            one that starts below 0 is passed over.
        arena: not cleared; take views of its ``data`` only afterwards.
        spans: int64[m, 2], C-contiguous; filled for each batch taken: where its bytes start and end
            in the arena, with nothing between for one that failed, below 0 for one passed over.
        magic: of the batches.
        limit: bytes that one batch may expand to.
        enough: bytes in the arena after which no further batch is begun; the first always is.

    Returns:
        How many batches were taken, 1 or more unless there are none, and which of them failed.
    """
    failures: list[tuple[int, DecompressionError]] = []
    view, ends = memoryview(data), memoryview(spans.reshape(-1))
    index = 0
    while index < len(places) and (index == 0 or arena.used < enough):
        rest = places[index:], arena, spans[index:]
        index += decompress_usual(codec, data, *rest, (magic, limit, enough))
        if index == len(places) or (index and arena.used >= enough):
            break
        start, end = places[index].tolist()
        if start < 0:
            ends[2 * index] = ends[2 * index + 1] = start
        else:
            ends[2 * index] = arena.used
            try:
                decompress_into(codec, view[start:end], arena, magic, limit)
            except DecompressionError as error:
                failures.append((index, error))
            ends[2 * index + 1] = arena.used
        index += 1
    return index, failures


def decompress_usual(
    codec: int,
    data: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    arena: Arena,
    spans: npt.NDArray[np.int64],
    limits: tuple[int, int, int],
) -> int:
    """Append batches as Kafka writes them, one after the other, until one that is not such.

    Args:
        codec, data, places: as of `decompress_run`.
        arena: not grown.
        spans: int64[m, 2]; filled for each batch that was read.
        limits: magic; bytes that one batch may expand to; bytes in the arena after which to stop.

    Returns:
        How many were read. The next one, if any, is for `decompress_into`: it needs a larger arena,
        has another framing, or is corrupt.
    """
    library = compiled_decoder(codec)
    if library is None:
        if codec not in _READ_SMALL:
            return 0
        return _read_small_run(codec, data, places, arena, spans, limits)
    from workbench.kernels.unpack import unpack_bodies

    magic, largest, enough = limits
    bounds = largest, enough, -1 if magic == 0 else WRITTEN_CHECKSUM
    count, arena.used = unpack_bodies(
        codec, read_only(data), places, 0, arena.data, arena.used, bounds, library, spans
    )
    return int(count)


def _read_small_run(
    codec: int,
    data: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    arena: Arena,
    spans: npt.NDArray[np.int64],
    limits: tuple[int, int, int],
) -> int:
    """Append usual batches, one call of a library each, with little else between them.

    Args:
        codec: one of `_READ_SMALL`.
        data, places, arena, spans, limits: as of `decompress_usual`.

    Returns:
        How many were read; the next one may need a larger arena, or more than `_READ_SMALL` knows.
    """
    _, limit, enough = limits
    read_small = _READ_SMALL[codec]
    view, target, ends = memoryview(data), arena.view, memoryview(spans.reshape(-1))
    used, room = arena.used, len(target)
    count = 0
    for start, end in places[:_AT_ONCE].tolist():
        if used >= enough:
            break
        content = read_small(view[start:end])
        if content is None or len(content) > min(limit, room - used):
            break
        ends[2 * count] = used
        behind = used + len(content)
        target[used:behind] = content
        used = behind
        del content  # its memory serves for the next one while it is still in the cache
        ends[2 * count + 1] = used
        count += 1
    arena.used = used
    return count


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
        return gzip_stream.compress(data, level)
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
