"""One segment: appending, reading, index entries, truncating, files."""

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.log.folder import Folder
from workbench.config.log_config import LogConfig
from workbench.errors import OffsetOverflowError
from workbench.files.file_records import FileRecords
from workbench.log.segments.segment import LogSegment, fits
from workbench.record.memory_records import MemoryRecords

LARGEST = 2**31 - 1
HELLO_SIZE = 39  # of a message of magic 1 without key, with a value of five bytes


def hello(offset: int, *values: bytes) -> MemoryRecords:
    """Return messages of magic 1 from an offset on, all of ten times that time."""
    records = [(offset * 10, None, value) for value in values or (b"hello",)]
    return MemoryRecords.of(*records, magic=1, base_offset=offset)


def sized(offset: int, size: int) -> MemoryRecords:
    return MemoryRecords.of((offset, None, bytes(size)), base_offset=offset)


def new_segment(root: Path, base_offset: int = 0, **settings: Any) -> LogSegment:
    folder = Folder(root, settings={name.replace("_", "."): v for name, v in settings.items()})
    return LogSegment.open(folder.context, base_offset)


def fill(segment: LogSegment, *offsets: int) -> None:
    for offset in offsets:
        segment.append(offset, hello(offset))


def read_offsets(segment: LogSegment, start: int) -> list[int] | None:
    found = segment.read(start, 1000, segment.size)
    return None if found is None else [record.offset for record in found.records.records()]


@pytest.mark.parametrize(
    ("base", "largest"),
    [
        (0, -(2**31)),
        (0, 2**31),
        (1, 0),
        (100, 10),
        (2**31, 0),
        (2**31, 2**32),
    ],
)
def test_an_offset_that_no_index_can_hold_is_refused(
    tmp_path: Path, base: int, largest: int
) -> None:
    """LS-1."""
    segment = new_segment(tmp_path, base)
    with pytest.raises(OffsetOverflowError) as caught:
        segment.append(largest, hello(0))
    assert str(base) in str(caught.value)
    assert str(largest) in str(caught.value)
    assert segment.size == 0


def test_what_a_relative_offset_can_hold() -> None:
    """LS-1: also below 0, where no segment begins."""
    assert fits(LARGEST, 0)
    assert fits(5, 5)
    assert not fits(0, -(2**31))
    assert not fits(4, 5)


def test_an_empty_segment_gives_nothing(tmp_path: Path) -> None:
    """LS-2."""
    assert new_segment(tmp_path, 40).read(40, 300) is None


def test_reading_before_the_first_batch_begins_with_it(tmp_path: Path) -> None:
    """LS-3."""
    segment = new_segment(tmp_path, 40)
    segment.append(53, hello(50, b"hello", b"there", b"little", b"bee"))
    assert read_offsets(segment, 41) == [50, 51, 52, 53]


def test_reading_behind_the_last_batch_gives_nothing(tmp_path: Path) -> None:
    """LS-4."""
    segment = new_segment(tmp_path, 40)
    segment.append(51, hello(50, b"hello", b"there"))
    assert segment.read(52, 200, segment.size) is None


def test_reading_from_a_gap_begins_behind_it(tmp_path: Path) -> None:
    """LS-5."""
    segment = new_segment(tmp_path, 40)
    segment.append(51, hello(50, b"hello", b"there"))
    segment.append(61, hello(60, b"alpha", b"beta"))
    assert read_offsets(segment, 55) == [60, 61]


@pytest.mark.parametrize("min_one_message", [True, False])
def test_without_a_known_end_only_the_place_is_told(
    tmp_path: Path, *, min_one_message: bool
) -> None:
    """LS-6: an end that is known by its offset alone; the place is that of the batch."""
    segment = new_segment(tmp_path, 40)
    segment.append(51, hello(50, b"hello", b"there"))
    assert segment.size == 2 * HELLO_SIZE
    for start, place in ((48, (50, 40, 0)), (50, (50, 40, 0)), (51, (51, 40, HELLO_SIZE))):
        for size in (0, 1, 100):
            found = segment.read(start, size, 0, min_one_message=min_one_message)
            assert found is not None
            assert found.records.size == 0
            assert found.offset_metadata == place
    for start in (52, 53):
        assert segment.read(start, 100, 0, min_one_message=min_one_message) is None


def test_a_segment_is_read_to_its_end_unless_it_is_bounded(tmp_path: Path) -> None:
    segment = new_segment(tmp_path, 40)
    segment.append(51, hello(50, b"hello", b"there"))
    whole = segment.read(50, 100)
    assert whole == segment.read(50, 100, segment.size)
    assert whole is not None
    assert whole.records.size == 2 * HELLO_SIZE


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="-1"):
        new_segment(tmp_path).read(0, -1)


def test_the_first_batch_is_given_whole_or_cut(tmp_path: Path) -> None:
    segment = new_segment(tmp_path)
    fill(segment, 0, 1)
    whole = segment.read(0, 1, segment.size, min_one_message=True)
    cut = segment.read(0, 1, segment.size)
    assert whole is not None
    assert cut is not None
    assert (whole.size, whole.first_entry_incomplete) == (HELLO_SIZE, False)
    assert (cut.size, cut.first_entry_incomplete) == (1, True)


def test_what_is_truncated_is_gone_time_and_again(tmp_path: Path) -> None:
    """LS-7."""
    segment = new_segment(tmp_path, 40)
    offset = 40
    for _ in range(30):
        fill(segment, offset, offset + 1)
        assert read_offsets(segment, offset) == [offset, offset + 1]
        segment.truncate_to(offset + 1)
        assert read_offsets(segment, offset) == [offset]
        offset += 1


def why_full(segment: LogSegment, max_offset: int) -> str | None:
    config = LogConfig.of({"segment.ms": 300_000, "segment.bytes": LARGEST})
    segment.context.update_config(config)
    return segment.why_roll(1024, -1, max_offset, segment.context.clock.now())


def test_truncating_an_empty_segment_makes_no_index_full(tmp_path: Path) -> None:
    """LS-8."""
    folder = Folder(tmp_path)
    closed = LogSegment.open(folder.context, 0)
    assert closed.offset_index.entries == closed.time_index.entries == 0
    closed.close()
    reopened = LogSegment.open(folder.context, 0, file_exists=True)
    assert folder.file("index", 0).stat().st_size == 0
    folder.clock.advance(500)
    reopened.truncate_to(57)
    assert reopened.time_waited_for_roll(folder.clock.now(), -1) == 0
    assert not reopened.offset_index.is_full
    assert not reopened.time_index.is_full
    assert why_full(reopened, 100) is None
    folder.clock.advance(300_001)
    assert reopened.time_waited_for_roll(folder.clock.now(), -1) == 300_001
    assert why_full(reopened, 100) is None
    too_far = LARGEST + 200
    assert str(too_far) in (why_full(reopened, too_far) or "")


def test_an_empty_index_file_is_full_until_it_is_resized(tmp_path: Path) -> None:
    """LS-8: what truncating mends."""
    folder = Folder(tmp_path)
    folder.write_raw(0)
    segment = LogSegment.open(folder.context, 0, file_exists=True)
    assert "index is full" in (why_full(segment, 100) or "")
    segment.resize_indexes()
    assert why_full(segment, 100) is None


def test_truncating_reads_the_largest_timestamp_again(tmp_path: Path) -> None:
    """LS-9."""
    segment = new_segment(tmp_path, 40, index_interval_bytes=2 * HELLO_SIZE - 1)
    fill(segment, *range(40, 70))
    assert segment.read_next_offset() == 70
    assert segment.time_index.entries == 14
    segment.truncate_to(41)
    assert segment.time_index.entries == 0
    assert segment.offset_index.entries == 0
    assert segment.largest_timestamp == 400
    assert segment.max_timestamp_so_far == (400, 40)
    assert segment.read_next_offset() == 41


def test_a_segment_truncated_to_nothing_begins_anew(tmp_path: Path) -> None:
    """LS-10."""
    folder = Folder(tmp_path)
    segment = LogSegment.open(folder.context, 40)
    segment.append(41, hello(40, b"hello", b"there"))
    folder.clock.advance(500)
    # The first batch's time counts from its maximum, 400.
    assert segment.time_waited_for_roll(folder.clock.now(), 900) == 500
    segment.truncate_to(0)
    assert segment.time_waited_for_roll(folder.clock.now(), 900) == 0
    assert not segment.time_index.is_full
    assert not segment.offset_index.is_full
    assert segment.read(0, 1024, segment.size) is None
    segment.append(41, hello(40, b"hello", b"there"))
    assert read_offsets(segment, 40) == [40, 41]


def test_a_time_leads_to_the_first_record_that_is_not_older(tmp_path: Path) -> None:
    """LS-11."""
    segment = new_segment(tmp_path, 40, index_interval_bytes=2 * HELLO_SIZE - 1)
    fill(segment, *range(40, 50))
    assert segment.largest_timestamp == 490

    def find(timestamp: int, start: int | None = None) -> int | None:
        found = segment.find_offset_by_timestamp(timestamp, start)
        return None if found is None else found.offset

    assert [find(time) for time in (420, 421, 430, 431)] == [42, 43, 43, 44]
    assert find(491) is None
    assert find(401) == 41
    assert find(399) == 40
    assert find(400, 45) == 45


def test_the_next_offset_is_behind_the_last_batch(tmp_path: Path) -> None:
    """LS-12."""
    segment = new_segment(tmp_path, 40)
    assert segment.read_next_offset() == 40
    segment.append(52, hello(50, b"hello", b"there", b"you"))
    assert segment.read_next_offset() == 53


def test_files_that_were_never_made_are_not_made_by_renaming(tmp_path: Path) -> None:
    """LS-13."""
    folder = Folder(tmp_path)
    segment = LogSegment.open(folder.context, 40)
    segment.change_suffix("", ".deleted")
    assert folder.names == ["00000000000000000040.log.deleted"]
    assert segment.is_marked_deleted
    assert segment.offset_index.path.endswith("40.index.deleted")
    assert segment.offset_index.entries == 0
    assert segment.time_index.entries == 0
    assert folder.names == [
        f"00000000000000000040.{kind}.deleted" for kind in ("index", "log", "timeindex")
    ]


def test_a_preallocated_file_keeps_its_length_until_it_is_closed(tmp_path: Path) -> None:
    """LS-19."""
    settings = {"preallocate": True, "segment.bytes": 512 << 20}
    folder = Folder(tmp_path, settings=settings)
    segment = LogSegment.open(folder.context, 40)
    path = folder.file("log", 40)
    segment.append(51, hello(50, b"hello", b"there"))
    segment.append(61, hello(60, b"hello", b"there"))
    assert read_offsets(segment, 55) == [60, 61]
    assert segment.size == 4 * HELLO_SIZE
    assert path.stat().st_size == 512 << 20
    segment.close()
    assert path.stat().st_size == 4 * HELLO_SIZE
    reopened = LogSegment.open(folder.context, 40, file_exists=True)
    assert read_offsets(reopened, 55) == [60, 61]
    assert reopened.size == path.stat().st_size == 4 * HELLO_SIZE


def test_truncating_into_a_gap_removes_what_follows(tmp_path: Path) -> None:
    """LS-20."""
    segment = new_segment(tmp_path, 40)
    fill(segment, 40, 43)
    segment.truncate_to(41)
    assert read_offsets(segment, 40) == [40]
    assert segment.size == HELLO_SIZE


def test_batches_are_copied_until_one_does_not_fit(tmp_path: Path) -> None:
    """LS-21."""
    folder = Folder(tmp_path)
    source = FileRecords.open(folder.context.fs, str(tmp_path / "source"), exists=False)
    source.append(sized(0, 1024))
    source.append(sized(500, (1 << 20) + 1))
    before = source.size
    source.append(sized(LARGEST + 5, 1024))
    segment = LogSegment.open(folder.context, 0)
    assert segment.append_from_file(source, 0) == before
    assert segment.size == before
    rest = LogSegment.open(folder.context, LARGEST)
    assert rest.append_from_file(source, before) == source.size - before
    assert read_offsets(segment, 0) is not None
    assert segment.read_next_offset() == 501
    assert rest.read_next_offset() == LARGEST + 6


def test_the_first_batch_tells_since_when_a_segment_is_filled(tmp_path: Path) -> None:
    """LS-22."""
    segment = new_segment(tmp_path, 1)
    assert segment.first_batch_timestamp is None
    segment.append(1, MemoryRecords.of((1000, None, b"one"), base_offset=1))
    segment.append(2, MemoryRecords.of((500, None, b"two"), base_offset=2))
    assert segment.first_batch_timestamp == 1000


def test_a_first_batch_without_a_time_tells_nothing(tmp_path: Path) -> None:
    segment = new_segment(tmp_path)
    segment.append(0, MemoryRecords.of((None, b"one")))
    assert segment.first_batch_timestamp is None


def test_deleting_what_is_not_there_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LS-23: also below no folder."""
    folder = Folder(tmp_path)
    segment = LogSegment.open(folder.context, 0)
    segment.delete_if_exists()
    assert folder.names == []
    segment.delete_if_exists()
    monkeypatch.chdir(tmp_path)
    Path("bare.log").touch()
    bare = FileRecords.open(folder.context.fs, "bare.log")
    assert bare.delete_if_exists()
    assert not bare.delete_if_exists()


def test_appending_nothing_changes_nothing(tmp_path: Path) -> None:
    segment = new_segment(tmp_path)
    segment.append(-1, MemoryRecords.copy_of(b""))
    assert segment.size == 0


def test_an_inactive_segment_ends_with_its_largest_time(tmp_path: Path) -> None:
    folder = Folder(tmp_path, settings={"index.interval.bytes": 1 << 20})
    segment = LogSegment.open(folder.context, 0)
    for offset, time in ((0, 5), (1, 9), (2, 7)):
        segment.append(offset, MemoryRecords.of((time, None, b""), base_offset=offset))
    assert segment.time_index.entries == 0
    segment.on_become_inactive()
    assert segment.time_index.last_entry == (9, 1)
    assert folder.file("index", 0).stat().st_size == 0
    assert folder.file("timeindex", 0).stat().st_size == 12


def test_a_time_index_that_takes_no_last_entry_does_not_stop_closing(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_segment(0, hello(0))
    entry = struct.pack(">qi", 3, 500)  # of a batch far after the log's end
    folder.file("timeindex", 0).write_bytes(entry)
    segment = LogSegment.open(folder.context, 0, file_exists=True)
    assert segment.max_timestamp_so_far == (3, 500)
    segment.append(1, hello(1))
    segment.close()
    (step,) = (step for step in folder.steps if step.kind == "time index not finished")
    assert "offset 1 is below the last one, 500" in step.reason
    assert folder.file("timeindex", 0).read_bytes() == entry


def test_times_of_files_can_be_set(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    segment = folder.write_segment(0, hello(0))
    segment.set_last_modified(1_600_000_000_123)
    assert segment.last_modified == 1_600_000_000_123
    for kind in ("log", "index", "timeindex"):
        assert os.stat(folder.file(kind, 0)).st_mtime_ns // 10**6 == 1_600_000_000_123


def test_without_times_the_file_tells_the_age(tmp_path: Path) -> None:
    segment = Folder(tmp_path).write_segment(0, MemoryRecords.of((None, b"one")))
    segment.set_last_modified(1_600_000_000_000)
    assert segment.largest_timestamp == 1_600_000_000_000


def test_the_observer_learns_of_each_index_entry(tmp_path: Path) -> None:
    folder = Folder(tmp_path, settings={"index.interval.bytes": HELLO_SIZE})
    segment = LogSegment.open(folder.context, 0)
    fill(segment, 0, 1, 2, 3)
    told = [step for step in folder.steps if step.kind.startswith("index entry")]
    kinds = [step.kind.removeprefix("index entry ") for step in told]
    assert kinds == ["skipped", "skipped", "added", "skipped"]
    numbers = told[2].numbers
    assert (numbers["offset"], numbers["position"]) == (2, 2 * HELLO_SIZE)
    assert numbers["bytes_since_entry"] == 2 * HELLO_SIZE
    assert "more than index.interval.bytes = 39" in told[2].reason
