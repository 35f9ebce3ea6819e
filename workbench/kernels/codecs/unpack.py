"""Compressed records of batches into bytes, compiled: any codec, one batch after the other.

Kafka: org.apache.kafka.common.compress (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.gzip import decode_member
from workbench.kernels.codecs.inputs import DecompressionBounds, Library
from workbench.kernels.codecs.lz4 import decode_frame
from workbench.kernels.codecs.snappy import decode_stream
from workbench.kernels.codecs.zstd import decode_zstd
from workbench.kernels.intrinsics import address_of
from workbench.layout.attributes import GZIP, LZ4, SNAPPY


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
