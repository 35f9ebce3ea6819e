"""What decompressing a batch costs beyond its codec: ours against the fastest library for it.

Run as a program. Prints microseconds a batch and the ratio ours / library; below 1.1 is the aim.
"""

import random
import time
from collections.abc import Callable
from functools import partial

import cramjam
import zstandard
from isal import isal_zlib

from workbench.layout.attributes import CODEC_NAMES, GZIP, LZ4, SNAPPY, ZSTD
from workbench.layout.lz4_frame import STORED_BIT
from workbench.record.codecs import xerial_snappy
from workbench.record.codecs.compression import compress, decompress_into
from workbench.record.reading.arena import Arena

ROUNDS = 15
BATCHES = 64
WORDS = [
    "click",
    "view",
    "purchase",
    "add_to_cart",
    "search",
    "/products/",
    "/cart",
    "mobile",
    "desktop",
    "en-GB",
    "de-DE",
]


def json_records(size: int, seed: int) -> bytes:
    """Return ``size`` bytes that compress about threefold, like JSON events."""
    rng = random.Random(seed)
    parts: list[str] = []
    left = size
    while left > 0:
        part = (
            f'{{"user_id":{rng.randrange(10**8)},"event":"{rng.choice(WORDS)}",'
            f'"ts":{1700000000000 + rng.randrange(10**9)},"at":"{rng.choice(WORDS)}"}}'
        )
        parts.append(part)
        left -= len(part)
    return "".join(parts).encode()[:size]


def library_calls(batches: list[bytes]) -> dict[int, Callable[[], object]]:
    """Return for each codec the fastest loop of library calls over the same batches."""
    by_codec = {c: [compress(c, batch, 2) for batch in batches] for c in (GZIP, SNAPPY, LZ4, ZSTD)}
    # Without framing: what the block decoders alone need.
    raw_snappy = [bytes(cramjam.snappy.compress_raw(batch)) for batch in batches]
    raw_lz4 = [bytes(cramjam.lz4.compress_block(batch, store_size=False)) for batch in batches]
    size = len(batches[0])
    target = memoryview(bytearray(size * len(batches)))
    places = [target[at : at + size] for at in range(0, len(target), size)]
    context = zstandard.ZstdDecompressor()
    return {
        GZIP: lambda: [isal_zlib.decompress(z, 31, size) for z in by_codec[GZIP]],
        SNAPPY: lambda: [
            cramjam.snappy.decompress_raw_into(z, place)
            for z, place in zip(raw_snappy, places, strict=True)
        ],
        LZ4: lambda: [
            cramjam.lz4.decompress_block_into(z, place, output_len=size)
            for z, place in zip(raw_lz4, places, strict=True)
        ],
        ZSTD: lambda: [context.decompress(z, max_output_size=size) for z in by_codec[ZSTD]],
    }


def bare_blocks(codec: int, data: memoryview) -> list[memoryview]:
    """Return the blocks in the framing of one batch; for gzip and zstd the framing is the codec's.

    Args:
        codec: its id in the attributes.
        data: what Kafka's own builder compressed.
    """
    if codec not in {SNAPPY, LZ4}:
        return [data]
    header, order = (xerial_snappy.HEADER_SIZE, "big") if codec == SNAPPY else (7, "little")
    blocks, at = [], header
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], order)  # type: ignore[arg-type]
        assert not size & STORED_BIT, "blocks stored as they are take no codec"
        if size:
            blocks.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return blocks


def codec_alone(codec: int, batches: list[memoryview]) -> Callable[[], int]:
    """Return what decompresses batches by the fastest library, knowing sizes and framing already.

    Each into the same warm memory, so that nothing is left but the codec and one call a block.
    """
    blocks = [block for batch in batches for block in bare_blocks(codec, batch)]
    target, context = memoryview(bytearray(1 << 20)), zstandard.ZstdDecompressor()
    calls: dict[int, Callable[[memoryview], object]] = {
        GZIP: lambda z: isal_zlib.decompress(z, 31, 1 << 15),
        SNAPPY: lambda z: cramjam.snappy.decompress_raw_into(z, target),
        LZ4: lambda z: cramjam.lz4.decompress_block_into(z, target, output_len=1 << 16),
        ZSTD: lambda z: context.decompress(z, max_output_size=1 << 17),
    }
    call = calls[codec]

    def run() -> int:
        for block in blocks:
            call(block)
        return len(blocks)

    return run


def seconds(call: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def decompress_all(codec: int, packed: list[memoryview], arena: Arena) -> None:
    """Decompress batches back to back, as a reader does."""
    arena.clear()
    for data in packed:
        decompress_into(codec, data, arena, 2)


def main() -> None:
    """Print the table."""
    print("codec    batch    ours us   library us   ratio   ours MB/s")
    for size in (1 << 10, 16 << 10, 64 << 10, 1 << 20):
        batches = [json_records(size, seed) for seed in range(BATCHES)]
        arena = Arena(size * BATCHES + (2 << 20))
        for codec, library in library_calls(batches).items():
            packed = [memoryview(compress(codec, batch, 2)) for batch in batches]

            ours = partial(decompress_all, codec, packed, arena)
            ours()
            pairs = [(seconds(ours), seconds(library)) for _ in range(ROUNDS)]
            own = min(pair[0] for pair in pairs) / BATCHES * 1e6
            other = min(pair[1] for pair in pairs) / BATCHES * 1e6
            print(
                f"{CODEC_NAMES[codec]:7} {size:8} {own:9.1f} {other:12.1f} {own / other:7.2f} "
                f"{size / own:11.0f}"
            )


if __name__ == "__main__":
    main()
