"""gzip members into bytes, one after the other: ISA-L does it, called from compiled code.

Kafka: GzipCompression (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.foreign import call_inflate
from workbench.kernels.intrinsics import address_of, read_word, write_i32, write_i64

# Of ISA-L's `struct inflate_state` (igzip_lib.h): bytes, places of fields, values. The rest of it
# are the tables of the code.
STATE_SIZE: Final = 1 << 18
_NEXT_OUT: Final = 0
_AVAIL_OUT: Final = 8
_TOTAL_OUT: Final = 12
_NEXT_IN: Final = 16
_AVAIL_IN: Final = 32
_BLOCK_STATE: Final = 21160
_CRC_FLAG: Final = 21172
_GZIP: Final = 1  # a header is there, and the trailer's CRC is checked
_FINISHED: Final = 5
_OK: Final = 0
_WORD: Final = 0xFFFFFFFF
_SMALLEST: Final = 18  # bytes of a member: header and trailer
_MOST: Final = 2**31 - 1


@kernel
def decode_members(
    source: npt.NDArray[np.uint8],
    places: npt.NDArray[np.int64],
    first: int,
    target: npt.NDArray[np.uint8],
    used: int,
    limits: tuple[int, int, int],
    library: tuple[int, int, int],
    spans: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Decode what each place holds: one member that ends where it does.

    Args:
        source: uint8[n], C-contiguous; what the members lie in.
        places: int64[m, 2]; where each starts and ends in ``source``; a place that starts below 0
            ends it.
        first: place to start with.
        target: uint8[capacity], C-contiguous; filled from ``used`` on.
        used: position in ``target`` to fill from.
        limits: bytes that one place may expand to; position in ``target`` after which to stop;
            what other codecs need.
        library: addresses of `isal_inflate`, of a state of `STATE_SIZE` bytes that no other thread
            uses, and of `isal_inflate_reset`.
        spans: int64[m, 2]; filled for each place decoded: where it starts and ends in ``target``.

    Returns:
        (index, used): the first place that was not decoded, and the position after the others. It
        is beyond the position to stop after, does not fit, is corrupt or holds something more.
    """
    base, start = address_of(source), address_of(target)
    largest, enough, _ = limits
    inflate, state, reset = library
    for index in range(first, len(places)):
        at, end = places[index, 0], places[index, 1]
        if used >= enough or at < 0 or not _SMALLEST <= end - at <= _MOST:
            return index, used
        call_inflate(reset, state)
        write_i64(state + _NEXT_IN, base + at)
        write_i32(state + _AVAIL_IN, end - at)
        write_i64(state + _NEXT_OUT, start + used)
        write_i32(state + _AVAIL_OUT, min(len(target) - used, largest, _MOST))
        write_i32(state + _CRC_FLAG, _GZIP)
        result = call_inflate(inflate, state)
        is_finished = read_word(state + _BLOCK_STATE) & _WORD == _FINISHED
        if result != _OK or not is_finished or read_word(state + _AVAIL_IN) & _WORD != 0:
            return index, used
        spans[index, 0] = used
        used += read_word(state + _TOTAL_OUT) & _WORD
        spans[index, 1] = used
    return len(places), used
