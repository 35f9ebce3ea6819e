"""Every way to read a file ends at once at what is not a regular one, and says what it is."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.special_files import NOT_REGULAR, at_most
from workbench.errors import NotRegularFileError
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL
from workbench.file_system.source import FileSource, open_regular
from workbench.files.indexes.entry_run import read_entries, read_last_entry
from workbench.files.meta_properties import MetaProperties

READERS: dict[str, Callable[[str], object]] = {
    "FileSource": FileSource,
    "SmallFile": lambda path: MetaProperties.read(path, strict=False),
    "read_entries": lambda path: read_entries(path, 8),
    "read_last_entry": lambda path: read_last_entry(path, 8),
    "FileSystem.open": lambda path: LOCAL.open(path).read_bytes(0, 1),
    "FileSystem.create": LOCAL.create,
    "FileSystem.read": LOCAL.read,
    "FileSystem.lock": LOCAL.lock,
    "DryFileSystem.open": lambda path: DryFileSystem(now=lambda: 0).open(path).read_bytes(0, 1),
    "DryFileSystem.create": lambda path: DryFileSystem(now=lambda: 0).create(path).read_bytes(0, 1),
    "DryFileSystem.read": lambda path: DryFileSystem(now=lambda: 0).read(path),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("found", NOT_REGULAR)
def test_what_is_not_a_regular_file_is_refused_without_waiting(
    reader: str, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "00000000000000000000.log"
    NOT_REGULAR[found](path)
    with at_most(seconds=5), pytest.raises(NotRegularFileError) as caught:
        READERS[reader](str(path))
    assert caught.value.found == found
    assert str(caught.value) == f"{path}: not opened (found {found}, expected a regular file)"


def test_a_link_to_a_regular_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    (tmp_path / "link").symlink_to("file")
    with FileSource(str(tmp_path / "link")) as source:
        assert source.read(0, 100).tobytes() == b"bytes"


def test_a_loop_of_links_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        FileSource(str(tmp_path / "a"))


def test_a_fifo_that_takes_the_place_of_the_file_is_closed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"bytes")
    system_open = os.open

    def replace_first(name: str, flags: int, mode: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return system_open(name, flags, mode)

    monkeypatch.setattr(os, "open", replace_first)
    opened = len(os.listdir("/proc/self/fd"))
    with at_most(seconds=5), pytest.raises(NotRegularFileError, match="found a FIFO"):
        open_regular(str(path))
    assert len(os.listdir("/proc/self/fd")) == opened


def test_a_missing_file_is_made_only_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        open_regular(str(path))
    os.close(open_regular(str(path), os.O_RDWR | os.O_CREAT))
    assert path.stat().st_mode & 0o777 == 0o644 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
