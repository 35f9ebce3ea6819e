"""The hash by which Kafka's clients choose a partition, compiled."""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of, read_u8

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_WORD = 0xFFFFFFFF


@kernel
def murmur2_many(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], out: npt.NDArray[np.int64]
) -> None:
    """Hash byte strings, each to 0 to 2**32 - 1.

    Args:
        offsets: int64[n + 1], into ``data``.
        data: uint8[m].
        out: int64[n].

    Kafka: Utils.murmur2 (4.2), without a sign
    """
    base = address_of(data)
    for index in range(len(out)):
        size = offsets[index + 1] - offsets[index]
        address = base + offsets[index]
        state = _SEED ^ size
        end = address + (size & ~3)
        while address < end:
            word = (
                read_u8(address)
                | read_u8(address + 1) << 8
                | read_u8(address + 2) << 16
                | read_u8(address + 3) << 24
            )
            word = word * _FACTOR & _WORD
            word = (word ^ word >> 24) * _FACTOR & _WORD
            state = (state * _FACTOR & _WORD) ^ word
            address += 4
        left = size & 3
        if left:
            for k in range(left):
                state ^= read_u8(address + k) << 8 * k
            state = state * _FACTOR & _WORD
        state = (state ^ state >> 13) * _FACTOR & _WORD
        out[index] = state ^ state >> 15
