"""Loading a log whose folder holds what a crash or a stranger left."""

import re
from pathlib import Path

import pytest

from tests.log.folder import Folder, batch, flip, keys, snapshots, three_segments

# Leftovers


def test_files_marked_deleted_are_removed(tmp_path: Path) -> None:
    """LO-12: but for snapshots of the metadata log."""
    folder = Folder(tmp_path)
    three_segments(folder)
    for name in ("00000000000000000000.log.deleted", "00000000000000000003.snapshot.deleted"):
        (folder.path / name).write_bytes(b"x")
    kept = "00000000000000000003-0000000001.checkpoint.deleted"
    (folder.path / kept).write_bytes(b"x")
    folder.load(clean=True)
    assert folder.names_of(".deleted") == [kept]


def test_other_files_and_folders_are_left_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    (folder.path / "notes.txt").write_text("hello")
    (folder.path / "folder.log").mkdir()
    loaded = folder.load(clean=True)
    assert {"notes.txt", "folder.log"} <= set(folder.names)
    assert loaded.bases == [0, 5, 10]


@pytest.mark.parametrize(
    "name", ["abc.log", ".log", "x.index", "99999999999999999999.log", "1_0.log", "a.log.cleaned"]
)
def test_a_file_whose_offset_cannot_be_read_stops_the_broker(tmp_path: Path, name: str) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    (folder.path / name).write_bytes(b"")
    with pytest.raises(ValueError, match=re.escape(f"{name}: ")):
        folder.load(clean=True)


def test_a_log_of_fewer_digits_stands_for_one_of_twenty(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.file("log", 5).with_name("5.log").write_bytes(bytes(batch(5)))
    loaded = folder.load(clean=True)
    assert loaded.bases == [5]
    assert loaded.offsets.next_offset == 5  # the one of twenty digits was made, and is empty


def test_a_folder_to_be_deleted_is_not_recovered(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "orders-0.0123456789abcdef0123456789abcdef-delete")
    three_segments(folder)
    flip(folder.file("log", 0), 70)
    loaded = folder.load()
    assert loaded.offsets == (0, 0, 0)
    assert loaded.bases == [0, 5, 10]
    empty = Folder(tmp_path, "orders-1.0123456789abcdef0123456789abcdef-delete")
    assert empty.load().bases == [0]


# Interrupted cleaning


CLEANED_KEYS = [b"k1", b"k3", *keys(5, 15)]


def put_cleaned(folder: Folder, suffixes: dict[str, str]) -> None:
    """Write old segments and the cleaned one for the first two, its files with these suffixes."""
    three_segments(folder)
    scratch = Folder(folder.path.parent / "scratch")
    scratch.write_segment(0, batch(1), batch(3), *(batch(offset) for offset in range(5, 10)))
    for kind, suffix in suffixes.items():
        data = scratch.file(kind, 0).read_bytes()
        folder.file(kind, 0, suffix).write_bytes(data)


def delete_old(folder: Folder, *, suffix: str = ".deleted") -> None:
    for base in (0, 5):
        for kind in ("log", "index", "timeindex"):
            path = folder.file(kind, base)
            path.rename(path.with_name(path.name + suffix))


ALL_SWAP = {"log": ".swap", "index": ".swap", "timeindex": ".swap"}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "suffixes",
    [
        {"log": ".cleaned", "index": ".cleaned", "timeindex": ".cleaned"},
        {"log": ".swap", "index": ".cleaned", "timeindex": ".cleaned"},
        {"log": ".swap", "index": ".swap", "timeindex": ".cleaned"},
    ],
)
def test_a_cleaning_that_was_not_complete_is_undone(
    tmp_path: Path, suffixes: dict[str, str], *, clean: bool
) -> None:
    """CL-39: phases 1 and 2."""
    folder = Folder(tmp_path)
    put_cleaned(folder, suffixes)
    loaded = folder.load(clean=clean)
    assert loaded.keys == keys(0, 15)
    assert loaded.bases == [0, 5, 10]
    assert folder.names_of(".cleaned") == folder.names_of(".swap") == []
    assert len(loaded.told("swap undone")) == list(suffixes.values()).count(".swap")


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("old", ["there", "half deleted", "deleted"])
def test_a_cleaning_that_was_complete_is_finished(tmp_path: Path, old: str, *, clean: bool) -> None:
    """CL-39: phases 3 and 4."""
    folder = Folder(tmp_path)
    put_cleaned(folder, ALL_SWAP)
    if old == "deleted":
        delete_old(folder)
    elif old == "half deleted":
        folder.file("log", 0).rename(folder.file("log", 0, ".deleted"))
        folder.file("index", 0).rename(folder.file("index", 0, ".deleted"))
    loaded = folder.load(clean=clean)
    assert loaded.keys == CLEANED_KEYS
    assert loaded.bases == [0, 10]
    assert folder.names_of(".deleted") == folder.names_of(".swap") == []
    assert len(loaded.told("swap completed")) == 3


def test_a_swap_of_which_some_files_have_their_names_is_finished(tmp_path: Path) -> None:
    """CL-39: phase 5."""
    folder = Folder(tmp_path)
    put_cleaned(folder, {})
    delete_old(folder)
    scratch = Folder(tmp_path / "scratch")
    for kind, suffix in {"log": "", "index": ".swap", "timeindex": ".swap"}.items():
        data = scratch.file(kind, 0).read_bytes()
        folder.file(kind, 0, suffix).write_bytes(data)
    loaded = folder.load(clean=True)
    assert loaded.keys == CLEANED_KEYS
    assert loaded.told("segment recovered") == []


def test_deleted_files_that_a_finished_swap_left_are_removed(tmp_path: Path) -> None:
    """CL-39: phase 6."""
    folder = Folder(tmp_path)
    put_cleaned(folder, {})
    delete_old(folder)
    scratch = Folder(tmp_path / "scratch")
    for kind in ("log", "index", "timeindex"):
        folder.file(kind, 0).write_bytes(scratch.file(kind, 0).read_bytes())
    loaded = folder.load(clean=True)
    assert loaded.keys == CLEANED_KEYS
    assert folder.names_of(".deleted") == []


def test_snapshots_of_segments_that_a_swap_replaces_go(tmp_path: Path) -> None:
    """UL-38."""
    folder = Folder(tmp_path)
    put_cleaned(folder, {})
    folder.load(clean=True).close()
    assert snapshots(folder) == [5, 10, 15]
    scratch = Folder(tmp_path / "scratch")
    for kind in ALL_SWAP:
        folder.file(kind, 0, ".swap").write_bytes(scratch.file(kind, 0).read_bytes())
    folder.load(clean=True)
    assert snapshots(folder) == [10, 15]
