"""XXH3, 64 bits, without a seed: the hash of topics' metadata in the records of groups.

Kafka: Utils.computeTopicHash, computeGroupHash, by hash4j's Hashing.xxh3_64 (4.2)
"""

import struct
from typing import Final

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = (1 << 64) - 1
_PRIME_32: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME_64: Final = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)  # fmt: skip
_MX_1: Final = 0x165667919E3779F9
_MX_2: Final = 0x9FB21C651E98DF25
_STRIPE: Final = 64  # bytes
_STRIPES: Final = 16  # of a block: (192 - 64) / 8
_BLOCK: Final = _STRIPE * _STRIPES
_INITIAL: Final = (
    _PRIME_32[2], _PRIME_64[0], _PRIME_64[1], _PRIME_64[2], _PRIME_64[3], _PRIME_32[1],
    _PRIME_64[4], _PRIME_32[0],
)  # fmt: skip


def xxh3_64(data: bytes) -> int:
    """Return the hash, without a sign."""
    size = len(data)
    if size <= 16:
        return _short(data, size)
    if size <= 128:
        return _middle(data, size)
    return _up_to_240(data, size) if size <= 240 else _long(data, size)


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _folded(one: int, other: int) -> int:
    product = one * other
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _MX_1 & _MASK
    return value ^ value >> 32


def _xxh64_avalanche(value: int) -> int:
    value ^= value >> 33
    value = value * _PRIME_64[1] & _MASK
    value ^= value >> 29
    value = value * _PRIME_64[2] & _MASK
    return value ^ value >> 32


def _short(data: bytes, size: int) -> int:
    if size > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, size - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8), "little")
        return _avalanche((size + swapped + high + _folded(low, high)) & _MASK)
    if size >= 4:
        value = _u32(data, size - 4) | _u32(data, 0) << 32
        value ^= _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        value ^= (value << 49 | value >> 15) & _MASK ^ (value << 24 | value >> 40) & _MASK
        value = value * _MX_2 & _MASK
        value ^= (value >> 35) + size
        value = value * _MX_2 & _MASK
        return value ^ value >> 28
    if size:
        value = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _xxh64_avalanche(value ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _xxh64_avalanche(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _mixed(data: bytes, at: int, secret: int) -> int:
    return _folded(
        _u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8)
    )


def _middle(data: bytes, size: int) -> int:
    value = size * _PRIME_64[0]
    for step in range((size - 1) // 32, -1, -1):
        value += _mixed(data, 16 * step, 32 * step)
        value += _mixed(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(value & _MASK)


def _up_to_240(data: bytes, size: int) -> int:
    value = size * _PRIME_64[0]
    for step in range(8):
        value += _mixed(data, 16 * step, 16 * step)
    value = _avalanche(value & _MASK)
    for step in range(8, size // 16):
        value += _mixed(data, 16 * step, 16 * (step - 8) + 3)
    return _avalanche((value + _mixed(data, size - 16, 136 - 17)) & _MASK)


def _long(data: bytes, size: int) -> int:
    lanes = list(_INITIAL)
    for block in range((size - 1) // _BLOCK):
        for stripe in range(_STRIPES):
            _accumulate(lanes, data, block * _BLOCK + stripe * _STRIPE, 8 * stripe)
        for lane in range(8):
            value = lanes[lane]
            value ^= value >> 47 ^ _u64(_SECRET, len(_SECRET) - _STRIPE + 8 * lane)
            lanes[lane] = value * _PRIME_32[0] & _MASK
    start = (size - 1) // _BLOCK * _BLOCK
    for stripe in range((size - 1 - start) // _STRIPE):
        _accumulate(lanes, data, start + stripe * _STRIPE, 8 * stripe)
    _accumulate(lanes, data, size - _STRIPE, len(_SECRET) - _STRIPE - 7)
    value = size * _PRIME_64[0]
    for pair in range(4):
        value += _folded(
            lanes[2 * pair] ^ _u64(_SECRET, 11 + 16 * pair),
            lanes[2 * pair + 1] ^ _u64(_SECRET, 19 + 16 * pair),
        )
    return _avalanche(value & _MASK)


def _accumulate(lanes: list[int], data: bytes, at: int, secret: int) -> None:
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", _SECRET, secret)
    for lane in range(8):
        key = values[lane] ^ keys[lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + values[lane]) & _MASK
        lanes[lane] = (lanes[lane] + (key & 0xFFFFFFFF) * (key >> 32)) & _MASK
