"""Compressed records of batches into bytes, compiled: any codec, one batch after the other.

Kafka: org.apache.kafka.common.compress (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.gzip import decode_member
from workbench.kernels.intrinsics import address_of
from workbench.kernels.lz4 import decode_frame
from workbench.kernels.snappy import decode_stream
from workbench.kernels.zstd import decode_zstd
from workbench.layout.attributes import GZIP, LZ4, SNAPPY


@kernel
def unpack_bodies(
    codec: int,
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    first: int,
    target: npt.NDArray[np.uint8],
    used: int,
    limits: tuple[int, int, int],
    library: tuple[int, int, int],
    spans: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Decompress what each place holds, in the framing that Kafka writes.

    Args:
        codec: GZIP, SNAPPY, LZ4 or ZSTD.
        source: uint8[n], C-contiguous; what the compressed bytes lie in.
        places: int64[m, 2]; where those of each batch start and end in ``source``, within its
            length; one that starts below 0 ends it.
        first: place to start with.
        target: uint8[capacity], C-contiguous; filled from ``used`` on.
        used: position in ``target`` to fill from.
        limits: bytes that one place may expand to; position in ``target`` after which to stop; the
            header checksum that an lz4 frame must have, -1 for any.
        library: addresses of the codec's function, of what it keeps between calls and no other
            thread uses, and of a second function: see the kernels of the codecs.
        spans: int64[m, 2]; filled for each place read: where it starts and ends in ``target``.

    Returns:
        (index, used): the first place that was not read, and the position after the others. It is
        beyond the position to stop after, has another framing, does not fit or is corrupt.
    """
    base, start = address_of(source), address_of(target)
    largest, enough, checksum = limits
    for index in range(first, len(places)):
        if used >= enough or places[index, 0] < 0:
            return index, used
        at, end = base + places[index, 0], base + places[index, 1]
        into, limit = start + used, start + min(len(target), used + largest)
        if codec == LZ4:
            reached = decode_frame(at, end, into, limit, checksum, library[0])
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
