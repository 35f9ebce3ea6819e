"""Compress and decompress the records of a batch, in the framing that Kafka gives each codec.

Compressors of different libraries write different bytes for the same data; only the framing must be
Kafka's. Decompressing is strict where Kafka is: what it refuses is an error here, what it leaves
unverified is not verified.

Kafka: org.apache.kafka.common.compress (4.2)
"""

import threading
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.kernels.codecs.inputs import DecompressionBounds
from workbench.layout import problems
from workbench.layout.attributes import codec_name
from workbench.layout.lz4_frame import WRITTEN_CHECKSUM
from workbench.record.codecs.libraries import compiled_decoder
from workbench.record.codecs.registry import CODECS
from workbench.record.limits import LARGEST_CONTENT, MOST_CONTENT
from workbench.record.reading.arena import Arena, DecompressionError, TooLargeError

__all__ = [
    "Arena",
    "DecompressionError",
    "TooLargeError",
    "compress",
    "decompress",
    "decompress_batch",
    "decompress_into",
    "decompress_run",
]

_AT_ONCE: Final = 64  # batches whose positions become Python integers at once


class Limits(NamedTuple):
    """What bounds a run of batches.

    Attributes:
        magic: the batches'.
        content: bytes that one batch may expand to.
        enough: bytes in the arena after which no further batch is begun.
    """

    magic: int
    content: int
    enough: int


class _Memory(threading.local):
    """The arena of each thread."""

    def __init__(self) -> None:
        self.arena = Arena(1 << 16)


_MEMORY: Final = _Memory()


def decompress_batch(
    codec: int, data: memoryview, magic: int, position: int, limit: int = MOST_CONTENT
) -> tuple[npt.NDArray[np.uint8], int, int]:
    """Return the decompressed records of one batch as (bytes, start, end).

    The bytes are this thread's arena, valid until its next call.

    Args:
        codec, data, magic: see `decompress_into`.
        position: the batch's position, named in the error.
        limit: the size in bytes that the batch can expand to.

    Raises:
        CorruptRecordError: the codec is unknown or cannot read the bytes, or they are too many.
    """
    arena = _MEMORY.arena
    arena.clear()
    try:
        start, end = decompress_into(codec, data, arena, magic, limit)
    except DecompressionError as error:
        words = problems.WORDS[problems.BAD_COMPRESSION]
        raise CorruptRecordError(None, position, f"{words}: {error}") from error
    return arena.data, start, end


def decompress_into(
    codec: int,
    data: memoryview,
    arena: Arena,
    magic: int,
    limit: int = LARGEST_CONTENT,
) -> tuple[int, int]:
    """Append the decompressed bytes of one batch to ``arena``.

    Args:
        codec: the codec's id in the attributes.
        data: uint8[n], C-contiguous: the records of a batch, or the value of a wrapper message.
        arena: the arena to append to; unchanged on an error.
        magic: the magic of the batch or wrapper. 0 skips the header checksum of lz4.
        limit: the size in bytes that the batch can expand to; no more are filled for it.

    Returns:
        Where the bytes start and end in ``arena.data``; the end is exclusive.

    Raises:
        DecompressionError: the codec is unknown, cannot read the bytes, or the limit is reached.
    """
    start = arena.used
    arena.start, arena.limit = start, start + limit
    used = CODECS.get(codec)
    if used is None:
        _refuse(codec)
    content = used.read_small(data) if used.read_small else None
    try:
        if content is not None:
            arena.append(content)
        else:
            used.decompress(data, arena, magic)
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
    limit: int = LARGEST_CONTENT,
    enough: int,
) -> tuple[int, list[tuple[int, DecompressionError]]]:
    """Append batches of one codec and magic to ``arena``, until it holds ``enough`` bytes.

    The same as `decompress_into` for each, with less to do in Python between them.

    Args:
        codec: the codec's id in the attributes.
        data: uint8[n], C-contiguous; the bytes with the compressed records.
        places: int64[m, 2]; start and end of each batch's compressed records in ``data``; a batch
            whose start is below 0 is skipped.
        arena: the arena to append to; take views of its ``data`` only afterwards.
        spans: int64[m, 2], C-contiguous; filled for each batch taken: start and end of its bytes in
            the arena; empty for a batch that failed, below 0 for one that was skipped.
        magic: the batches' magic.
        limit: the size in bytes that one batch can expand to.
        enough: the bytes in the arena after which no further batch is begun; the first always is.

    Returns:
        How many batches were taken, 1 or more unless there are none, and which of them failed.
    """
    failures: list[tuple[int, DecompressionError]] = []
    view, ends = memoryview(data), memoryview(spans.reshape(-1))
    index = 0
    while index < len(places) and (index == 0 or arena.used < enough):
        rest = places[index:], arena, spans[index:]
        index += decompress_usual(codec, data, *rest, Limits(magic, limit, enough))
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
                # Its traceback holds this frame, and so the arena, until garbage is collected.
                failures.append((index, error.with_traceback(None)))
            ends[2 * index + 1] = arena.used
        index += 1
    return index, failures


def decompress_usual(
    codec: int,
    data: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    arena: Arena,
    spans: npt.NDArray[np.int64],
    limits: Limits,
) -> int:
    """Append batches with Kafka's own framing, one after the other, up to the first other one.

    Args:
        codec, data, places: see `decompress_run`.
        arena: the arena to append to; it does not grow.
        spans: int64[m, 2]; filled for each batch that was read.
        limits: the bounds of the batches and the arena.

    Returns:
        How many were read. The next one, if any, is for `decompress_into`: it needs a larger arena,
        has another framing, or is corrupt.
    """
    library = compiled_decoder(codec)
    if library is None:
        read_small = CODECS[codec].read_small if codec in CODECS else None
        if read_small is None:
            return 0
        return _read_small_run(read_small, data, places, arena, spans, limits)
    checksum = -1 if limits.magic == 0 else WRITTEN_CHECKSUM
    bounds = DecompressionBounds(limits.content, limits.enough, checksum)
    count, arena.used = dispatch.unpack_bodies(
        codec, data, places, 0, arena.data, arena.used, bounds, library, spans
    )
    return int(count)


def _read_small_run(
    read_small: Callable[[memoryview], bytes | None],
    data: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    arena: Arena,
    spans: npt.NDArray[np.int64],
    limits: Limits,
) -> int:
    """Append usual batches, one call of a library each, with little else between them.

    Args:
        read_small: the codec's function for one usual batch.
        data, places, arena, spans, limits: see `decompress_usual`.

    Returns:
        How many were read; the next one may need a larger arena, or more than ``read_small`` knows.
    """
    _, limit, enough = limits
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
    codec: int, data: bytes | bytearray | memoryview, magic: int, limit: int = LARGEST_CONTENT
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
        codec: the codec's id in the attributes.
        data: the records, or the inner messages.
        magic: the batch's magic. 0 gives lz4 the wrong header checksum that it has there.
        level: Kafka's; None is the codec's default. Codecs without levels take no other.

    Raises:
        ValueError: the codec is unknown, is zstd in an old format, or has no such level.
    """
    level = _check_level(codec, level)
    used = CODECS[codec]
    if magic < used.lowest_magic:
        raise ValueError(f"{codec_name(codec)} is not allowed in magic {magic}")
    return used.compress(data, magic, level)


def _check_level(codec: int, level: int | None) -> int:
    if codec not in CODECS:
        raise ValueError(f"codec {codec_name(codec)} is not known")
    levels = CODECS[codec].levels
    if levels is None:
        if level is not None:
            raise ValueError(f"codec {codec_name(codec)} has no levels")
        return 0
    lowest, highest, default = levels
    if level is None or level == default:
        return default
    if not lowest <= level <= highest:
        raise ValueError(f"{codec_name(codec)} has levels {lowest} to {highest}, not {level}")
    return level


def _refuse(codec: int) -> NoReturn:
    raise DecompressionError(f"codec {codec_name(codec)} is not known")
