"""Offset and time indexes that are written, against Kafka's tests and a plain list."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import CorruptIndexError, InvalidOffsetError, OffsetOverflowError
from workbench.file_system.local import LOCAL
from workbench.files.indexes.offset_index import OffsetIndex, OffsetPosition, WritableOffsetIndex
from workbench.files.indexes.time_index import TimestampOffset, WritableTimeIndex

BASE = 45
MAX = 30 * 8


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "00000000000000000045.index")


@pytest.fixture
def offsets(path: str) -> WritableOffsetIndex:
    return WritableOffsetIndex(LOCAL, path, BASE, MAX)


@pytest.fixture
def times(path: str) -> WritableTimeIndex:
    return WritableTimeIndex(LOCAL, path, BASE, 12 * 12)


def filled(index: WritableTimeIndex) -> list[TimestampOffset]:
    """Append five entries, as Kafka's TimeIndexTest does; return them."""
    entries = [TimestampOffset(10 * n, BASE + 10 * n) for n in range(1, 6)]
    for entry in entries:
        index.maybe_append(*entry)
    return entries


# --- the offset index ---------------------------------------------------------------------------


def test_an_offset_leads_to_the_last_entry_at_or_before_it(offsets: WritableOffsetIndex) -> None:
    """OI-1."""
    assert offsets.lookup(BASE + 3) == (BASE, 0)
    entries = [(BASE + 2 * n, 100 * n) for n in range(1, 20)]
    for entry in entries:
        offsets.append(*entry)
    for offset, position in entries:
        assert offsets.lookup(offset) == (offset, position)
        assert offsets.lookup(offset + 1) == (offset, position)
    assert offsets.lookup(BASE + 1) == (BASE, 0)
    assert offsets.lookup(BASE - 1) == (BASE, 0)
    assert offsets.lookup(BASE + 10**6) == entries[-1]


def test_an_entry_has_a_number(offsets: WritableOffsetIndex) -> None:
    """OI-2."""
    with pytest.raises(IndexError, match="no entry 0"):
        offsets.entry_at(0)
    for n in range(1, 4):
        offsets.append(BASE + n, n)
    assert [offsets.entry_at(n) for n in range(3)] == [(BASE + n, n) for n in range(1, 4)]
    with pytest.raises(IndexError):
        offsets.entry_at(3)


def test_a_full_index_takes_no_more(offsets: WritableOffsetIndex) -> None:
    """OI-3."""
    for n in range(1, 31):
        assert not offsets.is_full
        offsets.append(BASE + n, n)
    assert offsets.is_full
    with pytest.raises(ValueError, match="full"):
        offsets.append(BASE + 31, 31)
    with pytest.raises(ValueError, match="full"):
        offsets.append_many(np.array([BASE + 31]), np.array([31]))
    assert offsets.entries == 30


def test_offsets_must_ascend_and_be_near(offsets: WritableOffsetIndex) -> None:
    """OI-3."""
    offsets.append(BASE + 51, 0)
    for offset in (BASE + 50, BASE + 51):
        with pytest.raises(InvalidOffsetError, match=str(BASE + 51)):
            offsets.append(offset, 1)
        with pytest.raises(InvalidOffsetError):
            offsets.append_many(np.array([offset]), np.array([1]))
    with pytest.raises(InvalidOffsetError):
        offsets.append_many(np.array([BASE + 60, BASE + 60]), np.array([1, 2]))
    for append in (offsets.append, lambda o, p: offsets.append_many(np.array([o]), np.array([p]))):
        with pytest.raises(OffsetOverflowError):
            append(BASE + 2**31, 1)
    assert offsets.can_append_offset(BASE + 2**31 - 1)
    assert not offsets.can_append_offset(BASE + 2**31)
    assert not offsets.can_append_offset(BASE - 1)
    offsets.append(BASE + 2**31 - 1, 1)
    assert offsets.last_offset == BASE + 2**31 - 1


def test_the_first_offset_may_not_be_before_the_segment(offsets: WritableOffsetIndex) -> None:
    with pytest.raises(OffsetOverflowError):
        offsets.append(BASE - 1, 0)
    assert offsets.entries == 0


def test_the_upper_bound_of_a_fetch(offsets: WritableOffsetIndex) -> None:
    """OI-4."""
    first, second, third, fourth = entries = [
        OffsetPosition(BASE + n, position) for n, position in enumerate((0, 10, 23, 37))
    ]
    assert offsets.fetch_upper_bound(first.position, 5) is None
    for entry in entries:
        offsets.append(*entry)
    assert offsets.fetch_upper_bound(first.position, 5) == second
    assert offsets.fetch_upper_bound(first.position, 10) == second
    assert offsets.fetch_upper_bound(first.position, 22) == third
    assert offsets.fetch_upper_bound(first.position, 23) == third
    assert offsets.fetch_upper_bound(second.position, 24) == fourth
    assert offsets.fetch_upper_bound(fourth.position, 1) is None
    assert offsets.fetch_upper_bound(first.position, 200) is None


def test_a_closed_index_has_only_its_entries_and_opens_again(path: str) -> None:
    """OI-5."""
    index = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    index.append(BASE + 51, 111)
    index.append(BASE + 52, 112)
    assert os.path.getsize(path) == MAX
    index.close()
    assert os.path.getsize(path) == 16
    again = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    assert (again.entries, again.last_offset, again.max_entries) == (2, BASE + 52, 2)
    assert again.lookup(BASE + 51) == (BASE + 51, 111)
    assert list(OffsetIndex.read(path, BASE)) == [(BASE + 51, 111), (BASE + 52, 112)]
    with pytest.raises(ValueError, match="full"):
        again.append(BASE + 53, 113)
    assert again.resize()
    again.append(BASE + 53, 113)
    assert again.lookup(BASE + 53) == (BASE + 53, 113)


def test_entries_are_cut_by_offset(path: str) -> None:
    """OI-6."""
    index = WritableOffsetIndex(LOCAL, path, 0, 10 * 8)
    index.truncate()
    for n in range(1, 10):
        index.append(n, n)

    def last(expected: int) -> None:
        assert index.last_offset == expected
        assert index.lookup(100) == (expected, expected)
        assert index.entries == expected

    index.truncate_to(12)
    last(9)
    index.append(10, 10)
    index.truncate_to(11)
    last(10)
    index.truncate_to(10)
    last(9)
    index.append(10, 10)
    index.truncate_to(9)
    last(8)
    index.append(9, 9)
    index.truncate_to(5)
    last(4)
    index.append(5, 5)
    last(5)
    index.truncate()
    last(0)
    index.append(1, 1)
    last(1)


def test_a_last_offset_equal_to_the_base_offset_is_sane(offsets: WritableOffsetIndex) -> None:
    """OI-7."""
    offsets.append(BASE, 0)
    offsets.sanity_check()
    assert offsets.last_offset == BASE


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (struct.pack(">iiii", 7, 0, -1, 8), "the last offset is 44, below 45"),
        (bytes(13), "13 bytes are not a multiple of 8"),
    ],
)
def test_an_index_that_cannot_be_is_refused(path: str, data: bytes, words: str) -> None:
    Path(path).write_bytes(data)
    with pytest.raises(CorruptIndexError, match=words):
        WritableOffsetIndex(LOCAL, path, BASE, MAX).sanity_check()


# --- the time index -----------------------------------------------------------------------------


def test_a_time_leads_to_the_last_entry_at_or_before_it(times: WritableTimeIndex) -> None:
    """TI-1."""
    assert times.lookup(100) == (-1, BASE)
    filled(times)
    assert times.lookup(9) == (-1, BASE)
    assert times.lookup(10) == (10, BASE + 10)
    assert times.lookup(25) == (20, BASE + 20)
    assert times.lookup(30) == (30, BASE + 30)
    assert times.lookup(10**15) == (50, BASE + 50)


def test_the_last_slot_of_a_time_index_is_kept_for_the_end(times: WritableTimeIndex) -> None:
    """TI-2."""
    for n in range(11):
        assert not times.is_full
        times.maybe_append(n, BASE + n)
    assert times.is_full
    with pytest.raises(ValueError, match="full"):
        times.maybe_append(11, BASE + 11)
    for timestamp in (10, 11):  # also one that would add nothing
        with pytest.raises(ValueError, match="full"):
            times.append_many(np.array([timestamp]), np.array([BASE + 11]))
        with pytest.raises(ValueError, match="full"):
            times.maybe_append(timestamp, BASE + 11)
    times.maybe_append(11, BASE + 11, skip_full_check=True)
    assert times.last_entry == (11, BASE + 11)
    times.maybe_append(11, BASE + 11, skip_full_check=True)
    with pytest.raises(ValueError, match="no room"):
        times.maybe_append(12, BASE + 12, skip_full_check=True)


def test_times_and_offsets_may_not_fall(times: WritableTimeIndex) -> None:
    """TI-2."""
    filled(times)
    with pytest.raises(InvalidOffsetError, match=str(BASE + 50)):
        times.maybe_append(10_000, BASE + 49)
    with pytest.raises(ValueError, match="timestamp 49"):
        times.maybe_append(49, BASE + 60)
    times.maybe_append(50, BASE + 50)
    times.maybe_append(50, BASE + 60)
    assert times.entries == 5
    with pytest.raises(OffsetOverflowError):
        times.maybe_append(60, BASE + 2**31)
    with pytest.raises(InvalidOffsetError):
        times.append_many(np.array([60, 70]), np.array([BASE + 60, BASE + 59]))
    with pytest.raises(ValueError, match="timestamps fall"):
        times.append_many(np.array([60, 59]), np.array([BASE + 60, BASE + 61]))
    with pytest.raises(OffsetOverflowError):
        times.append_many(np.array([60, 61]), np.array([BASE + 60, BASE + 2**31]))
    assert times.entries == 5


def test_records_without_times_have_no_entries(times: WritableTimeIndex) -> None:
    times.maybe_append(-1, BASE)
    times.append_many(np.array([-1, -1]), np.array([BASE, BASE + 1]))
    assert times.entries == 0


def test_entries_of_a_time_index_are_cut_by_offset(times: WritableTimeIndex) -> None:
    """TI-3."""
    filled(times)
    times.truncate_to(BASE + 51)
    assert times.entries == 5
    times.truncate_to(BASE + 50)
    assert times.last_entry == (40, BASE + 40)
    times.truncate_to(BASE + 35)
    assert times.last_entry == (30, BASE + 30)
    times.truncate_to(BASE + 10)
    assert times.entries == 0
    assert times.last_entry == (-1, BASE)
    filled(times)
    times.truncate()
    assert times.entries == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (struct.pack(">qiqi", 20, 1, 10, 2), "the last timestamp is 10, the first 20"),
        (struct.pack(">qiqi", 10, 1, 20, -1), "the last offset is 44, below 45"),
        (bytes(25), "25 bytes are not a multiple of 12"),
    ],
)
def test_a_time_index_that_cannot_be_is_refused(path: str, data: bytes, words: str) -> None:
    """TI-4."""
    Path(path).write_bytes(data)
    with pytest.raises(CorruptIndexError, match=words):
        WritableTimeIndex(LOCAL, path, BASE, MAX).sanity_check()


def test_sound_time_indexes_are_sane(times: WritableTimeIndex) -> None:
    """TI-4."""
    times.sanity_check()
    filled(times)
    times.sanity_check()


def test_an_empty_time_index_ends_before_all_times(times: WritableTimeIndex) -> None:
    """TI-5."""
    assert times.last_entry == (-1, BASE)
    with pytest.raises(IndexError):
        times.entry_at(0)
    entries = filled(times)
    assert times.last_entry == entries[-1]
    assert [times.entry_at(n) for n in range(5)] == entries
    assert times.size_in_bytes == 60


def test_an_index_of_the_same_size_is_left_alone(times: WritableTimeIndex) -> None:
    """TI-6."""
    entries = filled(times)
    assert not times.resize(12 * 12)
    assert not times.resize(12 * 12 + 5)
    assert times.resize(6 * 12)
    assert (times.max_entries, times.file_size, times.last_entry) == (6, 72, entries[-1])
    assert not times.resize(6 * 12 + 11)
    with pytest.raises(ValueError, match="5 entries do not fit"):
        times.resize(4 * 12)
