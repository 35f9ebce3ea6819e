import os
import resource
import socket
from pathlib import Path

import pytest

from workbench.errors import LogDirectoryError, OutputError
from workbench.foresight.copies.copying import copy_log_directory

SPARSE = 10 << 20  # bytes


def _directory(path: Path) -> Path:
    (path / "orders-0").mkdir(parents=True)
    (path / "orders-0" / f"{0:020d}.log").write_bytes(b"log")
    (path / ".lock").touch()
    (path / "meta.properties").write_text("version=1\n")
    index = path / "orders-0" / f"{0:020d}.index"
    with index.open("wb") as file:
        file.write(b"entries!")
        file.truncate(SPARSE // 2)
        file.seek(SPARSE - 5)
        file.write(b"end")
        file.truncate(SPARSE)
    for each in (index, path / "orders-0", path):
        os.utime(each, ns=(0, 1_600_000_000_123_000_000))
    return path


def test_a_copy_has_the_bytes_times_and_holes(tmp_path: Path) -> None:
    source = _directory(tmp_path / "data")
    assert copy_log_directory(str(source), str(tmp_path / "copy")) == []
    for each in (source, *source.rglob("*")):
        copy = tmp_path / "copy" / each.relative_to(source)
        if each.name == ".lock":
            assert not copy.exists()
            continue
        assert copy.stat().st_mtime_ns == each.stat().st_mtime_ns
        if each.is_file():
            assert copy.read_bytes() == each.read_bytes()
            assert copy.stat().st_blocks <= each.stat().st_blocks


def test_a_partition_is_copied_into_a_new_log_directory(tmp_path: Path) -> None:
    source = _directory(tmp_path / "data") / "orders-0"
    copy_log_directory(str(source), str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "orders-0" / f"{0:020d}.log").read_bytes() == b"log"


def test_nothing_is_copied_over_or_into_something(tmp_path: Path) -> None:
    source = _directory(tmp_path / "data")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    for target in ("full", "data", "data/copy", "data/orders-0"):
        with pytest.raises(OutputError):
            copy_log_directory(str(source), str(tmp_path / target))
    with pytest.raises(LogDirectoryError, match="no such directory"):
        copy_log_directory(str(tmp_path / "missing"), str(tmp_path / "copy"))
    copy_log_directory(str(source), str(tmp_path / "empty"))
    assert (tmp_path / "empty" / "meta.properties").exists()


def test_links_fifos_and_sockets_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _directory(tmp_path / "data")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "passwd").write_text("secret")
    partition = source / "orders-0"
    (source / "orders-1").symlink_to(tmp_path / "secret")
    (source / "a").symlink_to(".")
    (source / "b").symlink_to(".")
    (partition / f"{5:020d}.log").symlink_to(tmp_path / "secret" / "passwd")
    os.mkfifo(partition / f"{0:020d}.timeindex")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(partition)  # the name of a socket is short
        listening.bind("quorum-state")
    left_out = copy_log_directory(str(source), str(tmp_path / "copy"))
    assert [(os.path.relpath(each.path, source), each.what) for each in left_out] == [
        ("a", "a link to ."),
        ("b", "a link to ."),
        (f"orders-0/{0:020d}.timeindex", "a FIFO"),
        (f"orders-0/{5:020d}.log", f"a link to {tmp_path}/secret/passwd"),
        ("orders-0/quorum-state", "a socket"),
        ("orders-1", f"a link to {tmp_path}/secret"),
    ]
    copied = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    assert copied == {
        "meta.properties", "orders-0", f"orders-0/{0:020d}.log", f"orders-0/{0:020d}.index",
    }  # fmt: skip


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    source = _directory(tmp_path / "data")
    folder = source / "orders-0"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SPARSE - 1, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            copy_log_directory(str(source), str(tmp_path / "copy"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert folder.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
