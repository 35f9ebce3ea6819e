"""The walk over batch headers: what it finds, and where and why it ends."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.naive import Record, batch, message, wrapper
from tests.record.reading import table
from tests.strategies import logs
from workbench.file_system.source import FileSource
from workbench.layout import problems
from workbench.record.reading.batch_table import scan_batches

TWO = [Record(0, 10, b"key1", b"value1"), Record(1, 12, b"key2", b"value2")]


@given(data=logs)
def test_batches_lie_end_to_end(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = table(tmp_path_factory.getbasetemp(), data)
    ends = (found.rows["position"] + found.rows["size"]).tolist()
    assert found.column("position").tolist() == [0, *ends][: len(found)]
    assert (found.valid_size, found.stop.is_end) == (len(data), True)
    assert [found.at(end - 1) for end in ends] == list(range(len(found)))


def test_fields_without_a_value_are_none(tmp_path: Path) -> None:
    """DB-2."""
    plain = table(tmp_path, batch(TWO, leader_epoch=-1))[0]
    assert plain.producer_id is None
    assert plain.producer_epoch is None
    assert plain.base_sequence is None
    assert plain.last_sequence is None
    assert plain.partition_leader_epoch is None
    assert plain.delete_horizon is None
    assert (plain.record_count, plain.codec, plain.timestamp_type) == (2, "none", "CreateTime")
    assert (plain.base_timestamp, plain.max_timestamp) == (10, 12)


def test_a_wrapper_does_not_tell_its_base_offset_and_count(tmp_path: Path) -> None:
    """MR-2: only a batch of magic 2 says how many records it has."""
    found = table(tmp_path, wrapper(1, TWO, 1) + message(0, TWO[1]))
    first, second = found[0], found[1]
    assert (first.base_offset, first.last_offset, first.record_count) == (None, 1, None)
    assert (first.max_timestamp, first.timestamp_type, first.codec) == (12, "CreateTime", "gzip")
    assert (second.base_offset, second.record_count, second.timestamp_type) == (1, 1, None)


@pytest.mark.parametrize("size", [0, 2, 4, 5, 6, 16])
def test_stray_bytes_at_the_end_add_no_batch(size: int, tmp_path: Path) -> None:
    """FR-4."""
    data = batch(TWO)
    found = table(tmp_path, data + bytes(size))
    assert len(found) == 1
    assert found.stop == (problems.UNFINISHED if size else problems.END, len(data))


def test_the_last_batch_is_left_out_when_bytes_are_missing(tmp_path: Path) -> None:
    """FR-9 FR-15: two batches, the last five bytes cut."""
    first = batch(TWO)
    found = table(tmp_path, (first + batch([Record(2)]))[:-5])
    assert found.column("last_offset").tolist() == [1]
    assert found.stop == (problems.UNFINISHED, len(first))


def test_a_batch_is_found_by_its_last_offset(tmp_path: Path) -> None:
    """FR-8: 3 and 50 both lead to the batch that begins at 50."""
    found = table(tmp_path, batch(TWO[:1]) + batch([TWO[1]]) + batch([Record(50)]))
    assert [found.find_offset(offset) for offset in (0, 1, 3, 50, 51)] == [0, 1, 2, 2, 3]


def test_a_place_outside_every_batch_is_said_to_be_so(tmp_path: Path) -> None:
    data = batch(TWO)
    found = table(tmp_path, data + bytes(3))
    with pytest.raises(LookupError, match="no batch covers byte"):
        found.at(len(data))


@pytest.mark.parametrize("size", [9, 13, 0, -1])
def test_a_size_below_the_smallest_message_ends_the_walk(size: int, tmp_path: Path) -> None:
    """FR-16 MR-13."""
    data = batch(TWO)
    found = table(tmp_path, data + bytes(8) + size.to_bytes(4, signed=True) + bytes(60))
    assert found.stop == (problems.BAD_SIZE, len(data))


@pytest.mark.parametrize("visible", range(1, 17))
def test_a_size_that_is_visible_is_not_enough(visible: int, tmp_path: Path) -> None:
    """MR-13: the first 17 bytes of a batch say how large it is, fewer do not."""
    found = table(tmp_path, batch(TWO)[:visible])
    assert found.stop == (problems.UNFINISHED, 0)


def test_walking_leaves_the_place_of_others_alone(tmp_path: Path) -> None:
    """FR-6: two walks over one open file, from the start and from the middle."""
    path = tmp_path / "shared.log"
    first = batch(TWO)
    path.write_bytes(first + batch([Record(2)]) + batch([Record(3)]))
    with FileSource(str(path)) as source:
        behind = scan_batches(source, len(first))
        assert len(scan_batches(source)) == 3
        assert len(scan_batches(source, stop=len(first))) == 1
        assert behind.column("last_offset").tolist() == [2, 3]


def test_hundreds_of_thousands_of_batches_are_walked_in_growing_tables(tmp_path: Path) -> None:
    one = np.frombuffer(batch([Record(0)]), np.uint8)
    block = np.tile(one, 200_000).reshape(-1, len(one))
    block[:, :8] = np.arange(200_000).astype(">i8")[:, None].view(np.uint8)
    found = table(tmp_path, block.tobytes())
    assert found.column("base_offset").tolist() == list(range(200_000))


def test_a_batch_prints_its_problem(tmp_path: Path) -> None:
    assert table(tmp_path, batch(TWO, magic=7))[0].problem == "unknown magic"
    assert table(tmp_path, batch(TWO))[0].problem is None
