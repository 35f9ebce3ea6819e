"""Lookup tables of the two CRCs: slicing-by-16, and how a CRC moves over a run of zero bytes.

The second kind joins CRCs that were computed side by side (Mark Adler's method): the CRC of A then
B is the CRC of A moved over len(B) zero bytes, xor the CRC of B.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

CRC32C_POLYNOMIAL: Final = 0x82F63B78  # Castagnoli, reflected
CRC32_POLYNOMIAL: Final = 0xEDB88320  # zlib's, reflected
LONG_RUN: Final = 2048  # bytes of one of three streams; long runs hide the instruction's latency
SHORT_RUN: Final = 256


def _slicing_table(polynomial: int) -> npt.NDArray[np.int64]:
    """Return int64[16, 256]: the CRC of byte ``b`` followed by ``k`` zero bytes."""
    table = np.zeros((16, 256), np.int64)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (polynomial if crc & 1 else 0)
        table[0, byte] = crc
    for k in range(1, 16):
        table[k] = (table[k - 1] >> 8) ^ table[0][table[k - 1] & 0xFF]
    return table


def _apply(matrix: list[int], vector: int) -> int:
    """Multiply a 32x32 bit matrix (columns as integers) with a bit vector."""
    result = 0
    for column in matrix:
        if vector & 1:
            result ^= column
        vector >>= 1
    return result


def _zeros_table(polynomial: int, run: int) -> npt.NDArray[np.int64]:
    """Return int64[4, 256]: for each byte of a CRC, its share after ``run`` zero bytes."""
    power = [polynomial, *(1 << bit for bit in range(31))]  # one zero bit
    result = [1 << bit for bit in range(32)]
    bits = run * 8
    while bits:
        if bits & 1:
            result = [_apply(power, column) for column in result]
        power = [_apply(power, column) for column in power]
        bits >>= 1
    table = np.zeros((4, 256), np.int64)
    for byte in range(256):
        for k in range(4):
            table[k, byte] = _apply(result, byte << (8 * k))
    return table


CRC32_TABLE: Final = _slicing_table(CRC32_POLYNOMIAL)
CRC32C_LONG: Final = _zeros_table(CRC32C_POLYNOMIAL, LONG_RUN)
CRC32C_SHORT: Final = _zeros_table(CRC32C_POLYNOMIAL, SHORT_RUN)
