"""The segments of a log by base offset."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.folder import Folder, batch
from workbench.log.segments.log_segments import LogSegments, total_size
from workbench.log.segments.segment import LogSegment


def segments_at(root: Path, *bases: int) -> LogSegments:
    folder = Folder(root)
    return LogSegments(LogSegment.open(folder.context, base) for base in bases)


def bases_of(segments: list[LogSegment]) -> list[int]:
    return [segment.base_offset for segment in segments]


def base_of(segment: LogSegment | None) -> int | None:
    return None if segment is None else segment.base_offset


def test_a_segment_replaces_the_one_of_its_base_offset(tmp_path: Path) -> None:
    """LSS-1."""
    folder = Folder(tmp_path)
    segments = LogSegments()
    assert len(segments) == 0
    assert segments.first is None
    assert segments.last is None
    with pytest.raises(LookupError, match="no segments"):
        _ = segments.active
    first, second = LogSegment.open(folder.context, 0), LogSegment.open(folder.context, 10)
    assert segments.add(second) is None
    assert segments.add(first) is None
    assert bases_of(segments.all) == [0, 10]
    assert 10 in segments
    assert 5 not in segments
    assert segments.get(10) is second
    assert segments.get(9) is None
    another = LogSegment.open(folder.context, 0)
    assert segments.add(another) is first
    assert segments.get(0) is another
    assert len(segments) == 2
    segments.remove(0)
    segments.remove(5)
    assert bases_of(segments.all) == [10]
    segments.clear()
    assert len(segments) == 0


def test_ranges_begin_with_the_segment_that_holds_their_start(tmp_path: Path) -> None:
    """LSS-2."""
    segments = segments_at(tmp_path, 1, 2, 3, 4)
    with pytest.raises(ValueError, match="from 3 to 1"):
        segments.values(3, 1)
    expected = {
        (1, 1): [],
        (1, 2): [1],
        (1, 3): [1, 2],
        (1, 4): [1, 2, 3],
        (2, 4): [2, 3],
        (4, 4): [],
        (4, 5): [4],
        (0, 2): [1],
    }
    for (start, stop), bases in expected.items():
        assert bases_of(segments.values(start, stop)) == bases


def test_the_last_segment_is_the_active_one(tmp_path: Path) -> None:
    """LSS-3."""
    segments = segments_at(tmp_path, 1, 2, 3, 4)
    assert base_of(segments.first) == 1
    assert base_of(segments.last) == 4
    assert segments.active is segments.last
    assert bases_of(segments.non_active_from(2)) == [2, 3]
    assert bases_of(segments.non_active_from(4)) == []
    assert bases_of(segments.non_active_from(5)) == []


def test_the_nearest_segments_of_an_offset(tmp_path: Path) -> None:
    """LSS-4."""
    segments = segments_at(tmp_path, 1, 3, 5, 7)
    assert base_of(segments.floor(2)) == 1
    assert base_of(segments.floor(3)) == 3
    assert base_of(segments.lower(3)) == 1
    assert base_of(segments.lower(4)) == 3
    assert base_of(segments.higher(4)) == 5
    assert base_of(segments.higher(5)) == 7
    assert segments.floor(0) is segments.lower(1) is segments.higher(7) is None


def test_higher_segments_begin_above_the_offset(tmp_path: Path) -> None:
    """LSS-5."""
    segments = segments_at(tmp_path, 1, 3, 5, 7)
    expected = {0: [1, 3, 5, 7], 1: [3, 5, 7], 2: [3, 5, 7], 5: [7], 7: [], 8: []}
    for offset, bases in expected.items():
        assert bases_of(segments.all_higher(offset)) == bases


def test_the_total_size_may_pass_2_31(tmp_path: Path) -> None:
    """LSS-6."""
    folder = Folder(tmp_path)
    for base in (0, 10, 20):
        with folder.file("log", base).open("wb") as file:
            file.truncate(2**31 - 1)  # takes no room on the disk
    loaded = [LogSegment.open(folder.context, base, file_exists=True) for base in (0, 10, 20)]
    assert total_size(loaded) == 3 * (2**31 - 1)
    assert LogSegments(loaded).size == 3 * (2**31 - 1)


def test_every_file_follows_the_folder(tmp_path: Path) -> None:
    """LSS-7."""
    folder = Folder(tmp_path)
    segments = LogSegments([folder.write_segment(0, batch(0)), folder.write_segment(5, batch(5))])
    moved = tmp_path / "orders-0.0123456789abcdef0123456789abcdef-delete"
    folder.path.rename(moved)
    segments.update_directory(str(moved))
    for segment in segments.all:
        parts = (segment.log, segment.offset_index, segment.time_index, segment.transaction_index)
        assert [Path(part.path).parent for part in parts] == [moved] * 4
    assert segments.active.read_next_offset() == 6


def test_who_holds_the_old_list_is_not_disturbed(tmp_path: Path) -> None:
    segments = segments_at(tmp_path, 0, 5)
    held = segments.all
    segments.remove(0)
    assert bases_of(held) == [0, 5]


def test_all_are_closed_even_when_one_fails(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first, second = (folder.write_segment(base, batch(base)) for base in (0, 5))
    first.log.file.path = second.log.file.path = str(folder.path / "nowhere" / "0.log")
    segments = LogSegments([first, second])
    with pytest.raises(FileNotFoundError):
        segments.close()
    segments.close_handlers()


@given(
    bases=st.sets(st.integers(0, 40), min_size=1, max_size=12),
    start=st.integers(0, 45),
    length=st.integers(0, 20),
)
def test_neighbours_and_ranges_are_what_a_scan_finds(
    bases: set[int], start: int, length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """LSS-2, LSS-4, LSS-5: against a plain list."""
    segments = segments_at(tmp_path_factory.getbasetemp() / "segments", *bases)
    ordered = sorted(bases)
    at_most = [base for base in ordered if base <= start]
    above = [base for base in ordered if base > start]
    below = [base for base in ordered if base < start]
    assert base_of(segments.floor(start)) == (at_most[-1] if at_most else None)
    assert base_of(segments.lower(start)) == (below[-1] if below else None)
    assert base_of(segments.higher(start)) == (above[0] if above else None)
    assert bases_of(segments.all_higher(start)) == above
    stop = start + length
    first = at_most[-1] if at_most else ordered[0]
    expected = [base for base in ordered if first <= base < stop] if length else []
    assert bases_of(segments.values(start, stop)) == expected
