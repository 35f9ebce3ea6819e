"""Segments go by `.deleted`, come by `.cleaned` and `.swap`."""

import os
from pathlib import Path

import pytest

from tests.log.folder import Folder, batch
from workbench.errors import StorageError
from workbench.file_system.local import FileSystem
from workbench.log.segments.files import (
    create_and_delete_segment,
    delete_segment_files,
    remove_and_delete_segments,
)
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.replacing import replace_segments
from workbench.log.segments.segment import LogSegment, create_new_cleaned_segment


def opened_segments(folder: Folder) -> LogSegments:
    return LogSegments(folder.write_segment(base, batch(base, 5)) for base in (0, 5, 10))


def cleaned(folder: Folder, *bases: int) -> list[LogSegment]:
    segments = []
    for base in bases:
        segment = create_new_cleaned_segment(folder.context, base)
        segment.append(base, batch(base))
        segment.on_become_inactive()
        segment.flush()
        segments.append(segment)
    return segments


def test_deleted_files_are_renamed_at_once_and_removed_after_the_delay(tmp_path: Path) -> None:
    """UL-52."""
    folder = Folder(tmp_path)
    segments = opened_segments(folder)
    doomed = segments.all[:1]
    remove_and_delete_segments(folder.context, segments, doomed, asynchronous=True, reason="old")
    assert [segment.base_offset for segment in segments.all] == [5, 10]
    assert folder.names_of(".deleted") == [
        "00000000000000000000.index.deleted",
        "00000000000000000000.log.deleted",
        "00000000000000000000.timeindex.deleted",
    ]
    folder.clock.advance(folder.context.config.file_delete_delay_ms - 1)
    assert len(folder.names_of(".deleted")) == 3
    folder.clock.advance(1)
    assert folder.names_of(".deleted") == []
    assert "00000000000000000005.log" in folder.names


def test_deleting_at_once_leaves_nothing(tmp_path: Path) -> None:
    """LL-3."""
    folder = Folder(tmp_path)
    segments = opened_segments(folder)
    remove_and_delete_segments(
        folder.context, segments, segments.all, asynchronous=False, reason="the log is deleted"
    )
    assert len(segments) == 0
    assert folder.names == []


def test_a_deleted_segment_can_still_be_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segment = folder.write_segment(0, batch(0, 3))
    delete_segment_files(folder.context, [segment], asynchronous=True, reason="old")
    assert len(segment.log.read(0, segment.size).records()) == 3


def test_the_observer_learns_why_a_segment_goes(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segment = folder.write_segment(0, batch(0, 3))
    delete_segment_files(folder.context, [segment], asynchronous=True, reason="too old")
    (step,) = (step for step in folder.steps if step.kind == "segment marked deleted")
    assert step.reason == "too old"
    assert step.numbers == {"base_offset": 0, "size": segment.size}


def test_a_failed_background_deletion_takes_the_directory_offline(tmp_path: Path) -> None:
    """UL-55."""

    class CannotRemove(FileSystem):
        def remove(self, path: str) -> None:
            raise PermissionError(13, "not allowed", path)

    folder = Folder(tmp_path, fs=CannotRemove())
    segments = opened_segments(folder)
    remove_and_delete_segments(
        folder.context, segments, segments.all[:1], asynchronous=True, reason="old"
    )
    assert not folder.failures.is_offline(str(tmp_path))
    with pytest.raises(StorageError, match="delete segments of orders-0"):
        folder.delete_later()
    assert folder.failures.is_offline(str(tmp_path))


@pytest.mark.parametrize("new_offset", [10, 12])
def test_an_active_segment_is_replaced_by_an_empty_one(tmp_path: Path, new_offset: int) -> None:
    """LL-9: also at the base offset that the old one has."""
    folder = Folder(tmp_path)
    segments = opened_segments(folder)
    old = segments.active
    new = create_and_delete_segment(
        folder.context, segments, new_offset, old, asynchronous=True, reason="emptied"
    )
    assert segments.active is new
    assert [segment.base_offset for segment in segments.all] == [0, 5, new_offset]
    assert new.size == 0
    assert folder.file("log", 10, ".deleted").exists()
    folder.delete_later()
    assert folder.names_of(".deleted") == []
    assert folder.file("log", new_offset).exists()


def test_a_cleaned_segment_takes_the_place_of_what_an_earlier_try_left(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for kind in ("log", "index", "timeindex", "txnindex"):
        folder.file(kind, 7, ".cleaned").write_bytes(b"left over")
    segment = create_new_cleaned_segment(folder.context, 7)
    assert segment.size == 0
    assert folder.names == ["00000000000000000007.log.cleaned"]


def test_replacing_puts_the_new_segments_in_the_place_of_the_old(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segments = opened_segments(folder)
    new = cleaned(folder, 0)
    gone = replace_segments(folder.context, segments, new, segments.all[:2], reason="cleaned")
    assert [segment.base_offset for segment in gone] == [5]
    assert [segment.base_offset for segment in segments.all] == [0, 10]
    assert segments.get(0) is new[0]
    assert folder.names_of(".swap") == folder.names_of(".cleaned") == []
    assert folder.names_of(".log") == ["00000000000000000000.log", "00000000000000000010.log"]
    assert folder.names_of(".log.deleted") == [
        "00000000000000000000.log.deleted",
        "00000000000000000005.log.deleted",
    ]
    folder.delete_later()
    assert folder.names_of(".deleted") == []
    assert new[0].size == folder.file("log", 0).stat().st_size > 0


def test_old_segments_that_were_deleted_meanwhile_are_left_alone(tmp_path: Path) -> None:
    """CL-2: each file is renamed `.deleted` once."""
    folder = Folder(tmp_path)
    segments = opened_segments(folder)
    old = segments.all[:2]
    new = cleaned(folder, 0)
    remove_and_delete_segments(
        folder.context, segments, old[:1], asynchronous=True, reason="retention"
    )
    replace_segments(folder.context, segments, new, old, reason="cleaned")
    marked = [step.where for step in folder.steps if step.kind == "segment marked deleted"]
    assert sorted(os.path.basename(path) for path in marked) == [
        "00000000000000000000.log.deleted",
        "00000000000000000005.log.deleted",
    ]


def test_the_last_of_the_new_segments_is_the_first_that_is_ready_to_swap(tmp_path: Path) -> None:
    """The loader sees by it whether all were."""
    folder = Folder(tmp_path)
    segments = opened_segments(folder)
    new = cleaned(folder, 0, 5)
    replace_segments(folder.context, segments, new, segments.all[:2], reason="cleaned")
    order = [
        (step.kind, os.path.basename(step.where)[:20].lstrip("0") or "0")
        for step in folder.steps
        if step.kind in {"segment ready to swap", "segment marked deleted", "segment swapped in"}
    ]
    assert order == [
        ("segment ready to swap", "5"),
        ("segment ready to swap", "0"),
        ("segment marked deleted", "0"),
        ("segment marked deleted", "5"),
        ("segment swapped in", "0"),
        ("segment swapped in", "5"),
    ]
