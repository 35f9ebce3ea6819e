"""Zigzag varints at an address, compiled; one at a time they are in `record.varint`.

Kafka: ByteUtils.readVarint, readVarlong (4.2)
"""

import numpy as np

from workbench.kernels._jit import inlined, kernel
from workbench.kernels.intrinsics import read_u8


@kernel
def _read_any_varint(at: int, end: int) -> tuple[int, int]:
    """Return what `read_varint` does, for any number of bytes."""
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


@kernel
def _read_any_varlong(at: int, end: int) -> tuple[int, int]:
    """Return what `read_varlong` does, for any number of bytes."""
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


@inlined
def read_short(at: int, end: int) -> tuple[int, int, bool]:
    """Read a zigzag number of one or two bytes, as nearly all numbers of a record are.

    Returns:
        (value, address after it, whether a builder writes it so); address 0: it is longer.
    """
    if at < end:
        first = read_u8(at)
        if first < 0x80:
            return (first >> 1) ^ -(first & 1), at + 1, True
        if at + 1 < end:
            second = read_u8(at + 1)
            if second < 0x80:
                raw = first & 0x7F | second << 7
                return (raw >> 1) ^ -(raw & 1), at + 2, second != 0
    return 0, 0, False


@inlined
def read_usual(at: int) -> tuple[int, int]:
    """Return (value, address after it) of a zigzag number of up to two bytes, as builders write it.

    The address is 0 for any other number. Two bytes must be readable.
    """
    first = read_u8(at)
    if first < 0x80:
        return (first >> 1) ^ -(first & 1), at + 1
    second = read_u8(at + 1)
    if 0 < second < 0x80:
        raw = first & 0x7F | second << 7
        return (raw >> 1) ^ -(raw & 1), at + 2
    return 0, 0


@inlined
def read_varint(at: int, end: int) -> tuple[int, int]:
    """Return (value, address after it) of a zigzag varint; address 0 if incomplete or too long.

    As the JVM's, the value wraps to 32 bits: bits of the fifth byte beyond them are dropped.
    """
    value, behind, _ = read_short(at, end)
    if behind != 0:
        return value, behind
    return _read_any_varint(at, end)  # type: ignore[no-any-return]


@inlined
def read_varlong(at: int, end: int) -> tuple[int, int]:
    """Return (value, address after it) of a zigzag varlong, as `read_varint`; all 64 bits."""
    value, behind, _ = read_short(at, end)
    if behind != 0:
        return value, behind
    return _read_any_varlong(at, end)  # type: ignore[no-any-return]
