"""The file of an index that is written, against a plain list and its bytes."""

import errno
import os
import struct
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.file_systems import FailingFileSystem
from workbench.errors import CorruptIndexError
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL, FileSystem
from workbench.file_system.source import FileSource
from workbench.files.indexes import entry_file
from workbench.files.indexes.entry_file import KeptIndexes
from workbench.files.indexes.offset_index import OffsetIndex, WritableOffsetIndex
from workbench.files.indexes.stored_columns import StoredColumns
from workbench.files.indexes.time_index import TimeIndex, WritableTimeIndex

BASE = 45
MAX = 30 * 8


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "00000000000000000045.index")


@pytest.fixture
def offsets(path: str) -> WritableOffsetIndex:
    return WritableOffsetIndex(LOCAL, path, BASE, MAX)


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
    index.write_out()
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


def test_entries_that_could_not_be_written_are_written_the_next_time(path: str) -> None:
    fs = FailingFileSystem(1, errno.ENOSPC, only=lambda operation: operation.kind == "write")
    index = WritableOffsetIndex(fs, path, BASE, MAX)
    for n in range(1, 4):
        index.append(BASE + n, n)
        if n == 2:
            index.write_out()
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        index.flush()
    assert (index.entries, index.last_offset, index.lookup(BASE + 9)) == (
        3,
        BASE + 3,
        (BASE + 3, 3),
    )
    assert struct.unpack_from(">6i", Path(path).read_bytes()) == (1, 1, 2, 2, 0, 0)
    index.close_handler()
    assert index.lookup(BASE + 9) == (BASE + 3, 3)
    index.flush()
    assert struct.unpack_from(">6i", Path(path).read_bytes()) == (1, 1, 2, 2, 3, 3)


def test_no_more_than_a_few_entries_wait_to_be_written(path: str) -> None:
    many = 3 * entry_file.MOST_BEHIND
    index = WritableOffsetIndex(LOCAL, path, -1, 8 * many)
    times = WritableTimeIndex(LOCAL, path + "t", -1, 12 * (many + 1))
    for n in range(many):
        index.append(n, n + 1)
        times.maybe_append(n, n)
        if (n + 1) % entry_file.MOST_BEHIND == 0:
            offsets, timestamps = OffsetIndex.read(path, -1), TimeIndex.read(path + "t", -1)
            assert offsets[n] == index.entry_at(n) == (n, n + 1)
            assert timestamps[n] == times.entry_at(n) == (n, n)


def test_an_index_that_is_done_takes_neither_memory_nor_a_descriptor(path: str) -> None:
    index = WritableOffsetIndex(LOCAL, path, BASE, MAX)
    index.append(BASE + 1, 1)
    index.write_out()
    held = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    index.trim_to_valid_size()
    if held:
        assert len(os.listdir("/proc/self/fd")) < len(held)
    assert index._columns is None  # noqa: SLF001  # memory is what this is about
    assert index.lookup(BASE + 1) == (BASE + 1, 1)


def test_indexes_that_were_looked_into_are_forgotten_when_they_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_file, "KEPT", KeptIndexes(2000))
    indexes = []
    for number in range(5):
        index = WritableOffsetIndex(LOCAL, str(tmp_path / str(number)), 0, 1600)
        index.append_many(np.arange(1, 101), np.arange(1, 101))
        index.trim_to_valid_size()
        index.resize(1600)
        indexes.append(index)
    for index in indexes:
        assert index.lookup(200) == (100, 100)
    held = [index._columns is not None for index in indexes]  # noqa: SLF001
    assert held == [False, False, False, True, True]
    for number in range(101, 120):
        for index in indexes:
            index.append(number, number)
            assert index.lookup(number - 1) == (number - 1, number - 1)
            assert index.lookup(200) == (number, number)


@pytest.mark.parametrize("ascends", [True, False])
@pytest.mark.parametrize("kind", [WritableOffsetIndex, WritableTimeIndex])
def test_a_large_index_is_searched_in_its_file_like_one_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[WritableOffsetIndex | WritableTimeIndex],
    *,
    ascends: bool,
) -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(-5, 9000, 2000)
    numbers = np.unique(numbers) if ascends else numbers
    entries = np.empty(len(numbers), kind.entry)
    for name in entries.dtype.names or ():
        entries[name] = numbers
    paths = [tmp_path / "held", tmp_path / "searched"]
    for path in paths:
        path.write_bytes(entries.tobytes())
    held, searched = (kind(LOCAL, str(path), BASE) for path in paths)
    held.lookup(BASE)  # read before the limit changes
    monkeypatch.setattr(entry_file, "LARGEST_HELD", 1000)
    wanted = rng.integers(-9, 10_000, 200)
    assert [all_lookups(searched, target) for target in wanted.tolist()] == [
        all_lookups(held, target) for target in wanted.tolist()
    ]
    assert isinstance(searched._columns, StoredColumns)  # noqa: SLF001  # what this is about
    for index in (held, searched):
        index.truncate_to(BASE + 4000)
        if isinstance(index, WritableOffsetIndex):
            index.append(BASE + 9999, 9999)
    every = [[index.entry_at(n) for n in range(index.entries)] for index in (held, searched)]
    assert every[0] == every[1]
    for index in (held, searched):
        index.close()
    assert paths[0].read_bytes() == paths[1].read_bytes()


def all_lookups(index: WritableOffsetIndex | WritableTimeIndex, target: int) -> list[object]:
    found: list[object] = [index.lookup(target), index.probes(target)]
    if isinstance(index, WritableOffsetIndex):
        found.append(index.fetch_upper_bound(target, 3))
    return found


@pytest.mark.parametrize("kind", [WritableOffsetIndex, WritableTimeIndex])
def test_an_index_that_a_broker_cannot_map_is_refused(
    path: str, kind: type[WritableOffsetIndex | WritableTimeIndex]
) -> None:
    Path(path).touch()
    os.truncate(path, 2**31 - 1)
    assert kind(LOCAL, path, BASE).entries == (2**31 - 1) // kind.entry.itemsize
    assert kind(LOCAL, path, BASE).entry_at(99) is not None
    os.truncate(path, 1 << 40)
    wanted = "1099511627776 bytes, expected at most 2147483647"
    with pytest.raises(CorruptIndexError, match=wanted) as caught:
        kind(LOCAL, path, BASE).lookup(BASE)
    assert caught.value.path == path


def write_and_forget(index: WritableOffsetIndex, done: threading.Event) -> None:
    while not done.is_set():
        index.write_out()
        index.forget()


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
    readers.append(threading.Thread(target=write_and_forget, args=[index, done]))
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
        self.written = 0
        self.data = bytearray(8 * room)

    @property
    def last_offset(self) -> int:
        return self.entries[-1][0] if self.entries else BASE

    def append(self, offset: int, position: int) -> None:
        self.entries.append((offset, position))

    def write_out(self) -> None:
        for slot in range(self.written, len(self.entries)):
            offset, position = self.entries[slot]
            self.data[8 * slot : 8 * slot + 8] = struct.pack(">ii", offset - BASE, position)
        self.written = len(self.entries)

    def append_many(self, offsets: Sequence[int], positions: Sequence[int]) -> None:
        for offset, position in zip(offsets, positions, strict=True):
            self.append(int(offset), int(position))
        if len(offsets):
            self.write_out()

    def truncate_to(self, offset: int) -> None:
        self.entries = [entry for entry in self.entries if entry[0] < offset]
        self.written = min(self.written, len(self.entries))

    def truncate(self) -> None:
        self.entries = []
        self.written = 0

    def resize(self, size: int = MAX) -> bool:
        self.write_out()
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
        self.written = len(self.entries)

    def arguments(self, kind: str, number: int) -> tuple[object, ...] | None:
        """Return what a step is done with; None if it cannot be done now."""
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
        st.tuples(st.just("write_out"), st.just(0)),
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


@pytest.mark.parametrize("fs", [LOCAL, DryFileSystem(now=lambda: 0)])
def test_holes_are_zeros_that_are_not_read(
    path: str, monkeypatch: pytest.MonkeyPatch, fs: FileSystem
) -> None:
    """An index of 10 MiB that a crash left allocated has a page of entries."""
    count, step = (10 << 20) // 8, 20_000
    entries = np.zeros(count, OffsetIndex.entry)
    for start in (0, count // 2 - 7, count - 3):
        run = entries[start : start + step]
        run["relative_offset"], run["position"] = np.arange(1, len(run) + 1), 9
    with open(path, "wb") as file:
        for start in (0, count // 2 - 7, count - 3):
            file.seek(start * 8)
            file.write(entries[start : start + step].tobytes())
    is_sparse = os.stat(path).st_blocks * 512 < 1 << 20
    read: list[int] = []
    read_into = FileSource.read_into

    def count_read(file: FileSource, buffer: Any, position: int) -> int:
        read.append(len(buffer))
        return read_into(file, buffer, position)

    monkeypatch.setattr(FileSource, "read_into", count_read)
    index = WritableOffsetIndex(fs, path, BASE, 10 << 20)
    slots = (0, step - 1, step, count // 2 - 8, count // 2, count - 1)
    assert [index.entry_at(at) for at in slots] == [
        (BASE + int(entries[at]["relative_offset"]), int(entries[at]["position"])) for at in slots
    ]
    assert not is_sparse or sum(read) < 3 << 20
