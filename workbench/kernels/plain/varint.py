"""Varints one at a time in plain Python, and wrapping int64: shared by the other twins."""

from workbench.layout import problems


class BadRecordError(ValueError):
    """A record cannot be decoded: carries the code and the byte position."""

    def __init__(self, code: int, position: int) -> None:
        super().__init__(problems.WORDS[code])
        self.code = code
        self.position = position


def decode_varint(data: bytes, at: int, end: int, bits: int) -> tuple[int, int]:
    """Decode a zigzag varint of up to ``bits`` bits; raise if it is incomplete or too long."""
    raw, shift, start = 0, 0, at
    while at < end and shift < bits:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= (1 << bits) - 1
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
    raise BadRecordError(problems.BAD_VARINT, start)


def encode_varint(value: int) -> bytes:
    """Return a 64-bit number as Kafka writes it: zigzag, seven bits per byte, low bits first."""
    raw = (value << 1 ^ value >> 63) % 2**64
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


def wrap64(value: int) -> int:
    """Return ``value`` wrapped to int64."""
    return (value + 2**63) % 2**64 - 2**63
