"""CRC-32C (magic 2, snapshots) and CRC-32 (magic 0 and 1) over memory, compiled.

CRC-32C uses the CPU's instruction on three streams at once and reads ahead, so that data that come
from memory are checked at the speed of memory. CRC-32 has no instruction: slicing-by-16.
"""

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
from workbench.kernels.tables import (
    CRC32_TABLE,
    CRC32C_LONG,
    CRC32C_SHORT,
    LONG_RUN,
    SHORT_RUN,
)

_ALL_ONES = 0xFFFFFFFF
_READ_AHEAD = 6144  # bytes; less leaves the memory idle, more evicts lines that are still needed


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
            state ^= CRC32_TABLE[15 - k, (low >> (8 * k)) & 0xFF]
            state ^= CRC32_TABLE[7 - k, (high >> (8 * k)) & 0xFF]
        address += 16
    while address < end:
        state = CRC32_TABLE[0, (state ^ read_u8(address)) & 0xFF] ^ (state >> 8)
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
    while address + 3 * LONG_RUN <= end:
        second = 0
        third = 0
        run_end = address + LONG_RUN
        while address < run_end:
            prefetch(address + _READ_AHEAD)
            prefetch(address + _READ_AHEAD + LONG_RUN)
            prefetch(address + _READ_AHEAD + 2 * LONG_RUN)
            for _ in range(8):  # one cache line of each stream
                state = crc32c_word(state, read_word(address))
                second = crc32c_word(second, read_word(address + LONG_RUN))
                third = crc32c_word(third, read_word(address + 2 * LONG_RUN))
                address += 8
        state = _over_zeros(CRC32C_LONG, state) ^ second
        state = _over_zeros(CRC32C_LONG, state) ^ third
        address += 2 * LONG_RUN
    while address + 3 * SHORT_RUN <= end:
        second = 0
        third = 0
        run_end = address + SHORT_RUN
        while address < run_end:
            state = crc32c_word(state, read_word(address))
            second = crc32c_word(second, read_word(address + SHORT_RUN))
            third = crc32c_word(third, read_word(address + 2 * SHORT_RUN))
            address += 8
        state = _over_zeros(CRC32C_SHORT, state) ^ second
        state = _over_zeros(CRC32C_SHORT, state) ^ third
        address += 2 * SHORT_RUN
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
