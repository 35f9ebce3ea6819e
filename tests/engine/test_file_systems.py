"""What a crash may leave, and that all of it is tried."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.crash_states import CrashState, crash_states
from tests.engine.file_systems import FailingFileSystem, RecordingFileSystem, tree
from workbench.file_system.local import LOCAL, FileSystem


def states(root: Path, work: Callable[[RecordingFileSystem], None]) -> list[CrashState]:
    recording = RecordingFileSystem(root)
    work(recording)
    assert recording.operations
    found = list(crash_states(recording, extra=5))
    assert tree(str(root)) in [state.tree for state in found]
    return found


def test_what_was_synced_is_in_every_state_after_it(tmp_path: Path) -> None:
    def work(fs: RecordingFileSystem) -> None:
        file = fs.create(str(tmp_path / "0.log"))
        file.write(b"a" * 2000, 0)
        file.sync()
        fs.sync_directory(str(tmp_path))
        fs.mark("flushed")
        file.write(b"b" * 2000, 2000)

    found = states(tmp_path, work)
    flushed = [state for state in found if "flushed" in state.marks]
    assert flushed
    assert all((state.tree["0.log"] or b"").startswith(b"a" * 2000) for state in flushed)
    assert any(state.tree == {} for state in found)


def test_the_last_write_may_be_there_in_part(tmp_path: Path) -> None:
    def work(fs: RecordingFileSystem) -> None:
        file = fs.create(str(tmp_path / "x"))
        file.write(b"a" * 100, 0)
        file.write(b"b" * 2000, 100)

    sizes = {len(state.tree.get("x") or b"") for state in states(tmp_path, work)}
    assert {0, 100, 101, 2100} <= sizes
    assert any((size % 512) == 0 for size in sizes - {0})
    bodies = {state.tree.get("x") or b"" for state in states(tmp_path, work)}
    assert b"a" * 100 + bytes(2000) in bodies  # the size was written, the bytes were not


def test_names_may_be_lost_from_the_last_on(tmp_path: Path) -> None:
    def work(fs: RecordingFileSystem) -> None:
        for name in ("a", "b", "c"):
            fs.create(str(tmp_path / name)).close()

    names = {tuple(sorted(state.tree)) for state in states(tmp_path, work)}
    assert names == {(), ("a",), ("a", "b"), ("a", "b", "c")}


def test_folders_lose_their_names_each_for_itself(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    def work(fs: RecordingFileSystem) -> None:
        fs.create(str(tmp_path / "one/a")).close()
        fs.create(str(tmp_path / "two/b")).close()

    names = {frozenset(state.tree) - {"one", "two"} for state in states(tmp_path, work)}
    assert names == {
        frozenset(),
        frozenset({"one/a"}),
        frozenset({"two/b"}),
        frozenset({"one/a", "two/b"}),
    }


def test_a_file_replaced_atomically_is_never_half_of_each(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"old")

    def work(fs: RecordingFileSystem) -> None:
        fs.write_atomically(str(tmp_path / "checkpoint"), b"new and longer" * 100)
        fs.mark("written")

    found = states(tmp_path, work)
    assert {state.tree["checkpoint"] for state in found} == {b"old", b"new and longer" * 100}
    after = [state.tree["checkpoint"] for state in found if state.marks]
    assert set(after) == {b"new and longer" * 100}


def test_a_replacement_that_is_not_synced_may_be_empty(tmp_path: Path) -> None:
    """Otherwise a forgotten sync would never be noticed."""
    (tmp_path / "checkpoint").write_bytes(b"old")

    def work(fs: RecordingFileSystem) -> None:
        fs.create(str(tmp_path / "new")).write(b"new", 0)
        fs.rename(str(tmp_path / "new"), str(tmp_path / "checkpoint"))
        fs.sync_directory(str(tmp_path))

    assert b"" in {state.tree["checkpoint"] for state in states(tmp_path, work)}


def test_a_cut_that_is_not_synced_may_be_undone(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")

    def work(fs: RecordingFileSystem) -> None:
        file = fs.open(str(tmp_path / "x"))
        file.truncate(4)
        file.sync()
        file.truncate(2)

    assert {state.tree["x"] for state in states(tmp_path, work)} == {b"0123456789", b"0123", b"01"}


def test_a_file_keeps_its_bytes_under_a_new_name_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0/0.log").write_bytes(b"abc")

    def work(fs: RecordingFileSystem) -> None:
        file = fs.open(str(tmp_path / "orders-0/0.log"))
        file.write(b"d", 3)
        fs.rename(str(tmp_path / "orders-0"), str(tmp_path / "orders-0-delete"))
        file.write(b"e", 4)
        fs.create(str(tmp_path / "orders-0-delete/1.log")).close()
        fs.sync_directory(str(tmp_path / "orders-0-delete"))

    found = states(tmp_path, work)
    ends = {(path, data) for state in found for path, data in state.tree.items() if data}
    assert ("orders-0/0.log", b"abcde") in ends
    assert ("orders-0-delete/0.log", b"abc") in ends
    # The folder was synced, its name was not.
    assert any({"orders-0", "orders-0/1.log"} <= set(state.tree) for state in found[-8:])


def test_a_state_can_be_written_out(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    fs = RecordingFileSystem(source)
    fs.make_directory(str(source / "a"))
    fs.create(str(source / "a/x")).write(b"abc", 0)
    for number, state in enumerate(crash_states(fs)):
        target = tmp_path / str(number)
        state.write_to(target)
        assert tree(str(target)) == state.tree


def work_on(fs: FileSystem, root: Path) -> None:
    """Do one of everything."""
    fs.make_directory(str(root / "a"))
    file = fs.create(str(root / "a/x"))
    file.write(b"0123456789", 0)
    file.truncate(8)
    file.sync()
    fs.rename(str(root / "a/x"), str(root / "a/y"))
    fs.sync_directory(str(root / "a"))
    fs.set_modified(str(root / "a/y"), 1)
    fs.remove(str(root / "a/y"))
    fs.remove_directory(str(root / "a"))
    file.close()


def test_every_change_can_fail(tmp_path: Path) -> None:
    fs = FailingFileSystem()
    work_on(fs, tmp_path)
    assert fs.count == 10
    for number in range(fs.count):
        root = tmp_path / str(number)
        root.mkdir()
        failing = FailingFileSystem(number, errno.ENOSPC)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            work_on(failing, root)
        assert failing.count == number + 1


def test_a_write_can_fail_half_way(tmp_path: Path) -> None:
    fs = FailingFileSystem(2, "short")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        work_on(fs, tmp_path)
    assert (tmp_path / "a/x").read_bytes() == b"01234"
    assert LOCAL.exists(str(tmp_path / "a/x"))
    assert fs.failed is not None
    assert fs.failed.kind == "write"


def test_a_failure_can_stay(tmp_path: Path) -> None:
    fs = FailingFileSystem(1, stays=True, only=lambda operation: operation.kind == "write")
    file = fs.create(str(tmp_path / "x"))
    file.write(b"a", 0)
    for _ in range(3):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            file.write(b"b", 1)
    file.sync()
    assert (tmp_path / "x").read_bytes() == b"a"
    file.close()
