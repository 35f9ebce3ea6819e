"""Compressed batches decoded in one go: as if decompressed first and decoded then."""

import random
from pathlib import Path

import numpy as np
import pytest

from tests.naive import Record, batch
from tests.record.reading import Outcome, read
from workbench.file_system.source import FileSource
from workbench.kernels.dispatch import is_compiled
from workbench.layout.attributes import GZIP, LZ4, NONE, SNAPPY, ZSTD
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.record.reading import reader

pytestmark = pytest.mark.skipif(
    not is_compiled(), reason="it is compiled code that decodes in one go"
)


def some_batch(rng: random.Random, base_offset: int, codec: int) -> bytes:
    """Return a batch, now and then an empty one or one whose records are damaged."""
    largest = rng.choice((0, 20, 200, 5_000, 90_000))
    records = [
        Record(
            base_offset + at,
            1_700_000_000_000 + rng.choice((0, 70, 9_000, 3_000_000)),
            rng.choice((None, b"", b"key", rng.randbytes(40))),
            rng.choice((None, bytes(largest), rng.randbytes(rng.randrange(largest + 1)))),
            rng.choice(((), ((b"name", None), (b"", b"content")))),
        )
        for at in range(rng.choice((0, 1, 3, 70)))
    ]
    damage = rng.choice(({}, {}, {}, {"count": len(records) + 1}, {"tail": b"more"}))
    return batch(records, codec, last_offset=base_offset + 99, base_offset=base_offset, **damage)


def cut(entry: bytes, rng: random.Random) -> bytes:
    """Return a batch with a byte of its compressed records changed; its CRC is then wrong."""
    if len(entry) == BATCH_HEADER_SIZE:
        return entry
    changed = bytearray(entry)
    changed[rng.randrange(BATCH_HEADER_SIZE, len(entry))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def some_log(rng: random.Random) -> bytes:
    main = rng.choice((GZIP, LZ4, SNAPPY, ZSTD))
    entries = []
    for at in range(rng.randrange(1, 40)):
        codec = rng.choices((main, NONE, GZIP, LZ4, SNAPPY, ZSTD), (12, 1, 1, 1, 1, 1))[0]
        entry = some_batch(rng, 100 * at, codec)
        entries.append(cut(entry, rng) if rng.random() < 0.1 else entry)
    return b"".join(entries)


def told(outcome: Outcome) -> list[tuple[int, int, str]]:
    return sorted((p.position, p.code, p.found) for p in outcome.problems)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("check_crc", [True, False])
def test_batches_decoded_in_one_go_give_the_same_records_and_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, *, check_crc: bool
) -> None:
    data = some_log(random.Random(seed))
    at_once = read(tmp_path, data, check_crc=check_crc)
    monkeypatch.setattr(reader, "compiled_decoder", lambda _codec: None)
    one_by_one = read(tmp_path, data, check_crc=check_crc)
    assert at_once.records == one_by_one.records
    assert told(at_once) == told(one_by_one)


@pytest.mark.parametrize("seed", range(20))
def test_any_choice_of_batches_gives_their_records_and_the_rows_of_all(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    path = tmp_path / "log"
    path.write_bytes(some_log(rng))
    share = rng.choice((0.0, 0.1, 0.5, 0.9))

    def chosen(base_offsets: np.ndarray) -> np.ndarray:
        return np.array([random.Random(seed + int(at)).random() < share for at in base_offsets])

    def offsets_by_batch(chunks: list[reader.Chunk]) -> list[tuple[int, int]]:
        return [
            (int(chunk.rows["base_offset"][row]), int(offset))
            for chunk in chunks
            for row, offset in zip(chunk.columns.batch, chunk.columns.offsets, strict=True)
        ]

    with FileSource(str(path)) as source:
        whole = list(reader.RecordReader(source))
        some = list(reader.RecordReader(source, select=lambda rows: chosen(rows["base_offset"])))
    every = offsets_by_batch(whole)
    kept = chosen(np.array([base for base, _ in every], np.int64))
    assert offsets_by_batch(some) == [one for one, take in zip(every, kept, strict=True) if take]
    rows = [np.concatenate([chunk.rows for chunk in chunks]).tolist() for chunks in (whole, some)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("codec", [GZIP, LZ4, SNAPPY, ZSTD])
def test_batches_that_expand_much_come_in_several_chunks(tmp_path: Path, codec: int) -> None:
    entries = [
        batch([Record(at, 0, None, bytes(400_000), ())], codec, base_offset=at) for at in range(64)
    ]
    path = tmp_path / "log"
    path.write_bytes(b"".join(entries))
    with FileSource(str(path)) as source:
        chunks = list(reader.RecordReader(source))
    sizes = [int(chunk.columns.values.sizes().sum()) for chunk in chunks if chunk.columns.values]
    assert max(sizes) < 8 << 20
    assert np.concatenate([chunk.columns.offsets for chunk in chunks]).tolist() == list(range(64))
    rows = [int(chunk.columns.batch.max()) for chunk in chunks if len(chunk.columns)]
    assert all(row < len(chunk.rows) for row, chunk in zip(rows, chunks, strict=False))
