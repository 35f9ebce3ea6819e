"""Twin of `kernels.compaction.siphash` in plain Python."""

from typing import Final

_WORD: Final = 2**64
_SIP_START: Final = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) % _WORD


def _rounds(state: list[int], count: int) -> None:
    for _ in range(count):
        v0, v1, v2, v3 = state
        v0, v2 = (v0 + v1) % _WORD, (v2 + v3) % _WORD
        v1, v3 = _rotated(v1, 13) ^ v0, _rotated(v3, 16) ^ v2
        v0, v2 = (_rotated(v0, 32) + v3) % _WORD, (v2 + v1) % _WORD
        v1, v3 = _rotated(v1, 17) ^ v2, _rotated(v3, 21) ^ v0
        state[:] = v0, v1, _rotated(v2, 32), v3


def siphash(key: bytes, secret: tuple[int, int]) -> tuple[int, int]:
    """Return the two halves of the SipHash-2-4-128 of a key, unsigned."""
    words = [word % _WORD for word in secret]
    state = [start ^ words[index % 2] for index, start in enumerate(_SIP_START)]
    state[1] ^= 0xEE
    padded = key + bytes(7 - len(key) % 8) + bytes([len(key) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    halves = []
    for index, constant in ((2, 0xEE), (1, 0xDD)):
        state[index] ^= constant
        _rounds(state, 4)
        halves.append(state[0] ^ state[1] ^ state[2] ^ state[3])
    return halves[0], halves[1]
