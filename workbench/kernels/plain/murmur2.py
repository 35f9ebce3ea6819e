"""`murmur2` in plain Python."""

from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_WORD: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Hash bytes.

    Kafka: Utils.murmur2 (4.2), without a sign
    """
    state = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _FACTOR & _WORD
        state = (state * _FACTOR & _WORD) ^ ((word ^ word >> 24) * _FACTOR & _WORD)
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _WORD
    state = (state ^ state >> 13) * _FACTOR & _WORD
    return state ^ state >> 15


def murmur2_many(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], out: npt.NDArray[np.int64]
) -> None:
    """Hash byte strings; see `murmur2.murmur2_many`."""
    whole = data.tobytes()
    for index, (start, end) in enumerate(pairwise(offsets.tolist())):
        out[index] = murmur2(whole[start:end])
