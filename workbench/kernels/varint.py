"""Zigzag varints at an address, compiled; one at a time they are in `record.varint`.

Kafka: ByteUtils.readVarint, readVarlong (4.2)
"""

import numpy as np

from workbench.kernels._jit import kernel, part_of_kernels
from workbench.kernels.intrinsics import read_u8


@part_of_kernels
def read_varint(at: int, end: int) -> tuple[int, int]:
    """Return (value, address behind it) of a zigzag varint; address 0 when cut short or too long.

    As the JVM's, the value wraps to 32 bits: bits of the fifth byte beyond them are dropped.
    """
    if end - at >= 2:  # nearly every varint of a record has one byte or two
        raw = read_u8(at)
        if raw < 0x80:
            return (raw >> 1) ^ -(raw & 1), at + 1
        byte = read_u8(at + 1)
        if byte < 0x80:
            raw = raw & 0x7F | byte << 7
            return (raw >> 1) ^ -(raw & 1), at + 2
    return _read_any_varint(at, end)  # type: ignore[no-any-return]


@kernel
def _read_any_varint(at: int, end: int) -> tuple[int, int]:
    raw = 0
    shift = 0
    while at < end and shift <= 28:
        byte = read_u8(at)
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
    return 0, 0


@part_of_kernels
def read_varlong(at: int, end: int) -> tuple[int, int]:
    """Return (value, address behind it) of a zigzag varlong, as `read_varint`; all 64 bits."""
    if end - at >= 2:
        low = read_u8(at)
        if low < 0x80:
            return (low >> 1) ^ -(low & 1), at + 1
        byte = read_u8(at + 1)
        if byte < 0x80:
            low = low & 0x7F | byte << 7
            return (low >> 1) ^ -(low & 1), at + 2
    return _read_any_varlong(at, end)  # type: ignore[no-any-return]


@kernel
def _read_any_varlong(at: int, end: int) -> tuple[int, int]:
    raw = np.uint64(0)
    shift = 0
    while at < end and shift <= 63:
        byte = read_u8(at)
        at += 1
        raw |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte < 0x80:
            half = np.int64(raw >> np.uint64(1))
            return half ^ -np.int64(raw & np.uint64(1)), at  # type: ignore[return-value]
        shift += 7
    return np.int64(0), 0  # type: ignore[return-value]
