"""Crashes and refusals of the disk while segments are replaced, split, and while a log loads."""

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest

from tests.engine.crash_states import crash_states
from tests.engine.file_systems import FailingFileSystem, RecordingFileSystem, tree
from tests.log.folder import MAX_RELATIVE, Folder, batch, keys, marker, produced, three_segments
from workbench.file_system.local import FileSystem
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.replacing import replace_segments
from workbench.log.segments.segment import LogSegment, create_new_cleaned_segment
from workbench.log.segments.splitting import split_overflowed_segment

_MEMORY = Path("/dev/shm")  # noqa: S108

FAR = MAX_RELATIVE + 10
FAR_KEYS = [b"k%d" % offset for offset in (0, 1, 5, FAR, FAR + 1)]
ALL = keys(0, 15)
CLEANED = [b"k1", b"k3", *keys(5, 15)]


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A folder whose files need no disk: hundreds of syncs take no time there."""
    parent = _MEMORY if _MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="loading-crashes-", dir=parent) as path:
        yield Path(path)


def put(files: dict[str, bytes | None], into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for name, data in files.items():
        assert data is not None
        (into / name).write_bytes(data)


def opened(folder: Folder, *bases: int) -> LogSegments:
    return LogSegments(LogSegment.open(folder.context, base, file_exists=True) for base in bases)


def clean(folder: Folder) -> None:
    """Put what compaction makes of the first two segments in their place."""
    segments = opened(folder, 0, 5, 10)
    new = create_new_cleaned_segment(folder.context, 0)
    for offset in (1, 3, *range(5, 10)):
        new.append(offset, batch(offset))
    new.on_become_inactive()
    new.flush()
    replace_segments(folder.context, segments, [new], segments.all[:2], reason="cleaned")
    folder.delete_later()


def split(folder: Folder) -> None:
    segments = opened(folder, 0)
    split_overflowed_segment(folder.context, segments, segments.active)
    folder.delete_later()


def overflowed(folder: Folder) -> None:
    folder.write_raw(0, batch(0, 2), batch(5), batch(FAR, 2))


REPLACEMENTS = pytest.mark.parametrize(
    ("write", "change", "allowed"),
    [(three_segments, clean, (ALL, CLEANED)), (overflowed, split, (FAR_KEYS,))],
    ids=["cleaned", "split"],
)


@REPLACEMENTS
def test_a_crash_while_segments_are_replaced_leaves_all_old_or_all_new(
    memory_path: Path,
    write: Callable[[Folder], None],
    change: Callable[[Folder], None],
    allowed: tuple[list[bytes], ...],
) -> None:
    root = memory_path / "log"
    write(Folder(root))
    recording = RecordingFileSystem(root)
    change(Folder(root, fs=recording))
    found = []
    for number, state in enumerate(crash_states(recording)):
        state.write_to(memory_path / f"{number}")
        folder = Folder(memory_path / f"{number}")
        loaded = folder.load(recovery_point=0)
        assert loaded.keys in allowed, state[:2]
        assert folder.names_of(".swap") == folder.names_of(".cleaned") == []
        found.append(loaded.keys)
        loaded.segments.close()
        shutil.rmtree(folder.path.parent)
    assert len(found) > 20
    assert all(keys in found for keys in allowed)


@pytest.mark.parametrize("error", [errno.EIO, "short"])
@REPLACEMENTS
def test_a_disk_that_refuses_while_segments_are_replaced_leaves_all_old_or_all_new(
    memory_path: Path,
    write: Callable[[Folder], None],
    change: Callable[[Folder], None],
    allowed: tuple[list[bytes], ...],
    error: int | Literal["short"],
) -> None:
    write(Folder(memory_path / "log"))
    before = tree(str(memory_path / "log" / "orders-0"))
    fail_at = 0
    while True:
        put(before, memory_path / "log" / "orders-0")
        failing = FailingFileSystem(fail_at, error)
        with suppress(OSError):
            change(Folder(memory_path / "log", fs=failing))
        if failing.failed is None:
            break
        loaded = Folder(memory_path / "log").load()
        assert loaded.keys in allowed, failing.failed
        fail_at += 1
    assert fail_at > 10


def interrupted_cleaning(folder: Folder) -> None:
    three_segments(folder)
    segment = create_new_cleaned_segment(folder.context, 0)
    for offset in (1, 3, *range(5, 10)):
        segment.append(offset, batch(offset))
    segment.on_become_inactive()
    segment.flush()
    segment.change_suffix(".cleaned", ".swap")


def transactions(folder: Folder) -> None:
    folder.write_segment(0, produced(0, 5, producer=1, transactional=True))
    folder.write_segment(5, produced(5, 4, producer=2), marker(9, producer=1, commit=False))
    folder.write_segment(10, batch(10, 5, epoch=3))


LEFT = pytest.mark.parametrize(
    ("write", "wanted"),
    [
        (three_segments, ALL),
        (interrupted_cleaning, CLEANED),
        (overflowed, FAR_KEYS),
        (transactions, [*keys(0, 9), *keys(10, 15)]),
    ],
    ids=["plain", "swap", "overflow", "transactions"],
)


def load(root: Path, fs: FileSystem) -> None:
    folder = Folder(root, fs=fs)
    folder.load().close()
    folder.delete_later()


@LEFT
def test_a_crash_while_a_log_is_recovered_loses_nothing(
    memory_path: Path, write: Callable[[Folder], None], wanted: list[bytes]
) -> None:
    root = memory_path / "log"
    write(Folder(root))
    recording = RecordingFileSystem(root)
    load(root, recording)
    count = 0
    for state in crash_states(recording, extra=1):
        state.write_to(memory_path / "crashed")
        folder = Folder(memory_path / "crashed")
        loaded = folder.load()
        assert loaded.keys == wanted, state[:2]
        loaded.segments.close()
        shutil.rmtree(memory_path / "crashed")
        count += 1
    assert count > 10


@pytest.mark.parametrize("error", [errno.EIO, "short"])
@LEFT
def test_a_disk_that_refuses_while_a_log_is_recovered_loses_nothing(
    memory_path: Path,
    write: Callable[[Folder], None],
    wanted: list[bytes],
    error: int | Literal["short"],
) -> None:
    write(Folder(memory_path / "log"))
    before = tree(str(memory_path / "log" / "orders-0"))
    fail_at = 0
    while True:
        put(before, memory_path / "log" / "orders-0")
        failing = FailingFileSystem(fail_at, error)
        refused = False
        try:
            load(memory_path / "log", failing)
        except OSError:
            refused = True
        if failing.failed is None:
            break
        assert refused, failing.failed
        loaded = Folder(memory_path / "log").load()
        assert loaded.keys == wanted, failing.failed
        fail_at += 1
    assert fail_at > 5
