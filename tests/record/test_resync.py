"""The next batch after bytes that make no sense."""

import random
from pathlib import Path

import pytest

from tests.naive import Record, batch, message, wrapper
from workbench.file_system.source import FileSource
from workbench.record.reading.resync import batch_at, find_batch

ANY = (0, 2**62)


def found(folder: Path, data: bytes, start: int = 0, offsets: tuple[int, int] = ANY) -> int | None:
    path = folder / "found.log"
    path.write_bytes(data)
    with FileSource(str(path)) as source:
        return find_batch(source, start, len(data), offsets).position


@pytest.mark.parametrize("before", [0, 1, 40, 61, 16_000, 16_384, 70_000, (4 << 20) - 30])
def test_a_batch_is_found_behind_any_number_of_bytes(before: int, tmp_path: Path) -> None:
    noise = random.Random(before).randbytes(before)
    for entry in (batch([Record(7)]), message(0, Record(7)), wrapper(1, [Record(7)], 2)):
        assert found(tmp_path, noise + entry) == before
        assert found(tmp_path, noise + entry + noise[:500]) == before


def test_only_a_right_crc_counts(tmp_path: Path) -> None:
    wrong = batch([Record(5)], crc=1) + message(1, Record(6))[:-1] + b"!"
    assert found(tmp_path, wrong) is None
    assert found(tmp_path, wrong + batch([Record(7)])) == len(wrong)


def test_only_offsets_of_the_range_count(tmp_path: Path) -> None:
    """What is in a value, or uncompressed in a wrapper, has offsets of its own."""
    data = batch([Record(3)]) + message(0, Record(500)) + batch([Record(8)])
    assert found(tmp_path, data, offsets=(4, 100)) == len(data) - len(batch([Record(8)]))
    assert found(tmp_path, data, offsets=(9, 100)) is None


def test_a_batch_that_reaches_beyond_the_end_is_not_found(tmp_path: Path) -> None:
    assert found(tmp_path, bytes(9) + batch([Record(7)])[:-1]) is None


def test_a_batch_larger_than_the_first_look_is_found(tmp_path: Path) -> None:
    large = batch([Record(7, 1, b"k", random.Random(1).randbytes(3 << 20))])
    assert found(tmp_path, b"\x01" * 99 + large) == 99


def test_a_place_is_believed_only_with_a_right_crc(tmp_path: Path) -> None:
    path = tmp_path / "believed.log"
    first = batch([Record(7)])
    path.write_bytes(first + batch([Record(8)]) + batch([Record(9)], crc=0))
    with FileSource(str(path)) as source:
        assert batch_at(source, len(first))["base_offset"] == 8
        for position in (-1, 1, len(first) - 1, 2 * len(first), 3 * len(first), 10**9):
            assert batch_at(source, position) is None


@pytest.mark.parametrize("at", [None, 0, 1, 16_500, (5 << 20) - 1])
def test_a_search_tells_whether_there_was_anything_but_zeros(
    at: int | None, tmp_path: Path
) -> None:
    """Written zeros and a hole, which is not read."""
    path = tmp_path / "zeros.log"
    with path.open("wb") as file:
        file.write(bytes(1 << 20))
        file.truncate(5 << 20)
        if at is not None:
            file.seek(at)
            file.write(b"\x01")
    with FileSource(str(path)) as source:
        assert find_batch(source, 0, 5 << 20, ANY) == (None, at is None)
