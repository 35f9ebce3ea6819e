import os
from pathlib import Path

import pytest

from workbench.errors import LogDirectoryError
from workbench.log_manager.copying import copy_log_directory

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
    assert copy_log_directory(str(source), str(tmp_path / "copy")) == str(tmp_path / "copy")
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
        with pytest.raises(LogDirectoryError):
            copy_log_directory(str(source), str(tmp_path / target))
    with pytest.raises(LogDirectoryError, match="no such directory"):
        copy_log_directory(str(tmp_path / "missing"), str(tmp_path / "copy"))
    copy_log_directory(str(source), str(tmp_path / "empty"))
    assert (tmp_path / "empty" / "meta.properties").exists()
