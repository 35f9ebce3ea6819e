"""Pieces of segments hold each record once, whatever their size and however wrong an index is."""

from pathlib import Path

import pytest

from tests import mutations
from tests.golden.cases import open_case
from workbench.inspection.listing import list_log_directories
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.scan import Scan
from workbench.loaders.scan.segment_batches import ReadOptions, read_segment
from workbench.loaders.scan.splits import MOST_PIECES, by_offsets, pack, size_of, split
from workbench.record.buffers import BufferPool


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-plain-java", tmp_path_factory.mktemp("splits")).path / "data"


def offsets_of(reads: list[SegmentRead], told: frozenset[str] = frozenset()) -> list[int]:
    found: list[int] = []
    for read in reads:
        for batch, findings in read_segment(read, ReadOptions(("offset",)), BufferPool()):
            assert {each.kind for each in findings} <= told
            found += batch.column("offset").to_pylist()
    return found


def test_pieces_of_any_size_hold_each_record_once(logs: Path) -> None:
    listing = list_log_directories(logs)
    pieces_made = 0
    for partition in listing.partitions.values():
        reads = Scan(listing, partitions=partition.name).plan()
        expected = offsets_of(reads)
        for size in (150, 5000, 1 << 20):
            pieces = [piece for read in reads for piece in split(read, size)]
            assert offsets_of(pieces) == expected
            pieces_made = max(pieces_made, len(pieces) - len(reads))
            for read in reads:
                assert sum(map(size_of, split(read, size))) == size_of(read)
    assert pieces_made > 5


def test_pieces_by_offset_hold_no_more_than_was_asked_for(logs: Path) -> None:
    listing = list_log_directories(logs)
    for partition in listing.partitions.values():
        reads = Scan(listing, partitions=partition.name).plan()
        pieces = [
            piece
            for read in reads
            for piece in by_offsets(read, 7, 1 << 30, partition.log_end_offset)
        ]
        assert offsets_of(pieces) == offsets_of(reads)
        assert all(len(offsets_of([piece])) <= 7 for piece in pieces)


@pytest.mark.parametrize("shift", [13, -61, 10_000_000])
def test_an_index_that_lies_costs_pieces_but_no_records(
    logs: Path, tmp_path: Path, shift: int
) -> None:
    folder = tmp_path / "java-none-0"
    folder.mkdir()
    for file in (logs / "java-none-0").iterdir():
        content = bytearray(file.read_bytes())
        if file.suffix == ".index":
            for at in range(4, len(content), 16):  # every second entry
                position = int.from_bytes(content[at : at + 4]) + shift
                content[at : at + 4] = (position % 2**31).to_bytes(4)
        (folder / file.name).write_bytes(content)
    listing = list_log_directories(folder)
    reads = Scan(listing).plan()
    pieces = [piece for read in reads for piece in split(read, 300)]
    assert offsets_of(pieces) == offsets_of(Scan(list_log_directories(logs / "java-none-0")).plan())


def test_a_segment_without_an_index_is_split_too(logs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "java-none-0"
    folder.mkdir()
    for file in (logs / "java-none-0").glob("*.log"):
        (folder / file.name).write_bytes(file.read_bytes())
    reads = Scan(list_log_directories(folder)).plan()
    pieces = [piece for read in reads for piece in split(read, 300)]
    assert len(pieces) > len(reads)
    assert offsets_of(pieces) == offsets_of(reads)


def test_tasks_are_packed_as_spark_packs_files(logs: Path) -> None:
    reads = Scan(list_log_directories(logs)).plan()
    tasks = pack(reads, 64 << 20)
    assert sorted(map(id, reads)) == sorted(id(read) for task in tasks for read in task)
    assert all(len(task) == 16 for task in tasks[:-1])  # each of them counts 4 MiB more
    assert len(pack(reads, 1)) == len(reads)


@pytest.mark.parametrize(
    ("offset", "told"), [(2**40, frozenset()), (2**63 - 1, frozenset({"offset-range"}))]
)
def test_a_batch_that_claims_far_offsets_gives_few_pieces(
    tmp_path: Path, offset: int, told: frozenset[str]
) -> None:
    mutations.build(tmp_path / "data", mutations.field(54, -1, "base_offset", offset))
    listing = list_log_directories(tmp_path / "data")
    partition = listing.partitions[mutations.DAMAGED]
    reads = Scan(listing, partitions=partition.name).plan()
    pieces = by_offsets(reads[-1], 3, 1 << 30, partition.log_end_offset)
    assert len(pieces) <= MOST_PIECES + 1
    assert set(offsets_of(pieces, told)) == set(offsets_of(reads[-1:], told))
