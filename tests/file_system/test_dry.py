"""Whatever is done through a dry file system: it looks done, and the disk is as before."""

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import LogDirectoryError
from workbench.file_system.dry import Change, DryFileSystem
from workbench.file_system.local import LOCAL, File, FileSystem
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_table import scan_batches

NOW = 1_700_000_000_000

FOLDERS = ["", "a", "b", "a/in"]
NAMES = ["x", "y"]
PATHS = [os.path.join(folder, name) for folder in FOLDERS for name in NAMES]

path = st.sampled_from(PATHS)
folder = st.sampled_from(FOLDERS[1:])
position = st.integers(0, 40)
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), path, st.binary(max_size=20), position),
    st.tuples(st.just("truncate"), path, position),
    st.tuples(st.just("create"), path),
    st.tuples(st.just("remove"), path),
    st.tuples(st.just("rename"), path | folder, path | folder),
    st.tuples(st.just("write_atomically"), path, st.binary(max_size=20)),
    st.tuples(st.just("make_directory"), folder),
    st.tuples(st.just("remove_directory"), folder),
    st.tuples(st.just("close"), path),
)


def fill(root: str) -> None:
    """Make some files and folders to begin with."""
    os.makedirs(os.path.join(root, "a", "in"))
    for number, name in enumerate(["x", "a/x", "a/in/y"]):
        Path(root, name).write_bytes(bytes(range(number, 30 + number)))


@contextmanager
def twins() -> Iterator[tuple[str, str]]:
    """Give two equal folders."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        fill(one)
        fill(other)
        yield one, other


class Doer:
    """Does operations on a file system below a folder, with files that remain open."""

    def __init__(self, fs: FileSystem, root: str) -> None:
        self.fs = fs
        self.root = root
        self.files: dict[str, File] = {}

    def do(self, kind: str, *arguments: Any) -> type[BaseException] | None:
        """Do one operation; return the error that it raised."""
        paths = [
            os.path.join(self.root, item) if isinstance(item, str) else item for item in arguments
        ]
        try:
            if kind in {"write", "truncate", "close"}:
                file = self.files.setdefault(arguments[0], self.fs.open(paths[0]))
                getattr(file, kind)(*paths[1:])
            else:
                getattr(self.fs, kind)(*paths)
        except OSError as error:
            return type(error)
        return None

    def seen(self) -> dict[str, bytes | None]:
        """Return all files with their bytes, and folders, as the file system lists them."""
        found: dict[str, bytes | None] = {}
        folders = [""]
        while folders:
            name = folders.pop()
            for entry in self.fs.list(os.path.join(self.root, name)):
                inner = os.path.join(name, entry.name)
                where = os.path.join(self.root, inner)
                assert self.fs.exists(where)
                if entry.is_directory:
                    found[inner] = None
                    folders.append(inner)
                else:
                    found[inner] = self.fs.read(where)
                    assert self.fs.stat(where).size == len(found[inner] or b"")
                    assert self.fs.open(where).read(3, 9).tobytes() == self.fs.read(where)[3:12]
        return found

    def close(self) -> None:
        for file in self.files.values():
            file.close()


@given(st.lists(OPERATIONS, max_size=15))
def test_a_dry_file_system_shows_what_a_real_one_has(operations: list[tuple[Any, ...]]) -> None:
    with twins() as (one, other):
        before = Doer(LOCAL, one).seen()
        dry, real = Doer(DryFileSystem(now=lambda: NOW), one), Doer(LOCAL, other)
        for operation in operations:
            assert dry.do(*operation) == real.do(*operation)
            assert dry.seen() == real.seen()
        assert Doer(LOCAL, one).seen() == before
        dry.close()
        real.close()


def test_changes_are_told_in_order_and_writes_in_a_row_as_one(tmp_path: Path) -> None:
    fs = DryFileSystem(now=lambda: NOW)
    (tmp_path / "old").write_bytes(bytes(100))
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    fs.open(old).truncate(40)
    file = fs.create(new)
    file.write(b"abc", 0)
    file.write(b"def", 3)
    file.sync()
    fs.rename(new, new + "er")
    fs.remove(old)
    assert fs.changes == (
        Change("truncate", old, size=40),
        Change("create", new),
        Change("write", new, size=6),
        Change("rename", new, target=new + "er"),
        Change("remove", old),
    )
    assert fs.read(new + "er") == b"abcdef"
    assert sorted(os.listdir(tmp_path)) == ["old"]


def test_a_log_that_is_only_cut_is_not_copied_to_be_walked(tmp_path: Path) -> None:
    batch = bytes(MemoryRecords.of((b"k", b"v"), timestamp=1))
    log = tmp_path / "0.log"
    log.write_bytes(batch * 100)
    file = DryFileSystem(now=lambda: NOW).open(str(log))
    file.truncate(40 * len(batch) + 3)
    table = scan_batches(file)
    assert (len(table), table.valid_size) == (40, 40 * len(batch))
    assert os.path.samestat(os.fstat(file.descriptor), os.stat(log))
    file.close()


def test_a_log_that_is_written_to_can_be_walked_too(tmp_path: Path) -> None:
    batch = bytes(MemoryRecords.of((b"k", b"v"), timestamp=1))
    log = tmp_path / "0.log"
    log.write_bytes(batch * 10)
    file = DryFileSystem(now=lambda: NOW).open(str(log))
    file.truncate(2 * len(batch))
    file.write(batch * 3, 2 * len(batch))
    assert len(scan_batches(file)) == 5
    file.write(batch, 5 * len(batch))
    assert len(scan_batches(file)) == 6
    assert log.read_bytes() == batch * 10


@pytest.mark.parametrize("size", [1 << 16, 40 << 20])
def test_a_file_written_in_any_order_holds_the_bytes(tmp_path: Path, size: int) -> None:
    """Also when it is more than is kept in memory."""
    fs = DryFileSystem(now=lambda: NOW)
    file = fs.create(str(tmp_path / "large"))
    expected = np.zeros(size, np.uint8)
    step = size // 16
    for number in (3, 7, 1, 15, 0, 7):
        piece = np.full(step, number + 1, np.uint8)
        file.write(piece, number * step)
        expected[number * step : (number + 1) * step] = piece
    got = np.empty(size, np.uint8)
    assert file.read_into(got, 0) == size
    assert np.array_equal(got, expected)
    file.truncate(size // 2)
    file.truncate(size)
    expected[size // 2 :] = 0
    file.read_into(got, 0)
    assert np.array_equal(got, expected)
    assert not os.listdir(tmp_path)


def test_times_can_be_set_without_touching_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    before = LOCAL.stat(str(path))
    fs = DryFileSystem(now=lambda: NOW)
    assert fs.stat(str(path)) == before
    fs.set_modified(str(path), 1234)
    assert fs.stat(str(path)).modified_ms == 1234
    assert LOCAL.stat(str(path)) == before


def test_what_is_changed_has_the_time_of_the_clock_that_is_given(tmp_path: Path) -> None:
    """A file in memory is as old as the broker's clock says, whatever the machine's says."""
    old = tmp_path / "old"
    old.write_bytes(b"x" * 10)
    fs = DryFileSystem(now=lambda: NOW)
    fs.open(str(old)).truncate(4)
    fs.create(str(tmp_path / "new"))
    fs.make_directory(str(tmp_path / "in"))
    fs.create(str(tmp_path / "in" / "new"))
    paths = [str(tmp_path / name) for name in ("old", "new", "in/new")]
    assert [fs.stat(path).modified_ms for path in paths] == [NOW] * 3


def test_a_directory_in_use_can_be_looked_at(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    held = LOCAL.lock(path)
    DryFileSystem(now=lambda: NOW).lock(path).release()
    with pytest.raises(LogDirectoryError):  # the dry lock has not released the real one
        LOCAL.lock(path)
    held.release()


def test_a_folder_is_listed_as_it_was_at_first_with_the_changes_on_top(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).touch()
    fs = DryFileSystem(now=lambda: NOW)
    assert [entry.name for entry in fs.list(str(tmp_path))] == ["one", "two"]
    (tmp_path / "later").touch()
    fs.remove(str(tmp_path / "two"))
    fs.create(str(tmp_path / "new"))
    assert [entry.name for entry in fs.list(str(tmp_path))] == ["new", "one"]


def test_what_is_past_a_hole_of_a_changed_file(tmp_path: Path) -> None:
    """No byte that is not zero is passed over, whatever was written or cut."""
    randomly = random.Random(9)
    for number in range(60):
        path = str(tmp_path / f"{number}.log")
        with open(path, "wb") as file:
            for _ in range(randomly.randrange(3)):
                file.seek(randomly.randrange(300_000))
                file.write(b"x" * randomly.randrange(20_000))
        fs = DryFileSystem(now=lambda: 0)
        dry = fs.open(path)
        for _ in range(randomly.randrange(4)):
            if randomly.random() < 0.5:
                dry.write(b"y" * randomly.randrange(1, 5000), randomly.randrange(300_000))
            else:
                dry.truncate(randomly.randrange(400_000))
        size = dry.size
        content = dry.read_bytes(0, size)
        for _ in range(20):
            start = randomly.randrange(size + 1)
            end = randomly.randrange(start, size + 1)
            found = dry.past_hole(start, end)
            assert start <= found <= end
            assert not content[start:found].strip(b"\0")
        dry.close()
