"""Compressed batches written in one go: the same as compressed one by one."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.cleaner.cleaning import Cleanable
from workbench.kernels.dispatch import is_compiled
from workbench.layout.attributes import CODEC_NAMES, ZSTD
from workbench.log.log import Log
from workbench.record.codecs import compression
from workbench.record.codecs.libraries import compiled_encoder
from workbench.record.compaction import retaining
from workbench.record.memory_records import MemoryRecords

NOW = 1_700_000_000_000


def fill(root: Path, codec: str, seed: int) -> Cleanable:
    """Write a log: batches that compress and that do not, some beyond a block of lz4."""
    rng = random.Random(seed)
    root.mkdir()
    log = Cleanable(root, segment_bytes=1 << 20, max_message_bytes=1 << 20)
    for number in range(60):
        size = rng.choice((0, 1, 30, 900, 40_000))
        values = [rng.choice((bytes(size), rng.randbytes(size))) for _ in range(rng.choice((1, 5)))]
        records = [(NOW + number, b"%d" % rng.randrange(25), value) for value in values]
        log.log.append_as_leader(MemoryRecords.of(*records, codec=codec))
    log.log.update_high_watermark(log.log.log_end_offset)
    log.roll()
    return log


def contents(log: Log) -> tuple[list[Any], list[Any]]:
    """Return the records of a log, and the fields of its batches but for their size and CRC."""
    parts = [segment.log.read(0, segment.size) for segment in log.segments]
    names = ("base_offset", "last_offset", "record_count", "codec", "max_timestamp", "problem")
    rows = [part.batches().rows for part in parts]
    return (
        [record for part in parts for record in part.records()],
        [tuple(row[name] for name in names) for of_part in rows for row in of_part],
    )


@pytest.mark.parametrize("codec", CODEC_NAMES[1:])
@pytest.mark.parametrize("seed", range(4))
def test_batches_packed_in_one_go_hold_what_they_hold_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, seed: int
) -> None:
    at_once = fill(tmp_path / "at-once", codec, seed)
    at_once.clean()
    for module, name in ((retaining, "compiled_encoder"), (compression, "compiled_decoder")):
        monkeypatch.setattr(module, name, lambda _codec: None)
    one_by_one = fill(tmp_path / "one-by-one", codec, seed)
    one_by_one.clean()
    assert contents(at_once.log) == contents(one_by_one.log)
    assert len(at_once.offsets) == 25


def test_zstd_is_packed_in_one_go_as_it_is_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (compiled_encoder(ZSTD) is not None) == is_compiled()
    at_once = fill(tmp_path / "at-once", "zstd", 5)
    at_once.clean()
    monkeypatch.setattr(retaining, "compiled_encoder", lambda _codec: None)
    one_by_one = fill(tmp_path / "one-by-one", "zstd", 5)
    one_by_one.clean()
    found, wanted = (
        [bytes(segment.log.read(0, segment.size)) for segment in each.log.segments]
        for each in (at_once, one_by_one)
    )
    assert found == wanted


@pytest.mark.skipif(not is_compiled(), reason="it is compiled code that finds no room")
@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_where_there_is_no_room_a_batch_is_written_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    roomy = fill(tmp_path / "roomy", codec, 9)
    roomy.clean()
    monkeypatch.setattr(retaining, "_MOST_FRAMING", -100_000)
    tight = fill(tmp_path / "tight", codec, 9)
    tight.clean()
    assert contents(tight.log) == contents(roomy.log)
