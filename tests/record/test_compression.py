import random
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import cramjam
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.kernels import dispatch
from workbench.kernels.dispatch import is_compiled
from workbench.layout.attributes import CODEC_NAMES, GZIP, LZ4, NONE, SNAPPY, ZSTD
from workbench.layout.lz4_frame import MAGIC
from workbench.record import varint
from workbench.record.codecs import compression, gzip_stream, lz4_frame, xerial_snappy, zstd_frame
from workbench.record.codecs.compression import (
    compress,
    decompress,
    decompress_into,
    decompress_run,
)
from workbench.record.codecs.libraries import lz4_decoder
from workbench.record.reading.arena import Arena, DecompressionError

CODECS = (NONE, GZIP, SNAPPY, LZ4, ZSTD)
PACKED = (GZIP, SNAPPY, LZ4, ZSTD)
SIZES = (0, 1, 2, 13, 100, 4096, 32767, 32768, 32769, 65536, 65537, 200_000)


def sample(size: int, kind: str = "text") -> bytes:
    rng = random.Random(size)
    if kind == "random":
        return rng.randbytes(size)
    if kind == "same":
        return b"a" * size
    if kind == "short periods":
        return b"".join(bytes([n % 251]) * (n % 23) for n in range(size))[:size]
    return b"".join(b"%d:%d " % (n, rng.randrange(n + 1)) for n in range(size // 3 + 1))[:size]


WRITTEN_HEADER = bytes.fromhex("04224d18604082")
KINDS = ("text", "random", "same", "short periods")


@contextmanager
def without_optional_libraries() -> Iterator[None]:
    """Read as where isal and zstandard are not installed, and nothing is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gzip_stream, "_inflater", zlib)
        patch.setattr(zstd_frame, "_HAS_ZSTANDARD", False)
        patch.setattr(compression, "compiled_decoder", lambda _codec: None)
        patch.setattr(lz4_frame, "is_compiled", lambda: False)
        yield


def outcome(codec: int, data: bytes, magic: int = 2, limit: int = 1 << 24) -> bytes | None:
    try:
        return decompress(codec, data, magic, limit)
    except DecompressionError:
        return None


class Unsure(bytes):
    """What a block with a distance of 0 may be read as: the format forbids it, the library not."""


def plain_lz4_block(block: bytes, largest: int) -> bytes | None:  # noqa: C901
    """Decode as the format's page says, one byte at a time; None when a rule is broken."""
    out, at, distance, kind = bytearray(), 0, 0, bytes
    try:
        while True:
            token = block[at]
            at += 1
            lengths = [token >> 4, token & 15]
            for half in (0, 1):
                if half and len(out) > largest:
                    return None
                if lengths[half] == 15:
                    more = 255
                    while more == 255:
                        more = block[at]
                        at += 1
                        lengths[half] += more
                if half == 0:
                    literals = block[at : at + lengths[0]]
                    if len(literals) < lengths[0]:
                        return None
                    out += literals
                    at += lengths[0]
                    if at == len(block):
                        return kind(out) if len(out) <= largest else None
                    distance = block[at] | block[at + 1] << 8
                    at += 2
            if distance > len(out):
                return None
            if distance == 0:
                out, kind = out + b"\0", Unsure
            for _ in range(min(lengths[1] + 4, largest + 1) - (distance == 0)):
                out.append(out[-max(distance, 1)])
    except IndexError:
        return None


def plain_lz4_frame(data: bytes, magic: int) -> bytes | None:
    try:
        header = lz4_frame.read_header(memoryview(data), magic)
    except DecompressionError:
        return None
    if header.flags & 0x10:
        return outcome(LZ4, data, magic)  # block checksums: held to the library in another test
    at, out = header.blocks_at, b""
    while True:
        if len(data) - at < 4:
            return None
        size = int.from_bytes(data[at : at + 4], "little")
        stored, size = size >> 31, size & 0x7FFFFFFF
        at += 4
        if size == 0:
            needs_checksum = header.flags & 0x04
            return None if needs_checksum and len(data) - at < 4 else out
        block = data[at : at + size]
        if len(block) < size or size > header.largest_block:
            return None
        content = block if stored else plain_lz4_block(block, header.largest_block)
        if content is None:
            return None
        out = (Unsure if Unsure in (type(out), type(content)) else bytes)(out + content)
        at += size


def assert_strict(found: bytes | None, wanted: bytes | None) -> None:
    """What is read is what the plain reader reads.

    The lz4 library lets a distance of 0 pass, as Kafka does, which calls it too. Where our kernel
    is not compiled, a block whose last literals are too few is refused; no compressor writes such.
    """
    if isinstance(wanted, Unsure):
        assert found is None or len(found) == len(wanted)
        return
    assert found == wanted or (not is_compiled() and None in (found, wanted))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_compressed_comes_back(codec: int, kind: str) -> None:
    """CO-6."""
    for size in SIZES:
        data = sample(size, kind)
        for magic in (2,) if codec == ZSTD else (0, 1, 2):
            packed = compress(codec, data, magic)
            assert decompress(codec, packed, magic) == data
            with without_optional_libraries():
                assert decompress(codec, packed, magic) == data
                if codec == ZSTD:
                    assert decompress(codec, compress(codec, data, magic), magic) == data


@given(data=st.binary(max_size=2000), repeat=st.integers(1, 40), codec=st.sampled_from(CODECS))
def test_any_bytes_come_back(data: bytes, repeat: int, codec: int) -> None:
    packed = compress(codec, data * repeat, 2)
    assert decompress(codec, packed, 2) == data * repeat
    with without_optional_libraries():
        assert decompress(codec, packed, 2) == data * repeat


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(GZIP, (-1, 1, 9)), (LZ4, (1, 3, 9, 10, 17)), (ZSTD, (-131072, -5, 1, 22))],
)
def test_every_level_of_kafka_comes_back(codec: int, levels: tuple[int, ...]) -> None:
    data = sample(100_000)
    for level in levels:
        assert decompress(codec, compress(codec, data, 2, level), 2) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (GZIP, 0), (GZIP, 10), (LZ4, 0), (LZ4, 18), (ZSTD, 23), (ZSTD, -131073), (SNAPPY, 1),
        (NONE, 1), (5, None), (-1, None),
    ],
)  # fmt: skip
def test_levels_and_codecs_that_kafka_refuses_are_refused(codec: int, level: int | None) -> None:
    """CO-1."""
    with pytest.raises(ValueError, match=r"level|known"):
        compress(codec, b"data", 2, level)


def test_zstd_is_not_written_in_old_formats() -> None:
    with pytest.raises(ValueError, match="magic 1"):
        compress(ZSTD, b"data", 1)


def test_an_unknown_codec_is_an_error_that_names_it() -> None:
    with pytest.raises(DecompressionError, match="unknown \\(5\\)"):
        decompress(5, b"data", 2)


@pytest.mark.parametrize("codec", PACKED)
def test_every_cut_is_an_error_or_what_a_reader_of_streams_accepts(codec: int) -> None:
    data = sample(3000)
    packed = compress(codec, data, 2)
    for size in range(len(packed)):
        cut = outcome(codec, packed[:size])
        with without_optional_libraries():
            assert outcome(codec, packed[:size]) == cut
        if codec == SNAPPY and size in (16, 17, 18, 19):
            assert cut == b""  # a header, and too few bytes for a chunk's size: the end for Java
        elif codec == ZSTD and size == 0:
            assert cut == b""  # no frame at all is an empty stream
        else:
            assert cut is None, size


@pytest.mark.parametrize("codec", PACKED)
def test_flipped_bits_give_an_error_or_what_the_plain_readers_give(codec: int) -> None:
    rng = random.Random(codec)
    for _ in range(3000):
        packed = bytearray(compress(codec, sample(rng.randrange(400), rng.choice(KINDS)), 2))
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
        fast = outcome(codec, bytes(packed))
        if codec == LZ4:
            assert_strict(fast, plain_lz4_frame(bytes(packed), 2))
        elif codec != GZIP or packed[3] & 0xE0 == 0:  # zlib refuses reserved flags, Java does not
            with without_optional_libraries():
                assert fast == outcome(codec, bytes(packed))


@examples(300)
@given(block=st.binary(min_size=1, max_size=60), capacity=st.integers(1, 3000))
def test_any_lz4_block_reads_as_the_plain_reader_reads_it(block: bytes, capacity: int) -> None:
    frame = WRITTEN_HEADER + struct.pack("<I", len(block)) + block + bytes(4)
    arena = Arena(capacity)
    wanted = plain_lz4_block(block, 65536)
    try:
        start, end = decompress_into(LZ4, memoryview(frame), arena, 2)
        assert_strict(bytes(arena.view[start:end]), wanted)
    except DecompressionError:
        assert_strict(None, wanted)


@pytest.mark.skipif(not is_compiled(), reason="the kernel runs only where it is compiled")
@pytest.mark.parametrize("has_library", [True, False])
def test_the_lz4_kernel_writes_nothing_at_or_after_its_limit(*, has_library: bool) -> None:
    library = lz4_decoder() if has_library else 0
    rng = random.Random(9)
    for _ in range(3000):
        data = sample(rng.randrange(300), rng.choice(KINDS))
        frame = bytearray(compress(LZ4, data, 2)[7:])
        if rng.random() < 0.5:
            frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
        room = max(0, len(data) + rng.randrange(-20, 40))
        target = np.full(600, 0xEE, np.uint8)
        source = np.frombuffer(bytes(frame), np.uint8)
        code, _, used = dispatch.decode_blocks(source, 0, 65536, target, 5, 5 + room, library)
        assert target[:5].tolist() == [0xEE] * 5
        assert (target[5 + room :] == 0xEE).all()
        assert 5 <= used <= 5 + room
        if room < len(data) and code == 0:
            assert bytes(target[5:used]) != data


@pytest.mark.parametrize("has_library", [True, False])
def test_random_lz4_sequences_read_as_the_plain_reader_reads_them(
    monkeypatch: pytest.MonkeyPatch, *, has_library: bool
) -> None:
    if not has_library:
        monkeypatch.setattr(lz4_frame, "lz4_decoder", lambda: 0)
    rng = random.Random(5)
    for _ in range(2000):
        out, block = 0, bytearray()
        for _ in range(rng.randrange(1, 12)):
            literals = rng.choice((0, 1, 3, 14, 15, 16, 40, 300)) if out else 17
            match = rng.choice((4, 5, 18, 19, 20, 33, 300, 800))
            out += literals
            distance = min(out, rng.choice((1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, out, out + 1)))
            block += encode_sequence(rng.randbytes(literals), distance, match)
            out += match
        block += encode_sequence(rng.randbytes(rng.choice((0, 1, 5, 20))), None, 4)
        frame = WRITTEN_HEADER + struct.pack("<I", len(block)) + block + bytes(4)
        assert_strict(outcome(LZ4, frame), plain_lz4_block(bytes(block), 65536))


def encode_sequence(literals: bytes, distance: int | None, match: int) -> bytes:
    def rest(length: int) -> bytes:
        return (
            b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])
        )

    token = min(len(literals), 15) << 4 | (min(match - 4, 15) if distance else 0)
    tail = distance.to_bytes(2, "little") + rest(match - 4) if distance else b""
    return bytes([token]) + rest(len(literals)) + literals + tail


@pytest.mark.parametrize("codec", PACKED)
def test_batches_stand_back_to_back_and_growing_keeps_them(codec: int) -> None:
    arena = Arena(10)
    batches = [sample(size, kind) for size in SIZES for kind in KINDS]
    places = [
        decompress_into(codec, memoryview(compress(codec, batch, 2)), arena, 2) for batch in batches
    ]
    assert [bytes(arena.view[start:end]) for start, end in places] == batches
    assert [start for start, _ in places] == [0, *(end for _, end in places[:-1])]
    assert arena.used == sum(map(len, batches))


def packed_run(packed: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Lay compressed batches out with other bytes between them, as in a segment."""
    places, window = [], bytearray()
    for data in packed:
        window += b"\x04\x22header"
        places.append((len(window), len(window) + len(data)))
        window += data
    return np.frombuffer(bytes(window), np.uint8), np.array(places, np.int64).reshape(-1, 2)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("capacity", [1, 70_000, 1 << 22])
def test_a_run_of_batches_reads_as_each_of_them_does(codec: int, capacity: int) -> None:
    batches = [sample(size, kind) for size in SIZES for kind in KINDS]
    packed = [compress(codec, batch, 2) for batch in batches]
    if codec == LZ4:  # a frame of another client among Kafka's
        packed[3] = lz4_of(0x68, 0x50, STORED + bytes(4), size=bytes(8))
        batches[3] = b"data"
    broken = 7
    packed[broken] = packed[broken][:-1] + b"?" if codec == NONE else b""
    data, places = packed_run(packed)
    for enough in (1, 100_000, 1 << 30):
        arena = Arena(capacity)
        spans = np.full((len(packed), 2), -1, np.int64)
        failed: list[int] = []
        done = 0
        while done < len(packed):
            count, failures = decompress_run(
                codec, data, places[done:], arena, spans[done:], magic=2, enough=enough
            )
            assert count >= 1
            assert arena.used >= enough or done + count == len(packed)
            failed += [done + index for index, _ in failures]
            for row in range(done, done + count):
                content = bytes(arena.data[slice(*spans[row])])
                if codec == NONE or row != broken:
                    assert content == (packed if codec == NONE else batches)[row]
                else:
                    assert content == b""
            done += count
            arena.clear()
        assert failed == ([broken] if codec in (GZIP, SNAPPY, LZ4) else [])


@pytest.mark.parametrize("codec", PACKED)
def test_a_run_keeps_to_the_limit_of_a_batch(codec: int) -> None:
    packed = [compress(codec, sample(size, "same"), 2) for size in (10, 100, 5000, 100, 70_000)]
    data, places = packed_run(packed)
    arena, spans = Arena(1 << 20), np.zeros((5, 2), np.int64)
    count, failures = decompress_run(
        codec, data, places, arena, spans, magic=2, limit=100, enough=1 << 30
    )
    assert count == 5
    assert [index for index, _ in failures] == [2, 4]
    assert np.diff(spans, axis=1)[:, 0].tolist() == [10, 100, 0, 100, 0]


def test_a_run_of_none_takes_none() -> None:
    nothing = np.zeros((0, 2), np.int64)
    data = np.zeros(0, np.uint8)
    assert decompress_run(LZ4, data, nothing, Arena(), nothing, magic=2, enough=1) == (0, [])


@pytest.mark.parametrize("magic", [0, 1])
def test_a_run_verifies_the_lz4_header_checksum_from_magic_1_on(magic: int) -> None:
    packed = [compress(LZ4, b"a", 0), compress(LZ4, b"b", 1)]
    data, places = packed_run(packed)
    spans = np.zeros((2, 2), np.int64)
    count, failures = decompress_run(LZ4, data, places, Arena(), spans, magic=magic, enough=9)
    assert count == 2
    assert [index for index, _ in failures] == ([] if magic == 0 else [0])


@pytest.mark.parametrize("codec", PACKED)
def test_an_arena_is_as_before_after_an_error(codec: int) -> None:
    arena = Arena()
    decompress_into(codec, memoryview(compress(codec, b"before", 2)), arena, 2)
    packed = bytearray(compress(codec, sample(100_000), 2))
    del packed[-20:]
    with pytest.raises(DecompressionError):
        decompress_into(codec, memoryview(packed), arena, 2)
    assert bytes(arena.view[: arena.used]) == b"before"


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("fallback", [False, True])
def test_the_limit_is_exact(codec: int, *, fallback: bool) -> None:
    for size in (1, 1000, 70_000, 300_000):
        data = sample(size, "same")
        packed = compress(codec, data, 2)
        with without_optional_libraries() if fallback else pytest.MonkeyPatch.context():
            assert outcome(codec, packed, limit=size) == data
            assert outcome(codec, packed, limit=size - 1) is None


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("fallback", [False, True])
def test_a_bomb_does_not_take_more_than_the_limit(codec: int, *, fallback: bool) -> None:
    packed = memoryview(compress(codec, bytes(64 << 20), 2))
    limit = 1 << 20
    with without_optional_libraries() if fallback else pytest.MonkeyPatch.context():
        arena = Arena(1000)
        tracemalloc.start()
        with pytest.raises(DecompressionError, match="limit"):
            decompress_into(codec, packed, arena, 2, limit)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(arena.data) <= 2 * limit
    assert peak <= 5 * limit + len(packed)


def test_a_snappy_block_that_says_four_gigabytes_reserves_nothing() -> None:
    arena = Arena(100)
    with pytest.raises(DecompressionError, match="cannot be"):
        decompress_into(SNAPPY, memoryview(b"\xff\xff\xff\xff\x0f\x00"), arena, 2)
    assert len(arena.data) == 100


def test_a_zstd_frame_that_says_it_is_huge_reserves_no_more_than_its_blocks_can_hold() -> None:
    packed = bytearray(zstandard.ZstdCompressor().compress(sample(70_000)))
    assert packed[4] & 0xE0 == 0xA0  # one segment, content size of 4 bytes
    packed[5:9] = (0xFFFFFFF0).to_bytes(4, "little")
    arena = Arena(100)
    with pytest.raises(DecompressionError):
        decompress_into(ZSTD, memoryview(packed), arena, 2)
    assert len(arena.data) < 1 << 20


# gzip


def test_gzip_members_one_after_the_other_are_read() -> None:
    first, second = sample(5000), sample(70_000, "random")
    packed = compress(GZIP, first, 2) + compress(GZIP, second, 2) + compress(GZIP, b"", 2)
    assert decompress(GZIP, packed, 2) == first + second
    with without_optional_libraries():
        assert decompress(GZIP, packed, 2) == first + second


@pytest.mark.parametrize(
    "tail",
    [
        b"\0",
        b"\0" * 40,
        b"garbage behind the last member",
        b"\x1f\x8b",
        # What begins as a header and is none: Java's reader ends there, too.
        b"\x1f\x8b\x08\x04" + b"\xff" * 40,  # more optional bytes than there are
        b"\x1f\x8b\x08\x08" + b"\xff" * 40,  # a name without an end
        b"\x1f\x8b\x08\x02" + b"\0" * 40,  # a wrong checksum of the header
        b"\x1f\x8b\x07\x00" + b"\0" * 40,
    ],
)
def test_bytes_after_the_last_gzip_member_are_ignored(tail: bytes) -> None:
    assert decompress(GZIP, compress(GZIP, b"data", 2) + tail, 2) == b"data"


@pytest.mark.parametrize(("flags", "length"), [(0x1E, 100), (0x1C, 300_000)])
def test_a_second_gzip_member_has_any_optional_fields(flags: int, length: int) -> None:
    first, second = compress(GZIP, b"first ", 2), compress(GZIP, b"second", 2)
    fields = b"\x03\0abc" + b"name\0" + b"n" * length + b"\0"
    header = bytes((0x1F, 0x8B, 8, flags)) + second[4:10] + fields
    if flags & 2:
        header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    assert decompress(GZIP, first + header + second[10:], 2) == b"first second"


@pytest.mark.parametrize("at", [-8, -1])
def test_a_wrong_gzip_trailer_is_an_error(at: int) -> None:
    packed = bytearray(compress(GZIP, sample(5000), 2))
    packed[at] ^= 1
    with pytest.raises(DecompressionError, match="gzip"):
        decompress(GZIP, packed, 2)


# snappy


def test_snappy_is_written_with_the_header_and_blocks_of_snappy_java() -> None:
    packed = compress(SNAPPY, sample(70_000), 2)
    assert packed[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    sizes, at = [], 16
    while at < len(packed):
        size = int.from_bytes(packed[at : at + 4], "big")
        sizes.append(len(bytes(cramjam.snappy.decompress_raw(packed[at + 4 : at + 4 + size]))))
        at += 4 + size
    assert sizes == [32768, 32768, 70_000 - 65536]


def test_snappy_without_the_framing_is_one_raw_block() -> None:
    for data in (b"", b"a", sample(100), sample(100_000)):
        assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(data)), 2) == data


def test_snappy_streams_one_after_the_other_are_read() -> None:
    packed = compress(SNAPPY, b"first", 2) + compress(SNAPPY, b"second", 2)
    assert decompress(SNAPPY, packed, 2) == b"firstsecond"
    assert decompress(SNAPPY, packed + xerial_snappy.HEADER[:9], 2) == b"firstsecond"


def test_snappy_may_name_a_later_version() -> None:
    packed = bytearray(compress(SNAPPY, b"data", 2))
    packed[8:16] = struct.pack(">ii", 2, 1)
    assert decompress(SNAPPY, packed, 2) == b"data"


@pytest.mark.parametrize(
    ("chunks", "problem"),
    [
        (struct.pack(">i", -1), "-1 bytes"),
        (struct.pack(">i", 100) + bytes(99), "100 bytes, 99 are left"),
        (struct.pack(">i", 3) + b"\x05\x00\x00", "corrupt"),
        (struct.pack(">i", 0), "its size"),
        (b"\x82SNA" + bytes(12), "magic"),
    ],
)
def test_a_bad_snappy_chunk_is_an_error_that_says_what(chunks: bytes, problem: str) -> None:
    with pytest.raises(DecompressionError, match=problem):
        decompress(SNAPPY, xerial_snappy.HEADER + chunks, 2)


def test_a_snappy_version_below_one_is_an_error() -> None:
    header = xerial_snappy.MAGIC + struct.pack(">ii", 0, 1)
    with pytest.raises(DecompressionError, match="version 0"):
        decompress(SNAPPY, header + bytes(10), 2)


# lz4


def test_lz4_is_written_as_independent_blocks_of_64_kib_without_sizes_or_checksums() -> None:
    """CO-3."""
    packed = compress(LZ4, sample(200_000, "random") + sample(65536), 2)
    assert packed[:7] == bytes.fromhex("04224d18604082")
    assert int.from_bytes(packed[7:11], "little") == 65536 | 1 << 31  # it does not shrink
    assert packed[-4:] == bytes(4)


def test_the_lz4_header_checksum_is_wrong_in_magic_0_and_not_verified_there() -> None:
    """CO-2."""
    packed = bytearray(compress(LZ4, b"data", 0))
    assert packed[6] == 0x1A
    assert compress(LZ4, b"data", 1)[6] == 0x82
    with pytest.raises(DecompressionError, match="0x1a, it should be 0x82"):
        decompress(LZ4, packed, 1)
    packed[6] = 0x77
    assert decompress(LZ4, packed, 0) == b"data"
    with without_optional_libraries():
        assert decompress(LZ4, packed, 0) == b"data"


def lz4_of(
    flags: int, descriptor: int, blocks: bytes, size: bytes = b"", tail: bytes = b"", magic: int = 2
) -> bytes:
    header = bytes([flags, descriptor]) + size
    hashed = MAGIC + header if magic == 0 else header
    return MAGIC + header + bytes([lz4_frame.header_checksum(hashed)]) + blocks + tail


STORED = struct.pack("<I", 4 | 1 << 31) + b"data"


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (b"", r"has 0 bytes \(expected at least 7\)"),
        (bytes.fromhex("04224d1860"), r"has 5 bytes \(expected at least 7\)"),
        (bytes.fromhex("05224d18604082") + bytes(4), "begins with 04224d18"),
        (bytes.fromhex("04224d18604083") + bytes(4), "should be 0x82"),
        (lz4_of(0x61, 0x40, bytes(4)), "reserved"),
        (lz4_of(0x62, 0x40, bytes(4)), "reserved"),
        (lz4_of(0x40, 0x40, bytes(4)), "depend on each other"),
        (lz4_of(0xA0, 0x40, bytes(4)), "version 2"),
        (lz4_of(0x60, 0x30, bytes(4)), "descriptor 0x30"),
        (lz4_of(0x60, 0xC0, bytes(4)), "descriptor 0xc0"),
        (lz4_of(0x60, 0x41, bytes(4)), "descriptor 0x41"),
        (lz4_of(0x68, 0x40, b""), "truncated in its header"),
        (lz4_of(0x60, 0x40, b""), "truncated"),
        (lz4_of(0x60, 0x40, STORED), "truncated"),
        (lz4_of(0x60, 0x40, STORED[:-1]), "truncated"),
        (lz4_of(0x60, 0x40, struct.pack("<I", 65537) + bytes(65537 + 4)), "larger than 65536"),
        (lz4_of(0x60, 0x40, struct.pack("<I", 2) + b"\x0f\xff" + bytes(4)), "corrupt"),
        (lz4_of(0x64, 0x40, STORED + bytes(4), tail=b"abc"), "content checksum"),
        (lz4_of(0x70, 0x40, STORED + b"abcd" + bytes(4)), "corrupt"),
        (lz4_of(0x70, 0x40, STORED), "truncated"),
    ],
)
@pytest.mark.parametrize("fallback", [False, True])
def test_an_lz4_frame_that_kafka_refuses_is_an_error_that_says_what(
    frame: bytes, problem: str, *, fallback: bool
) -> None:
    """CO-4."""
    with (
        without_optional_libraries() if fallback else pytest.MonkeyPatch.context(),
        pytest.raises(DecompressionError, match=problem),
    ):
        decompress(LZ4, frame, 2)


@pytest.mark.parametrize(
    "frame",
    [
        lz4_of(0x60, 0x40, STORED + bytes(4)),
        lz4_of(0x60, 0x40, STORED + bytes(4), tail=b"what follows the frame"),
        lz4_of(0x60, 0x70, STORED + bytes(4)),
        lz4_of(0x68, 0x50, STORED + bytes(4), size=struct.pack("<Q", 99)),
        lz4_of(0x64, 0x40, STORED + bytes(4), tail=b"not the content checksum"),
        lz4_of(0x70, 0x40, STORED + struct.pack("<I", 0x21228A35) + bytes(4)),
        lz4_of(0x7C, 0x40, STORED + struct.pack("<I", 0x21228A35) + bytes(4), bytes(8), b"1234"),
    ],
)
@pytest.mark.parametrize("fallback", [False, True])
def test_optional_parts_of_an_lz4_frame_are_read_as_kafka_reads_them(
    frame: bytes, *, fallback: bool
) -> None:
    with without_optional_libraries() if fallback else pytest.MonkeyPatch.context():
        assert decompress(LZ4, frame, 2) == b"data"


def test_lz4_blocks_of_four_megabytes_are_read() -> None:
    data = sample(3_000_000, "same") + sample(1000)
    block = bytes(cramjam.lz4.compress_block(data, store_size=False))
    frame = lz4_of(0x60, 0x70, struct.pack("<I", len(block)) + block + bytes(4))
    assert decompress(LZ4, frame, 2) == data
    with without_optional_libraries():
        assert decompress(LZ4, frame, 2) == data


def test_an_lz4_block_may_not_expand_beyond_the_frame_s_block_size() -> None:
    block = bytes(cramjam.lz4.compress_block(bytes(65537), store_size=False))
    frame = lz4_of(0x60, 0x40, struct.pack("<I", len(block)) + block + bytes(4))
    assert outcome(LZ4, frame) is None
    with without_optional_libraries():
        assert outcome(LZ4, frame) is None


RECORDS = ((283843, b"key1", b"value1"), (1234, b"key2", b"value2"))


def old_message(timestamp: int, key: bytes | None, value: bytes, magic: int, codec: int) -> bytes:
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", timestamp) if magic else b"")
    body += struct.pack(">i", -1) if key is None else struct.pack(">i", len(key)) + key
    body += struct.pack(">i", len(value)) + value
    return struct.pack(">I", zlib.crc32(body)) + body


@pytest.mark.parametrize(("magic", "crc"), [(0, 66944826), (1, 1407303399)])
def test_an_lz4_wrapper_has_the_crc_that_kafka_s_own_test_expects(magic: int, crc: int) -> None:
    """MR-1 for lz4: these bytes are those of lz4-java's fast compressor."""
    inner = b""
    for offset, (timestamp, key, value) in enumerate(RECORDS):
        message = old_message(timestamp, key, value, magic, NONE)
        inner += struct.pack(">qi", offset, len(message)) + message
    wrapper = old_message(RECORDS[0][0], None, compress(LZ4, inner, magic), magic, LZ4)
    assert int.from_bytes(wrapper[:4], "big") == crc


def test_an_lz4_batch_has_the_crc_that_kafka_s_own_test_expects() -> None:
    """MR-1 for lz4."""
    records = b""
    for delta, (timestamp, key, value) in enumerate(RECORDS):
        record = b"\0" + varint.encode_long(timestamp - RECORDS[0][0]) + varint.encode(delta)
        record += varint.encode(len(key)) + key + varint.encode(len(value)) + value + b"\0"
        records += varint.encode(len(record)) + record
    body = struct.pack(">hiqqqhii", LZ4, 1, 283843, 283843, -1, -1, -1, 2)
    body += compress(LZ4, records, 2)
    assert dispatch.crc32c(np.frombuffer(body, np.uint8)) == 2745969314


# zstd


def test_zstd_is_written_without_content_size_and_checksum() -> None:
    for codec_installed in (True, False):
        with pytest.MonkeyPatch.context() if codec_installed else without_optional_libraries():
            packed = compress(ZSTD, sample(5000), 2)
        assert packed[:4] == bytes.fromhex("28b52ffd")
        if codec_installed:
            assert packed[4] == 0


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("fallback", [False, True])
def test_zstd_frames_of_every_shape_are_read(
    *, checksum: bool, sized: bool, fallback: bool
) -> None:
    for size in (0, 1, 255, 256, 5000, 65_536, 131_072, 131_073, 600_000, 3_000_000):
        data = sample(size, "same" if size > 500_000 else "text")
        stream = zstandard.ZstdCompressor(
            write_checksum=checksum, write_content_size=sized
        ).compressobj(size=size if sized else -1)
        packed = stream.compress(data) + stream.flush()
        skippable = bytes.fromhex("5a2a4d1803000000") + b"abc"
        with without_optional_libraries() if fallback else pytest.MonkeyPatch.context():
            assert decompress(ZSTD, packed, 2) == data
            assert decompress(ZSTD, packed + packed, 2) == data + data
            assert decompress(ZSTD, skippable + packed + skippable, 2) == data
            assert outcome(ZSTD, packed + skippable[:-1]) is None
            assert outcome(ZSTD, packed + packed[:-1]) is None
            assert outcome(ZSTD, packed + b"garbage") is None
            if checksum and size:
                assert outcome(ZSTD, packed[:-1] + bytes([packed[-1] ^ 1])) is None


@pytest.mark.parametrize(
    "ending", [b"", bytes.fromhex("010000")], ids=["last block", "empty block"]
)
def test_a_frame_of_one_block_is_read_in_one_call_and_only_whole(ending: bytes) -> None:
    packed = bytearray(compress(ZSTD, sample(5000), 2))
    if ending:  # as zstd-jni closes a stream: the block is not the last, an empty one is
        packed[6] &= ~1
        packed += ending
    assert zstd_frame.read_small(memoryview(packed)) == sample(5000)
    assert decompress(ZSTD, packed, 2) == sample(5000)
    for behind in (b"x", b"\1\0\0", bytes(packed)):
        assert zstd_frame.read_small(memoryview(packed + behind)) is None
    for size in range(len(packed)):
        assert zstd_frame.read_small(memoryview(packed[:size])) is None
        assert size == 0 or outcome(ZSTD, bytes(packed[:size])) is None


def test_a_zstd_frame_holds_no_more_than_its_headers_allow() -> None:
    for size in (0, 10, 131_072, 131_073, 1_000_000):
        for kind in KINDS:
            packed = compress(ZSTD, sample(size, kind), 2)
            assert zstd_frame.measure(memoryview(packed)) >= size
    packed = compress(ZSTD, sample(100_000, "random"), 2)
    assert zstd_frame.measure(memoryview(packed)) == 100_000  # stored as it is


def test_a_reserved_zstd_block_type_is_an_error() -> None:
    with pytest.raises(DecompressionError, match="reserved type 3"):
        decompress(ZSTD, bytes.fromhex("28b52ffd0058070000"), 2)


@pytest.mark.parametrize("codec", CODECS)
def test_names_of_codecs_stand_in_the_messages(codec: int) -> None:
    if codec == NONE:
        return
    with pytest.raises(DecompressionError, match=CODEC_NAMES[codec]):
        decompress(codec, compress(codec, sample(1000), 2)[:-8], 2)


def test_a_numpy_window_can_be_read_from() -> None:
    packed = compress(LZ4, b"data", 2)
    window = np.frombuffer(b"xx" + packed + b"yy", np.uint8)
    arena = Arena()
    decompress_into(LZ4, memoryview(window[2:-2]), arena, 2)
    assert bytes(arena.data[: arena.used]) == b"data"
