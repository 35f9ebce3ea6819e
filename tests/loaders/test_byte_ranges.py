"""Ranges of bytes, whatever their sizes, give together the records that one read gives."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

import workbench as wb
from tests.golden.cases import open_case
from tests.mutations import batch_positions
from tests.spark.simulated_bucket import PREFIX, Bucket
from workbench.inspection.listing import list_log_directories
from workbench.loaders.queries.ranges import HIGHEST, LOWEST
from workbench.loaders.scan import splits
from workbench.loaders.scan.plan import ByteRange, SegmentRead, segments_within
from workbench.loaders.scan.segment_batches import ReadOptions, read_segment
from workbench.loaders.scan.splits import byte_ranges, located
from workbench.record.buffers import BufferPool
from workbench.record.reading import batch_table

CASES: Final = ("4.2.0-plain-java", "4.2.0-txn", "2.8.2-compact-basic")
COLUMNS: Final = ("offset", "batch_position", "value")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return directories of partitions with small segments."""
    found = []
    for name in CASES:
        case = open_case(name, tmp_path_factory.mktemp("ranges"))
        for partition in list_log_directories(case.directory(case.labels[-1])).partitions.values():
            if any(500 < segment.size < 10_000 for segment in partition.segments):
                found.append(Path(partition.path))  # noqa: PERF401
    return sorted(found)


def reads_of(folder: Path) -> Iterator[SegmentRead]:
    for partition in list_log_directories(folder).partitions.values():
        for read in segments_within(partition, LOWEST, HIGHEST):
            if read.segment.size:
                yield read


def records(reads: list[SegmentRead]) -> list[Any]:
    found: list[Any] = []
    for read in reads:
        for batch, _ in read_segment(read, ReadOptions(COLUMNS), BufferPool()):
            found += zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True)
    return found


def pieces(read: SegmentRead, step: int) -> list[SegmentRead]:
    """Return the pieces of a segment in ranges of ``step`` bytes, each located by itself."""
    begins = range(0, read.segment.size, step)
    ranges = [replace(read, span=ByteRange(begin, step)) for begin in begins]
    return [piece for each in ranges if (piece := located(each)) is not None]


def test_wherever_a_sound_segment_is_cut_its_two_halves_are_the_whole(logs: list[Path]) -> None:
    checked = 0
    for folder in logs[::8]:
        read = next(reads_of(folder))
        if read.segment.size > 6000:
            continue
        whole = records([read])
        firsts = {0, *(row for row in batch_positions(Path(read.segment.path).read_bytes()))}
        for begin in range(1, read.segment.size, 11):
            halves = pieces(read, max(begin, read.segment.size - begin))
            starts = {half.start for half in halves}
            assert starts <= firsts
            if len(halves) > 1 and len(starts) == 2:
                checked += 1
        for begin in range(40, read.segment.size, 197):
            assert records(pieces(read, begin)) == whole
    assert checked > 100


def test_a_batch_belongs_to_the_range_in_which_its_first_byte_is(logs: list[Path]) -> None:
    (folder,) = (each for each in logs if each.name == "java-none-0")
    read = max(reads_of(folder), key=lambda read: len(read.segment.batches))
    at = batch_positions(Path(read.segment.path).read_bytes())
    for begin in (at[1] - 1, at[1], at[1] + 1):
        second = located(replace(read, span=ByteRange(begin, begin)))
        assert second is not None
        assert second.start == next(each for each in at if each >= begin)


def damage(data: bytearray, chance: random.Random) -> None:
    """Change a `.log` at one place, in one of the ways in which files are found damaged."""
    positions = batch_positions(bytes(data))
    at, other = chance.choice(positions), chance.choice(positions)
    offset, size = (int.from_bytes(data[at + a : at + b]) for a, b in ((0, 8), (8, 12)))
    ways: list[Callable[[], object]] = [
        lambda: data.__setitem__(chance.randrange(len(data)), chance.randrange(256)),
        lambda: data.__setitem__(at + chance.randrange(61), chance.randrange(256)),
        lambda: overwrite(data, at, chance.choice([0, 2**40, 2**63 - 1, offset + 7]), 8),
        lambda: overwrite(data, at, int.from_bytes(data[other : other + 8]), 8),
        lambda: overwrite(data, at + 8, chance.choice([0, 49, size + 90, size + 3000]), 4),
        lambda: data.__delitem__(slice(at, at + chance.randrange(1, 400))),
        lambda: data.__setitem__(slice(at, at), data[other : other + chance.randrange(1, 2000)]),
        lambda: data.__setitem__(slice(at, at + 200), bytes(200)),
    ]
    chance.choice(ways)()


def overwrite(data: bytearray, at: int, number: int, size: int) -> None:
    data[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size)


def damaged(
    logs: list[Path], folder: Path, seed: int, *, indexed: bool = True
) -> Iterator[SegmentRead]:
    """Yield the segments of a partition that is damaged at one to three places of each."""
    chance = random.Random(seed)
    source = chance.choice(logs)
    for log in shutil.copytree(source, folder / source.name).glob("*.log"):
        data = bytearray(log.read_bytes())
        for _ in range(chance.randrange(1, 4)):
            try:
                damage(data, chance)
            except IndexError:  # nothing more can be damaged
                break
        log.write_bytes(data)
        index = log.with_suffix(".index")
        if not indexed:
            index.unlink()
        elif chance.random() < 0.3 and index.stat().st_size:
            entries = bytearray(index.read_bytes())
            entries[chance.randrange(len(entries))] ^= 1 << chance.randrange(8)
            index.write_bytes(entries)
    yield from reads_of(folder)


@pytest.mark.parametrize("indexed", [True, False])
def test_ranges_of_a_damaged_segment_give_what_one_read_gives(
    logs: list[Path], tmp_path: Path, *, indexed: bool
) -> None:
    split = 0
    for seed in range(40):
        for read in damaged(logs, tmp_path / str(seed), seed, indexed=indexed):
            whole = records([read])
            for step in (read.segment.size // 3 + 1, max(read.segment.size // 40, 30)):
                found = pieces(read, step)
                assert records(found) == whole, (seed, read.segment.path, step)
                split += len(found) > 1
    assert split > 25


@pytest.mark.parametrize("indexed", [True, False])
def test_no_offset_comes_twice_even_if_damage_reaches_beyond_what_is_checked(
    logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, indexed: bool
) -> None:
    monkeypatch.setattr(splits, "CONTEXT", 300)
    monkeypatch.setattr(splits, "_AFTERWARDS", 200)
    monkeypatch.setattr(batch_table, "ROWS_AT_ONCE", 3)  # a chain of many tables
    for seed in range(100, 130):
        for read in damaged(logs, tmp_path / str(seed), seed, indexed=indexed):
            found = pieces(read, max(read.segment.size // 40, 30))
            offsets = [offset for each in found for offset in {r[0] for r in records([each])}]
            assert len(set(offsets)) == len(offsets), (seed, read.segment.path)


def test_a_segment_that_is_there_twice_gives_its_offsets_once(tmp_path: Path) -> None:
    data = open_case("3.9.1-damage-unclean", tmp_path).directory("before")
    reads = list(reads_of(data / "dmg-duplicate-segment-0"))
    assert len({read.segment.size for read in reads}) < len(reads)
    found = [piece for read in reads for piece in pieces(read, 100)]
    assert records(found) == records(reads)


def test_a_batch_of_another_log_inside_a_value_is_not_taken_for_one(tmp_path: Path) -> None:
    with wb.LogManager([tmp_path / "inner"]) as manager:
        log = manager.get_or_create_log("inner", 0)
        for _ in range(20):
            log.append([(b"key", b"inner")] * 5)
    (segment,) = (tmp_path / "inner" / "inner-0").glob("*.log")
    with wb.LogManager([tmp_path / "outer"]) as manager:
        log = manager.get_or_create_log("outer", 0)
        for _ in range(6):
            log.append([(b"key", segment.read_bytes())])
    (read,) = reads_of(tmp_path / "outer")
    for step in range(200, read.segment.size, 611):
        assert records(pieces(read, step)) == records([read])
    # Nor with an index that points to such a batch.
    inside = Path(read.segment.path).read_bytes().index(segment.read_bytes()[:100])
    entry = (0).to_bytes(4) + inside.to_bytes(4)
    Path(read.segment.path).with_suffix(".index").write_bytes(entry)
    (read,) = reads_of(tmp_path / "outer")
    for step in range(200, read.segment.size, 611):
        assert records(pieces(read, step)) == records([read])


def test_a_range_is_planned_without_reading(logs: list[Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(logs[0], tmp_path / logs[0].name))
    read = next(reads_of(folder))
    Path(read.segment.path).unlink()
    for content in (bytes(8), b"", None):
        index = Path(read.segment.path).with_suffix(".index")
        if content is None:
            index.unlink()
            del read.segment.files["index"]
        else:
            index.write_bytes(content)
        ranges = byte_ranges(read, 100)
        assert sum(map(splits.size_of, ranges)) == read.segment.size
        assert len(ranges) == -(-read.segment.size // 100)


def test_a_segment_in_a_bucket_stays_whole_without_an_index() -> None:
    bucket = Bucket(partitions=1, segments=1, size=1_600_000)
    (partition,) = list_log_directories([PREFIX], fs=bucket.fs).partitions.values()
    (read,) = segments_within(partition, LOWEST, HIGHEST)
    assert len(byte_ranges(read, 400_000)) == 4
    del read.segment.files["index"]
    assert byte_ranges(read, 400_000) == [read]


def test_a_sound_segment_without_an_index_is_cut_as_with_one(
    logs: list[Path], tmp_path: Path
) -> None:
    (source,) = (each for each in logs if each.name == "java-none-0")
    folder = Path(shutil.copytree(source, tmp_path / source.name))
    with_index = [[p.start for p in pieces(read, 1000)] for read in reads_of(folder)]
    for index in folder.glob("*.index"):
        index.unlink()
    assert [[p.start for p in pieces(read, 1000)] for read in reads_of(folder)] == with_index
    assert max(map(len, with_index)) > 2
