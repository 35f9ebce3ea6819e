"""Zstandard frames into bytes, one after the other: libzstd does it, called from compiled code.

Kafka: ZstdCompression (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.foreign import call_zstd
from workbench.kernels.intrinsics import address_of


@kernel
def decode_zstd(
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    first: int,
    target: npt.NDArray[np.uint8],
    used: int,
    limits: tuple[int, int, int],
    library: tuple[int, int, int],
    spans: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Decode what each place holds, frames that end where it does.

    Args:
        source: uint8[n], C-contiguous; what the frames lie in.
        places: int64[m, 2]; where those of each batch start and end in ``source``; a place that
            starts below 0 ends it.
        first: place to start with.
        target: uint8[capacity], C-contiguous; filled from ``used`` on.
        used: position in ``target`` to fill from.
        limits: bytes that one place may expand to; position in ``target`` after which to stop;
            what other codecs need.
        library: addresses of `ZSTD_decompressDCtx` and of a context that no other thread uses;
            what other codecs need.
        spans: int64[m, 2]; filled for each place decoded: where it starts and ends in ``target``.

    Returns:
        (index, used): the first place that was not decoded, and the position after the others. It
        is beyond the position to stop after, does not fit or is corrupt.
    """
    base, start = address_of(source), address_of(target)
    largest, enough, _ = limits
    function, state, _ = library
    for index in range(first, len(places)):
        if used >= enough or places[index, 0] < 0:
            return index, used
        at, end = places[index, 0], places[index, 1]
        room = min(len(target) - used, largest)
        size = call_zstd(function, state, start + used, room, base + at, end - at)
        if size < 0:
            return index, used
        spans[index, 0] = used
        used += size
        spans[index, 1] = used
    return len(places), used
