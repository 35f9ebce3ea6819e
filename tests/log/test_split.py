"""Segments whose offsets are too far from their base offset, as old brokers wrote them."""

from pathlib import Path

import pytest

from tests.log.folder import MAX_RELATIVE, Folder, batch
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.log.segments.splitting import split_overflowed_segment

FAR = MAX_RELATIVE + 10
OVERFLOWED = (batch(0, 2), batch(5, 3), batch(FAR, 2), batch(FAR + 7, 1))


def opened(folder: Folder, *bases: int) -> LogSegments:
    return LogSegments(LogSegment.open(folder.context, base, file_exists=True) for base in bases)


def bytes_of(segment: LogSegment) -> bytes:
    return bytes(segment.log.read(0, segment.size))


def test_a_split_keeps_every_batch(tmp_path: Path) -> None:
    """UL-65."""
    folder = Folder(tmp_path)
    folder.write_raw(0, *OVERFLOWED)
    segments = opened(folder, 0)
    overflowed = segments.active
    assert overflowed.has_overflow
    modified = overflowed.last_modified
    result = split_overflowed_segment(folder.context, segments, overflowed)
    assert [segment.base_offset for segment in segments.all] == [0, FAR]
    assert result.new == segments.all
    assert result.deleted == []  # the old one's base offset is that of a new one
    assert bytes_of(segments.all[0]) == b"".join(map(bytes, OVERFLOWED[:2]))
    assert bytes_of(segments.all[1]) == b"".join(map(bytes, OVERFLOWED[2:]))
    assert not any(segment.has_overflow for segment in segments.all)
    assert {segment.last_modified for segment in segments.all} == {modified}
    assert folder.names_of(".cleaned") == folder.names_of(".swap") == []
    assert "00000000000000000000.log.deleted" in folder.names


@pytest.mark.parametrize("batches", [OVERFLOWED[2:], OVERFLOWED[2:3]])
def test_a_segment_of_only_far_batches_becomes_one_that_begins_at_the_first(
    tmp_path: Path, batches: tuple[object, ...]
) -> None:
    """UL-65: degenerate segments."""
    folder = Folder(tmp_path)
    folder.write_raw(0, *OVERFLOWED[2 : 2 + len(batches)])
    segments = opened(folder, 0)
    overflowed = segments.active
    result = split_overflowed_segment(folder.context, segments, overflowed)
    assert [segment.base_offset for segment in segments.all] == [FAR]
    assert result.deleted == [overflowed]


def test_a_part_that_begins_with_an_old_compressed_message_begins_at_its_first_record(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    far = batch(FAR, 3, magic=1, codec="gzip")
    folder.write_raw(0, batch(0, 2, magic=1), far)
    segments = opened(folder, 0)
    split_overflowed_segment(folder.context, segments, segments.active)
    assert [segment.base_offset for segment in segments.all] == [0, FAR]


def test_a_segment_without_far_offsets_is_not_split(tmp_path: Path) -> None:
    """LO-19."""
    folder = Folder(tmp_path)
    segments = LogSegments([folder.write_segment(0, batch(0, 5))])
    with pytest.raises(ValueError, match="no offset is too far"):
        split_overflowed_segment(folder.context, segments, segments.active)
    assert "00000000000000000000.log" in folder.names


def test_only_a_log_in_use_is_split(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_raw(0, *OVERFLOWED, suffix=".deleted")
    segment = LogSegment.open(folder.context, 0, file_exists=True, suffix=".deleted")
    with pytest.raises(ValueError, match=r"only a \.log file"):
        split_overflowed_segment(folder.context, LogSegments([segment]), segment)


def test_a_log_with_such_a_segment_is_split_while_it_is_recovered(tmp_path: Path) -> None:
    """LO-19."""
    folder = Folder(tmp_path)
    folder.write_raw(0, *OVERFLOWED)
    folder.write_segment(FAR + 20, batch(FAR + 20, 2))
    loaded = folder.load()
    assert loaded.bases == [0, FAR, FAR + 20]
    assert loaded.offsets.next_offset == FAR + 22
    assert loaded.keys == [
        b"k%d" % offset for offset in (0, 1, 5, 6, 7, FAR, FAR + 1, FAR + 7, FAR + 20, FAR + 21)
    ]
    (step,) = loaded.told("segment split")
    assert step.numbers["parts"] == [0, FAR]


def test_without_an_index_it_is_split_after_a_clean_stop_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_raw(0, *OVERFLOWED)
    folder.file("index", 0).unlink()
    loaded = folder.load(clean=True)
    assert loaded.bases == [0, FAR]
    assert loaded.offsets.recovery_point == loaded.offsets.next_offset == FAR + 8


def test_after_a_clean_stop_nothing_is_noticed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_raw(0, *OVERFLOWED)
    assert folder.load(clean=True).bases == [0]


def test_an_offset_before_the_segments_cannot_be_split_away(tmp_path: Path) -> None:
    """Kafka's own split refuses it as well, and the broker does not start."""
    folder = Folder(tmp_path)
    folder.write_raw(10, batch(10, 2), batch(3, 1))
    with pytest.raises(ValueError, match="no offset is too far"):
        folder.load()


def split_files(folder: Folder) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the old segment's files, and those of its two parts, by their names in use."""
    folder.write_raw(0, *OVERFLOWED)
    old = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    segments = opened(folder, 0)
    split_overflowed_segment(folder.context, segments, segments.active)
    segments.close()
    folder.delete_later()
    new = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    for path in folder.path.iterdir():
        path.unlink()
    return old, new


def part(files: dict[str, bytes], base: int) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.startswith(f"{base:020d}")}


def put(folder: Folder, files: dict[str, bytes], suffix: str = "") -> None:
    for name, data in files.items():
        (folder.path / (name + suffix)).write_bytes(data)


@pytest.mark.parametrize(
    "phase", ["one cleaned", "one swap", "all swap", "all swap, old gone", "one swap, one log"]
)
def test_a_crash_while_splitting_loses_nothing(tmp_path: Path, phase: str) -> None:
    """LO-20."""
    folder = Folder(tmp_path)
    old, new = split_files(folder)
    first, second = part(new, 0), part(new, FAR)
    if phase == "one cleaned":
        put(folder, old)
        put(folder, first, ".cleaned")
        put(folder, second, ".cleaned")
    elif phase == "one swap":
        put(folder, old)
        put(folder, first, ".cleaned")
        put(folder, second, ".swap")
    elif phase == "all swap":
        put(folder, old)
        put(folder, first, ".swap")
        put(folder, second, ".swap")
    elif phase == "all swap, old gone":
        put(folder, old, ".deleted")
        put(folder, first, ".swap")
        put(folder, second, ".swap")
    else:
        put(folder, old, ".deleted")
        put(folder, first)
        put(folder, second, ".swap")
    loaded = folder.load()
    assert loaded.bases == [0, FAR]
    assert loaded.keys == [b"k%d" % offset for offset in (0, 1, 5, 6, 7, FAR, FAR + 1, FAR + 7)]
    is_redone = phase in {"one cleaned", "one swap"}
    assert bool(loaded.told("segment split")) == is_redone
    folder.delete_later()
    assert folder.names_of(".deleted") == folder.names_of(".swap") == []
