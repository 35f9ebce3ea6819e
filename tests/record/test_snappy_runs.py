import random
import struct

import cramjam
import numpy as np
import pytest

from workbench.kernels.dispatch import is_compiled
from workbench.layout.attributes import SNAPPY
from workbench.record.codecs import xerial_snappy
from workbench.record.codecs.compression import Limits, decompress_usual
from workbench.record.reading.arena import Arena, DecompressionError

pytestmark = pytest.mark.skipif(not is_compiled(), reason="the kernel runs where it is compiled")
GUARD = 0xEE
LIMIT = 1 << 16


def literal(data: bytes, extra: int = 0) -> bytes:
    """Encode a literal, its length in ``extra`` bytes of its own or, 0, in the tag."""
    if not extra:
        return bytes([len(data) - 1 << 2]) + data
    return bytes([59 + extra << 2]) + (len(data) - 1).to_bytes(extra, "little") + data


def copy(distance: int, length: int, kind: int) -> bytes:
    if kind == 1:
        return bytes([distance >> 8 << 5 | length - 4 << 2 | 1, distance & 0xFF])
    size = 2 if kind == 2 else 4
    return bytes([length - 1 << 2 | kind]) + distance.to_bytes(size, "little")


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def random_block(rng: random.Random) -> bytes:
    """Return a block of any elements, most of them sound, with its size or nearly so."""
    size, parts = 0, []
    for _ in range(rng.randrange(40)):
        kind = rng.randrange(4) if size else 0
        if kind == 0:
            length = rng.choice((1, 2, 3, 16, 17, 59, 60, 61, 64, 65, 255, 256, 700))
            smallest = (length > 60) + (length > 256)
            # The library refuses a length after the tag when fewer than 4 bytes follow.
            extra = rng.randrange(smallest, 5) if length > 3 else 0
            parts.append(literal(rng.randbytes(length), extra))
        else:
            length = rng.randrange(4, 12) if kind == 1 else rng.randrange(1, 65)
            distance = rng.choice((1, 2, 7, length - 1, length, 15, 16, 33, size, size + 1))
            if distance <= 0 or rng.random() < 0.9:
                distance = min(max(distance, 1), size)
            parts.append(copy(min(distance, 2047 if kind == 1 else 65535), length, kind))
        size += length
    return varint(size + rng.choice((0, 0, 0, 0, 0, 0, 1, -1) if size else (0,))) + b"".join(parts)


def stream(blocks: list[bytes]) -> bytes:
    framed = [struct.pack(">i", len(block)) + block for block in blocks]
    return b"".join([xerial_snappy.HEADER, *framed])


def by_library(data: bytes) -> bytes | None:
    arena = Arena(1)
    arena.limit = LIMIT
    try:
        xerial_snappy.decompress(memoryview(data), arena)
    except DecompressionError:
        return None
    return arena.view[: arena.used].tobytes()


def by_kernel(data: bytes, behind: int = 0, room: int = LIMIT) -> bytes | None:
    """Read one stream with ``behind`` other bytes after it; None when the kernel leaves it."""
    source = np.frombuffer(b"before" + data + bytes(range(1, behind + 1)), np.uint8)
    places = np.array([[6, 6 + len(data)]])
    arena, spans = Arena(room + 99), np.zeros((1, 2), np.int64)
    arena.data[:] = GUARD
    whole, arena.data = arena.data, arena.data[: 7 + room]
    arena.used = 7
    count = decompress_usual(SNAPPY, source, places, arena, spans, Limits(2, LIMIT, 1 << 30))
    assert (whole[:7] == GUARD).all()
    assert (whole[7 + room :] == GUARD).all()
    if not count:
        assert arena.used == 7
        return None
    assert spans.tolist() == [[7, arena.used]]
    return arena.data[7 : arena.used].tobytes()


def test_random_elements_read_as_the_library_reads_them() -> None:
    rng = random.Random(1)
    sound = 0
    for _ in range(4000):
        data = stream([random_block(rng) for _ in range(rng.randrange(3))])
        wanted = by_library(data)
        sound += wanted is not None
        for behind in (0, 100):
            assert by_kernel(data, behind) == wanted
        if wanted is not None:
            for room in (len(wanted), len(wanted) + 63):
                assert by_kernel(data, 100, room) == wanted
            if wanted:
                assert by_kernel(data, 100, len(wanted) - 1) is None
    assert 1000 < sound < 4000


def test_changed_and_cut_streams_read_as_the_library_reads_them() -> None:
    rng = random.Random(2)
    for _ in range(4000):
        text = b"".join(b"%d:%d " % (n, rng.randrange(9)) for n in range(rng.randrange(200)))
        data = bytearray(stream([bytes(cramjam.snappy.compress_raw(text))]))
        for _ in range(rng.randrange(3)):
            data[rng.randrange(16, len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del data[rng.randrange(16, len(data)) :]
        wanted = by_library(bytes(data))
        for behind in (0, 100):
            assert by_kernel(bytes(data), behind) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x05\x10hello",
        xerial_snappy.HEADER[:-1],
        xerial_snappy.MAGIC + struct.pack(">ii", 2, 1),
        stream([b"\x05\x10hello"]) * 2,
    ],
    ids=["nothing", "no framing", "cut in its header", "version 2", "two streams"],
)
def test_what_is_not_the_usual_stream_is_left_to_the_library(data: bytes) -> None:
    assert by_kernel(data, 100) is None
