"""Segments: where to start reading, the next offset, and times, whatever the indexes say."""

from collections.abc import Callable
from pathlib import Path

import pytest

import workbench
from tests.golden.cases import Case, names
from tests.golden.reading import open_segment
from tests.naive import Record, batch, message
from workbench.file_system.source import FileSource
from workbench.record.reading.batch_table import scan_batches

Golden = Callable[[str], Case]
LOG = "00000000000000000000.log"


@pytest.mark.parametrize("name", [*names("damage-clean"), "k0.10.2-damage", "k2.3-formats"])
def test_an_index_never_leads_past_the_wanted_offset(name: str, golden: Golden) -> None:
    """OI-1: missing, garbage, of another log, ahead of it: no record is lost by it."""
    case = golden(name)
    label = "before" if "before" in case.labels else case.labels[0]
    checked = 0
    for partition in workbench.open_log_directory(case.directory(label)).values():
        for segment in partition.segments:
            rows = segment.batches.rows
            for offset in sorted({int(offset) for offset in rows["last_offset"]}):
                reaching = rows["position"][rows["last_offset"] >= offset]
                position = segment.position_of(offset)
                assert position in rows["position"]
                assert position <= int(reaching[0]), (partition.name, offset)
                checked += position > 0
    assert checked


@pytest.mark.parametrize("name", [*names("damage-clean"), *names("crash"), *names("formats")])
def test_the_next_offset_is_that_behind_the_last_whole_batch(name: str, golden: Golden) -> None:
    """LS-12: with the index or without."""
    case = golden(name)
    for partition in workbench.open_log_directory(case.directory(case.labels[-1])).values():
        for segment in partition.segments:
            with FileSource(segment.path) as source:
                rows = scan_batches(source).rows
            expected = int(rows["last_offset"][-1]) + 1 if len(rows) else segment.base_offset
            assert segment.next_offset == expected


@pytest.mark.parametrize("name", [*names("formats"), *names("retention", version="1.1")])
def test_offsets_for_times_are_those_that_old_brokers_answered(name: str, golden: Golden) -> None:
    """FR-13 LS-11: ListOffsets; a topic without timestamps has no answer."""
    case = golden(name)
    logs = workbench.open_log_directory(case.directory(case.labels[0]))
    answers = case.rows("bytime")
    for answer in answers:
        partition = logs[f"{answer['topic']}-{answer['partition']}"]
        assert partition.offset_for_timestamp(answer["target"]) == answer.get("offset")
    assert answers or case.version in {"0.8.2.2", "0.9.0.1", "0.10.0.1"} or "retention" in name


@pytest.mark.parametrize("name", names("plain-timestamps"))
def test_offsets_for_times_are_those_that_brokers_answered(name: str, golden: Golden) -> None:
    """FR-13: out of order, equal, from 0 to 2^63-1, with the time of appending."""
    case = golden(name)
    logs = workbench.open_log_directory(case.directory("data"))
    answers = case.info["headline"]["listOffsets"]["byTime"]
    wrong = []
    for answer in answers:
        found = logs[answer["partition"]].offset_for_timestamp(answer["target"])
        if (-1 if found is None else found) != answer["offset"]:
            wrong.append((answer, found))
    assert wrong == []
    assert answers


def test_times_lead_to_the_first_record_at_or_after_them(tmp_path: Path) -> None:
    """FR-13: offsets 5 and 6 at times 10 and 11; messages of magic 0 have no times."""
    folder = tmp_path / "times-0"
    folder.mkdir()
    data = batch([Record(5, 10)]) + batch([Record(6, 11)], leader_epoch=1)
    (folder / LOG).write_bytes(message(0, Record(4)) + data)
    partition = workbench.open_log_directory(tmp_path)["times-0"]
    assert [partition.offset_for_timestamp(time) for time in (10, 11, 12)] == [5, 6, None]


@pytest.mark.parametrize("size", [0, 1 << 20])  # no batch's, and past the end of the file
def test_a_time_is_found_after_damage(size: int, tmp_path: Path) -> None:
    folder = tmp_path / "times-0"
    folder.mkdir()
    damaged = bytearray(batch([Record(0, 9)]))
    damaged[8:12] = size.to_bytes(4)
    (folder / LOG).write_bytes(bytes(damaged) + batch([Record(1, 10)]) + batch([Record(2, 11)]))
    partition = workbench.open_log_directory(tmp_path)["times-0"]
    assert [partition.offset_for_timestamp(time) for time in (9, 10, 11, 12)] == [1, 1, 2, None]


def test_a_segment_without_batches_ends_where_it_starts(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000042.log"
    path.write_bytes(b"")
    segment = open_segment(path)
    assert (segment.next_offset, segment.largest_timestamp) == (42, None)
    assert list(segment.read()) == []


def test_files_beside_the_log_are_none_when_they_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / LOG
    path.write_bytes(batch([Record(0, 7)]))
    segment = open_segment(path)
    assert segment.offset_index is None
    assert segment.time_index is None
    assert segment.transaction_index is None
    assert segment.largest_timestamp == 7


def test_a_file_that_grew_gives_the_batches_of_one_read_at_once(tmp_path: Path) -> None:
    batches = [batch([Record(offset, value=b"v" * offset)]) for offset in range(6)]
    ends = [0]
    for each in batches:
        ends.append(ends[-1] + len(each))
    whole = b"".join(batches)
    path = tmp_path / LOG
    path.write_bytes(whole[:10])
    segment = open_segment(path)
    for size in (10, ends[1], ends[3] - 1, ends[3], ends[4] + 5, ends[6]):
        path.write_bytes(whole[:size])
        grown, read = segment.batches, scan_batches(FileSource(str(path)))
        assert grown.rows.tobytes() == read.rows.tobytes()
        assert grown.stop == read.stop
    # Truncated, then written again, longer: nothing of before is kept.
    other = b"".join(batch([Record(offset, value=b"other")]) for offset in range(60))
    assert len(other) > len(whole)
    path.write_bytes(other)
    assert len(segment.batches) == 60
