import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import LogDirectoryError
from workbench.file_system import local
from workbench.file_system.local import LOCAL, FolderEntry, allow_open_files

LOCK_ELSEWHERE = """
import sys
from workbench.errors import LogDirectoryError
from workbench.file_system.local import LOCAL
try:
    LOCAL.lock(sys.argv[1])
except LogDirectoryError:
    sys.exit(7)
"""


def lock_in_another_process(path: Path) -> int:
    """Return 0 if another process can lock a file, 7 if it cannot."""
    command = [sys.executable, "-c", LOCK_ELSEWHERE, str(path)]
    return subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode


def test_a_file_is_written_anywhere_and_grows(tmp_path: Path) -> None:
    file = LOCAL.create(str(tmp_path / "x"))
    file.write(b"end", 10)
    file.write(np.frombuffer(b"begin", np.uint8), 0)
    assert file.size == 13
    assert file.read_bytes(0, 100) == b"begin" + bytes(5) + b"end"
    file.truncate(4)
    file.sync()
    assert file.read(0, 100).tobytes() == b"begi"
    file.close()
    assert (tmp_path / "x").read_bytes() == b"begi"


def test_a_write_that_is_cut_short_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(descriptor: int, data: bytes, position: int) -> int:
        return os.pwrite(descriptor, memoryview(data).cast("B")[:3], position)

    monkeypatch.setattr(local, "_pwrite", short)
    file = LOCAL.create(str(tmp_path / "x"))
    file.write(np.arange(10, dtype=np.uint8), 2)
    assert file.read_bytes(0, 20) == bytes([0, 0, *range(10)])


def test_making_a_file_that_is_there_leaves_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"kept")
    assert LOCAL.create(str(tmp_path / "x")).read_bytes(0, 9) == b"kept"


def test_a_closed_file_opens_again_under_its_new_name(tmp_path: Path) -> None:
    file = LOCAL.create(str(tmp_path / "x"))
    file.write(b"abc", 0)
    LOCAL.rename(str(tmp_path / "x"), str(tmp_path / "y"))
    assert file.read_bytes(0, 9) == b"abc"
    file.close()
    file.path = str(tmp_path / "y")
    assert file.read_bytes(0, 9) == b"abc"


def test_who_reads_while_another_closes_reads_the_right_file(tmp_path: Path) -> None:
    """The number of a closed file is given to the next one that is opened."""
    (tmp_path / "mine").write_bytes(b"mine" * 1000)
    (tmp_path / "other").write_bytes(b"else" * 1000)
    file = LOCAL.open(str(tmp_path / "mine"))
    wrong: list[bytes] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            data = file.read_bytes(0, 4)
            if data != b"mine":
                wrong.append(data)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(2000):
        file.close()
        other = LOCAL.open(str(tmp_path / "other"))
        assert other.read_bytes(0, 4) == b"else"
        other.close()
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_descriptor_lives_as_long_as_it_is_used(tmp_path: Path) -> None:
    file = LOCAL.create(str(tmp_path / "x"))
    descriptor = file.descriptor
    number = int(descriptor)
    file.close()
    assert os.fstat(descriptor).st_size == 0
    del descriptor
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(number)


def test_a_folder_is_listed_by_name(tmp_path: Path) -> None:
    LOCAL.make_directory(str(tmp_path / "b"))
    LOCAL.create(str(tmp_path / "c")).close()
    LOCAL.create(str(tmp_path / "a")).close()
    assert LOCAL.list(str(tmp_path)) == [
        FolderEntry("a", is_directory=False),
        FolderEntry("b", is_directory=True),
        FolderEntry("c", is_directory=False),
    ]
    LOCAL.remove(str(tmp_path / "a"))
    LOCAL.remove_directory(str(tmp_path / "b"))
    assert [entry.name for entry in LOCAL.list(str(tmp_path))] == ["c"]
    assert LOCAL.exists(str(tmp_path / "c"))
    assert not LOCAL.exists(str(tmp_path / "a"))


def test_a_small_file_is_replaced_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoint")
    LOCAL.write_atomically(path, b"old and long")
    LOCAL.write_atomically(path, b"new")
    assert LOCAL.read(path) == b"new"
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_times_are_set_in_ms(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    LOCAL.create(path).close()
    LOCAL.set_modified(path, 1_700_000_000_123)
    assert LOCAL.stat(path) == (0, 1_700_000_000_123)


def test_a_directory_is_locked_for_all_others(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    held = LOCAL.lock(str(path))
    with pytest.raises(LogDirectoryError, match="locked"):
        LOCAL.lock(str(path))
    # To be refused in the same process must not give the lock away.
    assert lock_in_another_process(path) == 7
    held.release()
    held.release()
    assert lock_in_another_process(path) == 0
    LOCAL.lock(str(path)).release()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_process_may_open_as_many_files_as_it_may_ask_for() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
