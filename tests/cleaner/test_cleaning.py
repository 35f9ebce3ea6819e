"""What a round keeps, and where it ends."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.cleaner.cleaning import DAY, LATER, SMALL, Cleanable, map_of
from tests.log.logs import NOW, bases
from workbench.cleaner.cleaner import group_segments, plan_cleaning
from workbench.cleaner.decisions import Keeping, Reason, Verdict
from workbench.config.log_config import LogConfig
from workbench.errors import CleaningAbortedError
from workbench.record.memory_records import MemoryRecords


def test_old_values_go_and_the_newest_stay(tmp_path: Path) -> None:
    """CL-1."""
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 0, 2, 1, 3)
    log.roll()
    size = log.log.segments[0].size
    cleaning = log.clean()
    assert (log.keys, log.offsets) == ([0, 2, 1, 3], [2, 3, 4, 5])
    assert cleaning.stats.bytes_read == size
    reasons = [cleaning.decisions.reason_of(offset) for offset in (0, 1, 2)]
    assert reasons == [Reason.SUPERSEDED, Reason.SUPERSEDED, Reason.NEWEST]
    assert cleaning.decisions.newer_offsets.tolist() == [2, 4, -1, -1, -1, -1]


def test_records_of_one_batch_supersede_each_other(tmp_path: Path) -> None:
    log = Cleanable(tmp_path)
    log.append(0, 1, 0, 1, 2)
    log.roll()
    cleaning = log.clean()
    assert (log.offsets, log.base_offsets, log.last_offsets) == ([2, 3, 4], [0], [4])
    assert cleaning.decisions.batches["verdict"].tolist() == [Verdict.REBUILT]


def test_preallocated_files_are_cut_when_they_are_clean(tmp_path: Path) -> None:
    """CL-3."""
    log = Cleanable(tmp_path, preallocate=True, segment_bytes=4096)
    log.append_each(0, 0, 1)
    log.roll()
    log.clean()
    segment = log.log.segments[0]
    assert Path(segment.log.path).stat().st_size == segment.size < 4096


def test_the_throttle_is_told_of_every_read_and_write(tmp_path: Path) -> None:
    """CL-40: those of the map, of the copy, and of what is kept."""
    log = Cleanable(tmp_path)
    log.append_each(*range(6), *range(6))
    log.roll()
    told: list[int] = []
    stats = log.clean(config=SMALL, throttle=told.append).stats
    assert len(told) > 20
    assert sum(told) == stats.map_bytes_read + stats.bytes_read + stats.bytes_written


def test_statistics_tell_what_was_read_and_written(tmp_path: Path) -> None:
    """CL-4."""
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 0, 1, 0)
    log.roll()
    before = log.log.segments[0].size
    stats = log.clean(2, offset_map=map_of(4)).stats
    assert stats.end_offset == 5
    assert (stats.messages_read, stats.messages_written) == (5, 2)
    assert (stats.bytes_read, stats.bytes_written) == (before, log.log.segments[0].size)
    assert stats.invalid_messages_read == 0
    assert stats.map_utilization == 0.5


def test_a_map_for_one_key_gets_on_record_by_record(tmp_path: Path) -> None:
    """CL-5."""
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 0, 1, 0)
    log.roll()
    for start, left in ((2, [1, 2, 3, 4]), (3, [2, 3, 4]), (4, [3, 4])):
        cleaning = log.clean(start, offset_map=map_of(2))
        assert log.offsets == left
        assert cleaning.stats.end_offset == start + 1


def test_a_full_map_leaves_what_is_behind_it(tmp_path: Path) -> None:
    """CL-6."""
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 2, 3, 4)
    log.roll()
    offset_map = map_of(3)
    cleaning = log.clean(2, offset_map=offset_map)
    assert [offset_map.get(b"%d" % key) for key in range(5)] == [-1, -1, 2, 3, -1]
    assert cleaning.stats.map_messages_read == 4
    assert cleaning.stats.end_offset == 4
    assert cleaning.decisions.reason_of(4) == Reason.BEYOND_MAP


def test_the_map_holds_what_is_dirty_and_no_more(tmp_path: Path) -> None:
    """CL-7."""
    log = Cleanable(tmp_path)
    for first in (0, 10, 20):
        log.append_each(*range(first, first + 10))
        log.roll()
    offset_map = map_of(100)
    log.clean(10, upper=20, offset_map=offset_map)
    assert (offset_map.size, offset_map.latest_offset) == (10, 19)
    assert offset_map.lookup([b"9", b"10", b"19", b"20"]).tolist() == [-1, 10, 19, -1]


def test_deleted_keys_go_when_their_time_has_come(tmp_path: Path) -> None:
    """CL-8 CL-15: the time counts from the cleaning that first met the tombstone."""
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 2)
    log.append_each(0, 2, value=None)
    log.append(7)
    log.roll()
    first = log.clean()
    assert log.offsets == [1, 3, 4, 5]
    assert first.decisions.reason_of(3) == Reason.TOMBSTONE_HORIZON_SET
    assert first.decisions.batches["delete_horizon"][3] == NOW + DAY
    again = log.clean(now=NOW + DAY - 1)
    assert log.offsets == [1, 3, 4, 5]
    assert again.decisions.reason_of(3) == Reason.TOMBSTONE_HORIZON_AHEAD
    last = log.clean(now=NOW + DAY)
    assert log.keys == [1, 7]
    assert last.decisions.reason_of(3) == Reason.TOMBSTONE_HORIZON_PASSED


def test_segments_that_may_not_be_cleaned_stay_as_they_are(tmp_path: Path) -> None:
    """CL-9."""
    log = Cleanable(tmp_path)
    for _ in range(4):
        log.append_each(0, 1)
        log.roll()
    sizes = [segment.size for segment in log.log.segments]
    log.clean(upper=4)
    assert log.offsets == [2, 3, 4, 5, 6, 7]
    assert [segment.size for segment in log.log.segments][-3:] == sizes[2:]


def test_records_without_a_key_go_and_are_counted(tmp_path: Path) -> None:
    """CL-11."""
    log = Cleanable(tmp_path, cleanup_policy="delete")
    log.append_each(None, 1, None, 2)
    log.roll()
    cleaning = log.clean()
    assert log.keys == [1, 2]
    assert cleaning.stats.invalid_messages_read == 2
    assert cleaning.decisions.counts() == {Reason.NEWEST: 2, Reason.NO_KEY: 2}


def test_a_cleaning_that_is_given_up_changes_nothing(tmp_path: Path) -> None:
    """CL-12."""
    log = Cleanable(tmp_path)
    log.append_each(0, 0, 0)
    log.roll()
    names = log.home.names
    calls: list[int] = []

    def give_up() -> None:
        calls.append(len(calls))
        if len(calls) > 3:
            raise CleaningAbortedError("asked for")

    with pytest.raises(CleaningAbortedError):
        log.clean(check=give_up)
    assert log.offsets == [0, 1, 2]
    assert log.home.names == names


def test_the_last_batch_of_a_round_stays_without_its_records(tmp_path: Path) -> None:
    """CL-13."""
    log = Cleanable(tmp_path)
    log.append_each(0, 0, value=None)
    log.append(1, 1, value=None)
    log.roll()
    log.clean_twice()
    assert (log.offsets, log.last_offsets, bases(log.log)) == ([], [3], [0, 4])


def test_the_round_ends_at_the_next_segment_though_offsets_are_missing(tmp_path: Path) -> None:
    """CL-14."""
    log = Cleanable(tmp_path)
    log.append_each(0, 0)
    log.log.roll(11)
    assert log.clean(upper=11).stats.end_offset == 11


def test_batches_larger_than_the_buffer_are_cleaned(tmp_path: Path) -> None:
    """CL-16: also those that max.message.bytes no longer allows."""
    log = Cleanable(tmp_path)
    log.append_each(0, 0, value=bytes(5000))
    log.append(*range(20))
    log.roll()
    log.log.update_config(LogConfig.of({"max.message.bytes": 100}))
    log.clean(config=SMALL)
    assert log.keys == list(range(20))


def test_groups_hold_as_many_segments_as_fit(tmp_path: Path) -> None:
    """CL-20: by size of batches and of indexes."""
    log = Cleanable(tmp_path, index_interval_bytes=0)
    for _ in range(7):
        log.append_each(0, 1, 2)
        log.roll()
    segments = log.log.segments[:-1]
    size, index = segments[0].size, segments[0].offset_index.size_in_bytes
    large = 1 << 30

    def groups(most: int, most_index: int) -> list[int]:
        return [len(group) for group in group_segments(segments, most, most_index, 21)]

    assert groups(large, large) == [7]
    assert groups(1, large) == groups(large, 1) == [1] * 7
    assert groups(3 * size, large) == groups(3 * size + 1, large) == [3, 3, 1]
    time_index = segments[0].time_index.size_in_bytes
    assert groups(large, 3 * max(index, time_index)) == [3, 3, 1]


def test_a_group_spans_at_most_what_an_index_can_hold(tmp_path: Path) -> None:
    """CL-21 CL-22: the end of the last segment is where the round ends; empty ones always fit."""
    log = Cleanable(tmp_path)
    log.append(0)
    log.roll()
    far = MemoryRecords.of((b"1", b"v"), base_offset=2**31 - 2, partition_leader_epoch=0)
    log.log.append_as_follower(far, 0)
    log.roll()
    segments = log.log.segments[:-1]
    sizes = (1 << 30, 1 << 30)
    assert len(group_segments(segments, *sizes, 2**31)) == 1
    assert len(group_segments(segments, *sizes, 2**31 + 1)) == 2
    segments[1].log.truncate_to(0)
    assert len(group_segments(segments, *sizes, 2**31 + 1)) == 1


def test_a_plan_is_what_cleaning_does_and_writes_nothing(tmp_path: Path) -> None:
    log = Cleanable(tmp_path)
    log.append_each(0, 1, 0)
    log.append_each(1, value=None)
    log.within(7, 4, 5)
    log.abort(7)
    log.roll()
    before = {name: (log.home.path / name).read_bytes() for name in log.home.names}
    plan = plan_cleaning(log.log, 0, log.log.active_segment.base_offset, LATER)
    assert {name: (log.home.path / name).read_bytes() for name in log.home.names} == before
    done = log.clean(now=LATER)
    assert plan.stats == done.stats
    assert np.array_equal(plan.decisions.batches, done.decisions.batches)
    assert np.array_equal(plan.decisions.reasons, done.decisions.reasons)
    kept = done.decisions.offsets[done.decisions.is_kept].tolist()
    assert kept == log.offsets
    assert Keeping.LAST_OF_PRODUCER in done.decisions.batches["keeping"]


def test_there_has_to_be_something_to_clean(tmp_path: Path) -> None:
    log = Cleanable(tmp_path)
    with pytest.raises(ValueError, match="nothing to clean"):
        log.clean(0, upper=0)


@pytest.mark.parametrize("seed", range(4))
def test_without_collecting_decisions_the_same_is_left(seed: int, tmp_path: Path) -> None:
    """What building the map showed to be superseded is what a lookup would say."""
    left: list[object] = []
    for collects in (True, False):
        chance = Random(seed)
        root = tmp_path / str(collects)
        root.mkdir()
        log = Cleanable(root)
        log.log.context.observer = None
        for _ in range(60):
            keys = [chance.randrange(12) for _ in range(chance.randint(1, 6))]
            producer = chance.randrange(2)
            if chance.random() < 0.3:
                log.within(producer, *keys)
                (log.commit if chance.random() < 0.5 else log.abort)(producer)
            else:
                log.append(*keys, value=chance.choice([b"v", b"w", None]))
            if chance.random() < 0.1:
                log.roll()
        log.roll()
        start = 0
        for now in (NOW, LATER):
            cleaning = log.clean(start, now, offset_map=map_of(13, 0.7), collects=collects)
            start = cleaning.stats.end_offset // 2
            assert (len(cleaning.decisions) > 0) == collects
            left.append(cleaning.stats)
        left.append([bytes(segment.log.read(0, segment.size)) for segment in log.log.segments])
    assert left[:3] == left[3:]
