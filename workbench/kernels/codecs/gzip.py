"""gzip members into bytes: compiled code calls ISA-L.

Kafka: GzipCompression (4.2)
"""

from typing import Final

from workbench.kernels._jit import kernel
from workbench.kernels.codecs.foreign import call_inflate
from workbench.kernels.codecs.inputs import Library
from workbench.kernels.intrinsics import read_word, write_i32, write_i64

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
_MOST: Final = 2**31 - 1


@kernel
def decode_member(source: int, end: int, target: int, limit: int, library: Library) -> int:
    """Decode one member that fills the bytes between two addresses, writing below ``limit``.

    Args:
        library: the addresses of `isal_inflate`, a state of `inputs.GZIP_STATE_SIZE` bytes, and
            `isal_inflate_reset`.

    Returns:
        The address after the last byte; -1: the member does not fit, is corrupt or is followed by
        other bytes.
    """
    inflate, state, reset = library.function, library.state, library.reset
    if not _SMALLEST <= end - source <= _MOST:
        return -1
    call_inflate(reset, state)
    write_i64(state + _NEXT_IN, source)
    write_i32(state + _AVAIL_IN, end - source)
    write_i64(state + _NEXT_OUT, target)
    write_i32(state + _AVAIL_OUT, min(limit - target, _MOST))
    write_i32(state + _CRC_FLAG, _GZIP)
    result = call_inflate(inflate, state)
    is_finished = read_word(state + _BLOCK_STATE) & _WORD == _FINISHED
    if result != _OK or not is_finished or read_word(state + _AVAIL_IN) & _WORD != 0:
        return -1
    return target + (read_word(state + _TOTAL_OUT) & _WORD)  # type: ignore[no-any-return]
