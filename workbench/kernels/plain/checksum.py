"""Twins of `kernels.checksum` in plain Python."""

import zlib

import crcmod.predefined
import numpy as np
import numpy.typing as npt

_crc32c = crcmod.predefined.mkCrcFun("crc-32c")
Bytes = npt.NDArray[np.uint8]


def crc32c(data: Bytes | bytes) -> int:
    """Return the CRC-32C of uint8[n]."""
    return int(_crc32c(memoryview(data)))


def crc32(data: Bytes | bytes) -> int:
    """Return the CRC-32 of uint8[n]."""
    return zlib.crc32(memoryview(data))
