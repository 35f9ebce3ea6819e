"""Variable-length integers, one at a time: 7 bits per byte, lowest first; high bit: more follow.

Signed integers are zigzagged first: 0, -1, 1, -2 are stored as 0, 1, 2, 3. Reading accepts more
bytes than needed, and drops bits beyond the type's width as Kafka does; a fifth byte (tenth of a
long one) with the high bit set is an error.

Kafka: org.apache.kafka.common.utils.ByteUtils (4.2)
"""

from typing import Final

from workbench.errors import CorruptRecordError

Bytes = bytes | bytearray | memoryview

_INT_MASK: Final = 0xFFFFFFFF
_LONG_MASK: Final = 0xFFFFFFFFFFFFFFFF


def decode_unsigned(data: Bytes, at: int) -> tuple[int, int]:
    """Return the unsigned varint at ``at``, 0 to 2**32 - 1, and the position after it.

    Raises:
        CorruptRecordError: it is truncated or longer than 5 bytes; the position is in ``data``.
    """
    if 0 <= at < len(data) and data[at] < 0x80:  # most take a byte
        return data[at], at + 1
    value, end = _decode(data, at, 5)
    return value & _INT_MASK, end


def decode(data: Bytes, at: int) -> tuple[int, int]:
    """Return the varint at ``at``, an int32, and the position after it.

    Raises:
        CorruptRecordError: it is truncated or longer than 5 bytes; the position is in ``data``.
    """
    value, end = decode_unsigned(data, at)
    return value >> 1 ^ -(value & 1), end


def decode_long(data: Bytes, at: int) -> tuple[int, int]:
    """Return the varlong at ``at``, an int64, and the position after it.

    Raises:
        CorruptRecordError: it is truncated or longer than 10 bytes; the position is in ``data``.
    """
    value, end = _decode(data, at, 10)
    value &= _LONG_MASK
    return value >> 1 ^ -(value & 1), end


def encode_unsigned(value: int) -> bytes:
    """Return the shortest unsigned varint of 0 to 2**32 - 1."""
    assert 0 <= value <= _INT_MASK
    if value < 0x80:  # most take a byte
        return bytes((value,))
    return _encode(value)


def encode(value: int) -> bytes:
    """Return the shortest varint of an int32."""
    assert -(1 << 31) <= value < 1 << 31
    return _encode((value << 1 ^ value >> 31) & _INT_MASK)


def encode_long(value: int) -> bytes:
    """Return the shortest varlong of an int64."""
    assert -(1 << 63) <= value < 1 << 63
    return _encode((value << 1 ^ value >> 63) & _LONG_MASK)


def size_of_unsigned(value: int) -> int:
    """Return how many bytes `encode_unsigned` needs."""
    return max(1, (value.bit_length() + 6) // 7)


def size_of(value: int) -> int:
    """Return how many bytes `encode` needs; also right for `encode_long`, as zigzag is the same."""
    return size_of_unsigned(value << 1 if value >= 0 else ~value << 1 | 1)


def _decode(data: Bytes, at: int, longest: int) -> tuple[int, int]:
    value = shift = 0
    for position in range(at, at + longest):
        if position >= len(data):
            raise CorruptRecordError(
                None, at, f"a varint is truncated after {len(data) - at} bytes"
            )
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise CorruptRecordError(None, at, f"a varint is longer than {longest} bytes")


def _encode(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
