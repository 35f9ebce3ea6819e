"""Compressed records of batches into bytes, compiled: any codec, one batch after the other.

gzip is ISA-L's code, Zstandard libzstd's; `lz4` and `snappy` are kernels of their own.

Kafka: org.apache.kafka.common.compress (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.foreign import call_inflate, call_zstd
from workbench.kernels.codecs.inputs import DecompressionBounds, Library
from workbench.kernels.codecs.lz4 import decode_frame
from workbench.kernels.codecs.snappy import decode_stream
from workbench.kernels.intrinsics import address_of, read_word, write_i32, write_i64
from workbench.layout.attributes import GZIP, LZ4, SNAPPY
from workbench.layout.integers import INT32_MAX

# ISA-L's `struct inflate_state` (igzip_lib.h): positions of fields, values. The rest is the code's
# tables.
_NEXT_OUT: Final = 0
_AVAIL_OUT: Final = 8
_TOTAL_OUT: Final = 12
_NEXT_IN: Final = 16
_AVAIL_IN: Final = 32
_BLOCK_STATE: Final = 21160
_CRC_FLAG: Final = 21172
_GZIP: Final = 1  # there is a header, and the trailer's CRC is checked
_FINISHED: Final = 5
_OK: Final = 0
_WORD: Final = 0xFFFFFFFF
_SMALLEST: Final = 18  # bytes of a member: header and trailer


@kernel
def decode_member(source: int, end: int, target: int, limit: int, library: Library) -> int:
    """Decode one gzip member that fills the bytes between two addresses, writing below ``limit``.

    Args:
        library: the addresses of `isal_inflate`, a state of `inputs.GZIP_STATE_SIZE` bytes, and
            `isal_inflate_reset`.

    Returns:
        The address after the last byte; -1: the member does not fit, is corrupt or is followed by
        other bytes.

    Kafka: GzipCompression (4.2)
    """
    inflate, state, reset = library.function, library.state, library.reset
    if not _SMALLEST <= end - source <= INT32_MAX:
        return -1
    call_inflate(reset, state)
    write_i64(state + _NEXT_IN, source)
    write_i32(state + _AVAIL_IN, end - source)
    write_i64(state + _NEXT_OUT, target)
    write_i32(state + _AVAIL_OUT, min(limit - target, INT32_MAX))
    write_i32(state + _CRC_FLAG, _GZIP)
    result = call_inflate(inflate, state)
    is_finished = read_word(state + _BLOCK_STATE) & _WORD == _FINISHED
    if result != _OK or not is_finished or read_word(state + _AVAIL_IN) & _WORD != 0:
        return -1
    return target + (read_word(state + _TOTAL_OUT) & _WORD)  # type: ignore[no-any-return]


@kernel
def decode_zstd(source: int, end: int, target: int, limit: int, library: Library) -> int:
    """Decode Zstandard frames that fill the bytes between two addresses, writing below ``limit``.

    Args:
        library: the addresses of `ZSTD_decompressDCtx` and of a context.

    Returns:
        The address after the last byte; -1: they do not fit, or are corrupt.

    Kafka: ZstdCompression (4.2)
    """
    function, context = library.function, library.state
    size = call_zstd(function, context, target, limit - target, source, end - source)
    return target + size if size >= 0 else -1


@kernel
def unpack_bodies(
    codec: int,
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    first: int,
    target: npt.NDArray[np.uint8],
    used: int,
    limits: DecompressionBounds,
    library: Library,
    spans: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Decompress the bytes of each place, in the framing that Kafka writes.

    Args:
        codec: GZIP, SNAPPY, LZ4 or ZSTD.
        source: uint8[n], C-contiguous; the bytes with the compressed records.
        places: int64[m, 2]; start and end of each batch's records in ``source``, within its
            length; a start below 0 ends the run.
        first: the first of the places to read.
        target: uint8[capacity], C-contiguous; filled from ``used``.
        used: the position in ``target`` to fill from.
        limits: the bounds; ``enough`` is a position in ``target``.
        library: the codec's library.
        spans: int64[m, 2]; filled for each batch read: its start and end in ``target``.

    Returns:
        (index, used): the first of the places not read, and the position after the others. It is
        beyond the position to stop after, has another framing, does not fit or is corrupt.
    """
    base, start = address_of(source), address_of(target)
    for index in range(first, len(places)):
        if used >= limits.enough or places[index, 0] < 0:
            return index, used
        at, end = base + places[index, 0], base + places[index, 1]
        into, limit = start + used, start + min(len(target), used + limits.content)
        if codec == LZ4:
            reached = decode_frame(at, end, into, limit, limits.checksum, library.function)
        elif codec == SNAPPY:
            reached = decode_stream(at, end, base + len(source), into, limit)
        elif codec == GZIP:
            reached = decode_member(at, end, into, limit, library)
        else:
            reached = decode_zstd(at, end, into, limit, library)
        if reached < 0:
            return index, used
        spans[index, 0] = used
        used = reached - start
        spans[index, 1] = used
    return len(places), used
