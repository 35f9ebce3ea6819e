"""CRC-32C (magic 2, snapshots) and CRC-32 (magic 0 and 1) over memory, compiled.

CRC-32C uses the CPU's instruction on three streams at once and reads ahead, so that data that come
from memory are checked at the speed of memory. CRC-32 has no instruction: slicing-by-16.
CRCs that were computed side by side are joined by a second kind of table (Mark Adler's method): the
CRC of A then B is the CRC of A moved over len(B) zero bytes, xor the CRC of B.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import (
    address_of,
    crc32c_byte,
    crc32c_word,
    prefetch,
    read_u8,
    read_word,
)

_ALL_ONES: Final = 0xFFFFFFFF
_READ_AHEAD: Final = 6144  # bytes; less leaves the memory idle, more evicts lines still needed
_CRC32C_POLYNOMIAL: Final = 0x82F63B78  # Castagnoli, reflected
_CRC32_POLYNOMIAL: Final = 0xEDB88320  # zlib's, reflected
_LONG_RUN: Final = 2048  # bytes of one of three streams; long runs hide the instruction's latency
_SHORT_RUN: Final = 256


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


_CRC32_TABLE: Final = _slicing_table(_CRC32_POLYNOMIAL)
_CRC32C_LONG: Final = _zeros_table(_CRC32C_POLYNOMIAL, _LONG_RUN)
_CRC32C_SHORT: Final = _zeros_table(_CRC32C_POLYNOMIAL, _SHORT_RUN)


@kernel
def crc32_at(address: int, size: int) -> int:
    """Return the CRC-32 of ``size`` bytes at ``address``."""
    state = _ALL_ONES
    end = address + size
    while address + 16 <= end:
        low = read_word(address) ^ state
        high = read_word(address + 8)
        state = 0
        for k in range(8):
            state ^= _CRC32_TABLE[15 - k, (low >> (8 * k)) & 0xFF]
            state ^= _CRC32_TABLE[7 - k, (high >> (8 * k)) & 0xFF]
        address += 16
    while address < end:
        state = _CRC32_TABLE[0, (state ^ read_u8(address)) & 0xFF] ^ (state >> 8)
        address += 1
    return state ^ _ALL_ONES


@kernel
def _over_zeros(table: npt.NDArray[np.int64], crc: int) -> int:
    """Move a CRC over the run of zero bytes of ``table``."""
    return (  # type: ignore[no-any-return]
        table[0, crc & 0xFF]
        ^ table[1, (crc >> 8) & 0xFF]
        ^ table[2, (crc >> 16) & 0xFF]
        ^ table[3, (crc >> 24) & 0xFF]
    )


@kernel
def crc32c_at(address: int, size: int) -> int:
    """Return the CRC-32C of ``size`` bytes at ``address``."""
    state = _ALL_ONES
    end = address + size
    while address + 3 * _LONG_RUN <= end:
        second = 0
        third = 0
        run_end = address + _LONG_RUN
        while address < run_end:
            prefetch(address + _READ_AHEAD)
            prefetch(address + _READ_AHEAD + _LONG_RUN)
            prefetch(address + _READ_AHEAD + 2 * _LONG_RUN)
            for _ in range(8):  # one cache line of each stream
                state = crc32c_word(state, read_word(address))
                second = crc32c_word(second, read_word(address + _LONG_RUN))
                third = crc32c_word(third, read_word(address + 2 * _LONG_RUN))
                address += 8
        state = _over_zeros(_CRC32C_LONG, state) ^ second
        state = _over_zeros(_CRC32C_LONG, state) ^ third
        address += 2 * _LONG_RUN
    while address + 3 * _SHORT_RUN <= end:
        second = 0
        third = 0
        run_end = address + _SHORT_RUN
        while address < run_end:
            state = crc32c_word(state, read_word(address))
            second = crc32c_word(second, read_word(address + _SHORT_RUN))
            third = crc32c_word(third, read_word(address + 2 * _SHORT_RUN))
            address += 8
        state = _over_zeros(_CRC32C_SHORT, state) ^ second
        state = _over_zeros(_CRC32C_SHORT, state) ^ third
        address += 2 * _SHORT_RUN
    while address + 8 <= end:
        state = crc32c_word(state, read_word(address))
        address += 8
    while address < end:
        state = crc32c_byte(state, read_u8(address))
        address += 1
    return state ^ _ALL_ONES


@kernel
def crc32c(data: npt.NDArray[np.uint8]) -> int:
    """Return the CRC-32C of uint8[n], C-contiguous."""
    return crc32c_at(address_of(data), len(data))  # type: ignore[no-any-return]


@kernel
def crc32(data: npt.NDArray[np.uint8]) -> int:
    """Return the CRC-32 of uint8[n], C-contiguous."""
    return crc32_at(address_of(data), len(data))  # type: ignore[no-any-return]
