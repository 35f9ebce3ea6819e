"""Offset and time indexes that are written, against Kafka's tests and a plain list."""

import errno
import os
import struct
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.file_systems import FailingFileSystem
from workbench.errors import CorruptIndexError, InvalidOffsetError, OffsetOverflowError
from workbench.file_system.local import LOCAL
from workbench.files.offset_index import OffsetIndex, OffsetPosition
from workbench.files.time_index import TimeIndex, TimestampOffset
from workbench.files.writable_index import WritableOffsetIndex, WritableTimeIndex

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
    found = offsets.lookup_many(np.arange(BASE - 3, BASE + 60))
    assert list(zip(*map(list, found), strict=True)) == [
        offsets.lookup(offset) for offset in range(BASE - 3, BASE + 60)
    ]


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
        (bytes(13), "13 bytes are not whole entries of 8"),
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
    found = times.lookup_many(np.arange(60))
    assert list(zip(*map(list, found), strict=True)) == [times.lookup(time) for time in range(60)]


def test_the_last_slot_of_a_time_index_is_kept_for_the_end(times: WritableTimeIndex) -> None:
    """TI-2."""
    for n in range(11):
        assert not times.is_full
        times.maybe_append(n, BASE + n)
    assert times.is_full
    with pytest.raises(ValueError, match="full"):
        times.maybe_append(11, BASE + 11)
    with pytest.raises(ValueError, match="full"):
        times.append_many(np.array([11]), np.array([BASE + 11]))
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
        (bytes(25), "25 bytes are not whole entries of 12"),
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


# --- the file -----------------------------------------------------------------------------------


def test_nothing_is_made_before_an_index_is_used(tmp_path: Path) -> None:
    path, other = str(tmp_path / "x.index"), str(tmp_path / "y.index")
    index = WritableOffsetIndex(LOCAL, path, BASE, 35)
    index.rename_to(other)
    index.close()
    assert not index.delete_if_exists()
    assert os.listdir(tmp_path) == []
    assert index.entries == 0
    assert os.path.getsize(other) == 32  # whole entries
    assert index.delete_if_exists()
    assert os.listdir(tmp_path) == []


def test_an_index_without_room_for_one_entry_is_not_made(path: str) -> None:
    with pytest.raises(ValueError, match="7 bytes"):
        WritableOffsetIndex(LOCAL, path, BASE, 7).lookup(BASE)
    assert not os.path.exists(path)


def test_what_a_crash_leaves_counts_as_entries(path: str) -> None:
    """A broker takes the zeros of an index that was not cut for entries, and so must we."""
    index = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    index.append(BASE + 1, 10)
    index.flush()
    index.close_handler()
    crashed = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    assert (crashed.entries, crashed.last_offset) == (30, BASE)
    assert crashed.is_full
    crashed.reset()
    assert (crashed.entries, crashed.file_size) == (0, MAX)
    crashed.append(BASE + 3, 30)
    assert crashed.lookup(BASE + 5) == (BASE + 3, 30)


def test_cut_entries_stay_in_the_file_until_it_is_trimmed(path: str) -> None:
    index = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    for n in range(1, 4):
        index.append(BASE + n, n)
    index.truncate_to(BASE + 2)
    data = Path(path).read_bytes()
    assert struct.unpack_from(">6i", data) == (1, 1, 2, 2, 3, 3)
    index.trim_to_valid_size()
    assert Path(path).read_bytes() == struct.pack(">2i", 1, 1)
    index.resize()
    assert index.entries == 1


def test_an_index_goes_with_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    index = WritableOffsetIndex(LOCAL, str(folder / "0.index"), 0, MAX)
    index.append(1, 1)
    index.rename_to(str(folder / "0.index.deleted"))
    index.append(2, 2)
    folder.rename(tmp_path / "orders-0-delete")
    index.update_directory(str(tmp_path / "orders-0-delete"))
    index.append(3, 3)
    index.close()
    assert index.path == str(tmp_path / "orders-0-delete" / "0.index.deleted")
    assert index.lookup(9) == (3, 3)
    assert os.path.getsize(index.path) == 24
    assert index.delete_if_exists()


def test_a_used_index_that_is_gone_is_not_renamed(path: str, offsets: WritableOffsetIndex) -> None:
    offsets.append(BASE, 0)
    os.remove(path)
    with pytest.raises(FileNotFoundError):
        offsets.rename_to(path + ".deleted")
    assert offsets.path == path + ".deleted"


def test_a_failed_write_adds_no_entry(path: str) -> None:
    fs = FailingFileSystem(3, errno.ENOSPC, only=lambda operation: operation.kind == "write")
    index = WritableOffsetIndex(fs, path, BASE, MAX)
    times = WritableTimeIndex(fs, path + "t", BASE, MAX)
    index.append(BASE + 1, 1)
    times.maybe_append(1, BASE + 1)
    index.append(BASE + 2, 2)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        times.maybe_append(2, BASE + 2)
    assert (times.entries, times.last_entry) == (1, (1, BASE + 1))
    times.maybe_append(2, BASE + 3)
    assert (index.entries, times.last_entry) == (2, (2, BASE + 3))


def test_an_index_that_is_done_takes_neither_memory_nor_a_descriptor(path: str) -> None:
    index = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    index.append(BASE + 1, 1)
    held = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    index.trim_to_valid_size()
    if held:
        assert len(os.listdir("/proc/self/fd")) < len(held)
    assert index._columns is None  # noqa: SLF001  # memory is what this is about
    assert index.lookup(BASE + 1) == (BASE + 1, 1)


def test_lookups_while_entries_are_appended_find_sound_entries(path: str) -> None:
    index = WritableOffsetIndex(LOCAL, path, 0, 8 * 20_000)
    wrong: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for target in (10**9, 5):
                try:
                    offset, position = index.lookup(target)
                except Exception as error:  # noqa: BLE001  # whatever it is, it is wrong
                    wrong.append(error)
                    return
                if position != 3 * offset or offset > target:
                    wrong.append((offset, position))

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(3):
        for offset in range(1, 5000):
            index.append(offset, 3 * offset)
        index.truncate_to(2500)
        index.truncate()
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


class Model:
    """An index as a plain list, and the bytes of its file."""

    def __init__(self, room: int) -> None:
        self.entries: list[tuple[int, int]] = []
        self.data = bytearray(8 * room)

    @property
    def last_offset(self) -> int:
        return self.entries[-1][0] if self.entries else BASE

    def append(self, offset: int, position: int) -> None:
        at = 8 * len(self.entries)
        self.data[at : at + 8] = struct.pack(">ii", offset - BASE, position)
        self.entries.append((offset, position))

    def append_many(self, offsets: Sequence[int], positions: Sequence[int]) -> None:
        for offset, position in zip(offsets, positions, strict=True):
            self.append(int(offset), int(position))

    def truncate_to(self, offset: int) -> None:
        self.entries = [entry for entry in self.entries if entry[0] < offset]

    def truncate(self) -> None:
        self.entries = []

    def resize(self, size: int = MAX) -> bool:
        changes = size != len(self.data)
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))
        return changes

    def reset(self) -> None:
        self.truncate()
        self.resize()

    def trim_to_valid_size(self) -> None:
        self.resize(8 * len(self.entries))

    close = trim_to_valid_size

    def reopen(self) -> None:
        numbers = struct.iter_unpack(">ii", bytes(self.data))
        self.entries = [(BASE + relative, position) for relative, position in numbers]

    def arguments(self, kind: str, number: int) -> tuple[object, ...] | None:
        """Return what a step is done with; None if it may not be done now."""
        room = len(self.data) // 8 - len(self.entries)
        last = self.last_offset
        if kind == "append":
            return (last + number, 7 * last) if room else None
        if kind == "append_many":
            more = np.arange(1, number + 1)
            return (last + more, 7 * last + more) if number <= room else None
        if kind == "truncate_to":
            # In the zeros that a crash left, the result depends on the steps of the search.
            return (BASE + number,) if is_ascending(self.entries) else None
        if kind == "resize":
            return (8 * number,) if number >= len(self.entries) else None
        return ()


def is_ascending(entries: list[tuple[int, int]]) -> bool:
    return all(before < after for (before, _), (after, _) in pairwise(entries))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("append_many"), st.integers(0, 5)),
        st.tuples(st.just("truncate_to"), st.integers(-5, 60)),
        st.tuples(st.sampled_from(["truncate", "reset", "trim_to_valid_size"]), st.just(0)),
        st.tuples(st.sampled_from(["close", "crash"]), st.just(0)),
        st.tuples(st.just("resize"), st.integers(0, 25)),
    ),
    max_size=25,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_an_index_is_what_a_plain_list_is(tmp_path: Path, steps: list[tuple[str, int]]) -> None:
    path = tmp_path / "x.index"
    path.unlink(missing_ok=True)
    index, model = WritableOffsetIndex(LOCAL, str(path), BASE, MAX), Model(30)
    assert index.entries == 0
    for kind, number in steps:
        arguments = model.arguments(kind, number)
        if arguments is None:
            continue
        if kind != "crash":
            assert getattr(index, kind)(*arguments) == getattr(model, kind)(*arguments)
        if kind in {"close", "crash"}:
            index = WritableOffsetIndex(LOCAL, str(path), BASE, MAX)
            model.reopen()
        assert path.read_bytes() == bytes(model.data)
        assert [index.entry_at(n) for n in range(index.entries)] == model.entries
        assert index.last_offset == model.last_offset
        assert (index.file_size, index.max_entries) == (len(model.data), len(model.data) // 8)
    index.close()


def test_entries_written_one_by_one_or_at_once_are_the_same_file(tmp_path: Path) -> None:
    one, many = str(tmp_path / "one"), str(tmp_path / "many")
    timestamps = np.array([5, 5, 6, 9, 9, 12])
    offsets = np.array([50, 51, 51, 52, 60, 61])
    single = WritableTimeIndex(LOCAL, one, BASE, 1200)
    bulk = WritableTimeIndex(LOCAL, many, BASE, 1200)
    for timestamp, offset in zip(timestamps.tolist(), offsets.tolist(), strict=True):
        single.maybe_append(timestamp, offset)
    bulk.append_many(timestamps, offsets)
    assert bulk.last_entry == single.last_entry == (12, 61)
    single.close()
    bulk.close()
    assert Path(one).read_bytes() == Path(many).read_bytes()
    assert list(TimeIndex.read(one, BASE)) == [(5, 50), (6, 51), (9, 52), (12, 61)]
