"""Retention: which segments are deleted, why the others are kept, and what is deleted with them."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.file_systems import FailingFileSystem, Operation
from tests.examples import examples
from tests.log.folder import batch
from tests.log.logs import (
    EXPIRATION,
    NOW,
    LogHome,
    bases,
    every_offset,
    in_transaction,
    sent_by,
    values,
)
from workbench.config.broker_rules import BrokerRules
from workbench.errors import OffsetOutOfRangeError, StorageError
from workbench.foresight.explain.retention import explain_retention
from workbench.log.log import Log
from workbench.log.retention import LogState, by_log_start, by_size, by_time, rules_for
from workbench.log.segments.segment import create_new_cleaned_segment

ONE = values(1).size
DELETE_DELAY = 60_000
BY_TIME = {"retention.ms": 1000}


def five_to_a_segment(tmp_path: Path, count: int, **settings: Any) -> LogHome:
    """Return where a log is with ``count`` records, five to a segment."""
    names = {name.replace("_", "."): value for name, value in settings.items()}
    home = LogHome(tmp_path, {"segment.bytes": 5 * ONE, **names})
    log = home.open()
    for _ in range(count):
        log.append_as_leader(values(1))
    log.update_high_watermark(count)
    log.close()
    return home


def epochs(log: Log) -> list[tuple[int, int]]:
    return [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries]


def deleted(log: Log) -> int:
    return sum(verdict.is_deleted for verdict in log.delete_old_segments())


@pytest.mark.parametrize(
    ("version", "count", "said"),
    [("0.8.2", 4, "does not take as no limit"), ("0.9", 0, "retention.ms = -1 sets no limit")],
)
def test_before_0_9_an_age_of_minus_1_is_less_than_that_of_every_segment(
    version: str, count: int, said: str, tmp_path: Path
) -> None:
    """As 0.8.2.2 deletes in `tests/brokers/test_first_minutes_of_old_kafka.py`."""
    home = five_to_a_segment(tmp_path, 20, retention_ms=-1)
    state = home.open().retention_state()._replace(rules=BrokerRules.of(version))
    assert [each.is_deleted for each in by_time(state)] == [True] * count
    explanation = explain_retention(state, "as given")
    rows = [row for row in explanation if row.rule == "retention.ms"]
    assert [row.verdict for row in rows] == (["deleted"] * count or ["kept"])
    assert all(said in row.reason for row in rows)


def test_nothing_at_or_above_the_high_watermark_goes(tmp_path: Path) -> None:
    """UL-46."""
    home = LogHome(tmp_path, {"segment.bytes": 5 * ONE, **BY_TIME})
    log = home.open()
    for _ in range(100):
        log.append_as_leader(values(1))
    home.clock.advance(10_000)
    assert deleted(log) == 0
    for high in range(0, 101, 7):
        log.update_high_watermark(high)
        log.delete_old_segments()
        assert log.log_end_offset == 100
        assert log.log_start_offset == high // 5 * 5
        assert log.segments[0].base_offset == log.log_start_offset
    log.update_high_watermark(100)
    log.delete_old_segments()
    assert bases(log) == [100]
    assert (log.log_start_offset, log.log_end_offset, log.size) == (100, 100, 0)
    log.append_as_leader(values(1))
    assert every_offset(log) == [100]


def test_the_epochs_that_are_left_begin_at_the_start(tmp_path: Path) -> None:
    """UL-47: and none are left of a deleted log."""
    home = five_to_a_segment(tmp_path, 100, retention_ms=1000)
    log = home.open(recovery_point=100)
    log.leader_epochs.assign(1, 40)
    log.update_high_watermark(100)
    home.clock.advance(10_000)
    log.delete_old_segments()
    assert epochs(log) == [(1, 100)]
    log.delete()
    assert (log.segments, epochs(log), log.delete_old_segments()) == ([], [], [])


def test_deleted_records_take_whole_segments_with_them(tmp_path: Path) -> None:
    """UL-48."""
    log = five_to_a_segment(tmp_path, 15).open(recovery_point=15)
    log.update_high_watermark(15)
    for start, left in ((1, [0, 5, 10]), (6, [5, 10]), (14, [10]), (15, [10])):
        log.delete_records(start)
        log.delete_old_segments()
        assert bases(log) == left
        assert log.log_start_offset == start
    with pytest.raises(OffsetOutOfRangeError):
        log.read(14)
    assert log.read(15).size == 0


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        (15 * ONE, 3),
        (14 * ONE, 3),
        (10 * ONE + 1, 3),
        (10 * ONE, 2),
        (5 * ONE, 1),
        (1, 1),
        (0, 1),
        (-1, 3),
    ],
)
def test_the_log_never_becomes_smaller_than_retention_bytes(
    tmp_path: Path, limit: int, left: int
) -> None:
    """UL-49."""
    log = five_to_a_segment(tmp_path, 15, retention_bytes=limit).open(recovery_point=15)
    log.update_high_watermark(15)
    log.delete_old_segments()
    assert len(log.segments) == left
    assert log.size >= min(max(limit, 0), 15 * ONE)
    assert log.log_end_offset == 15


def test_segments_whose_largest_time_is_past_go(tmp_path: Path) -> None:
    """UL-50."""
    home = LogHome(tmp_path, {"segment.bytes": 5 * ONE, **BY_TIME})
    log = home.open()
    for number in range(15):
        log.append_as_leader(values(1, timestamp=NOW + number))
    log.update_high_watermark(15)
    home.clock.set(NOW + 1004)
    assert deleted(log) == 0
    home.clock.set(NOW + 1005)  # 1001 ms after the largest time of the first segment
    (gone, kept) = log.delete_old_segments()[-2:]
    assert (gone.rule, gone.is_deleted, gone.value, gone.threshold) == (
        "retention.ms",
        True,
        1001,
        1000,
    )
    assert "1,001 ms old, above retention.ms = 1,000" in gone.reason
    assert (kept.is_deleted, kept.value) == (False, 996)
    assert bases(log) == [5, 10]


def test_a_time_in_the_future_keeps_a_segment(tmp_path: Path) -> None:
    home = LogHome(tmp_path, {"segment.bytes": 5 * ONE, **BY_TIME})
    log = home.open()
    log.append_as_leader(values(5, timestamp=NOW + 50_000))
    for _ in range(5):
        log.append_as_leader(values(1))
    log.update_high_watermark(10)
    home.clock.advance(40_000)
    verdict = log.delete_old_segments()[-1]
    assert not verdict.is_deleted
    assert "10,000 ms in the future" in verdict.reason


def test_a_compacted_topic_loses_nothing_by_time_or_size(tmp_path: Path) -> None:
    """UL-50."""
    settings = {"cleanup_policy": "compact", "retention_ms": 1000, "retention_bytes": 1}
    home = five_to_a_segment(tmp_path, 15, **settings)
    log = home.open(recovery_point=15)
    log.update_high_watermark(15)
    home.clock.advance(10_000)
    assert deleted(log) == 0
    log.delete_records(7)
    assert deleted(log) == 1
    assert bases(log) == [5, 10]
    both = home.config.with_({"cleanup.policy": "compact,delete"})
    log.update_config(both)
    log.delete_old_segments()
    assert bases(log) == [15]


def test_without_a_policy_only_deleted_records_go(tmp_path: Path) -> None:
    """UL-50: an empty cleanup.policy."""
    home = five_to_a_segment(tmp_path, 15, cleanup_policy="", retention_ms=1000)
    log = home.open(recovery_point=15)
    log.update_high_watermark(15)
    home.clock.advance(10_000)
    assert deleted(log) == 0
    log.delete_records(5)
    assert deleted(log) == 1


def test_epochs_follow_the_segments_that_go(tmp_path: Path) -> None:
    """UL-51."""
    home = five_to_a_segment(tmp_path, 15)
    log = home.open(recovery_point=15)
    log.leader_epochs.clear_and_flush()
    for epoch, start in ((0, 0), (1, 5), (2, 10)):
        log.leader_epochs.assign(epoch, start)
    log.update_high_watermark(15)
    log.delete_records(5)
    log.delete_old_segments()
    assert epochs(log) == [(1, 5), (2, 10)]


def test_an_epoch_may_lose_its_beginning(tmp_path: Path) -> None:
    """UL-51."""
    home = five_to_a_segment(tmp_path, 15)
    log = home.open(recovery_point=15)
    log.leader_epochs.clear_and_flush()
    for epoch, start in ((0, 0), (1, 7), (2, 10)):
        log.leader_epochs.assign(epoch, start)
    log.update_high_watermark(15)
    log.delete_records(5)
    log.delete_old_segments()
    assert epochs(log) == [(0, 5), (1, 7), (2, 10)]


def test_what_goes_is_renamed_at_once_and_removed_later(tmp_path: Path) -> None:
    """UL-52."""
    home = five_to_a_segment(tmp_path, 15, retention_ms=1000)
    log = home.open(recovery_point=15)
    log.update_high_watermark(15)
    home.clock.advance(10_000)
    assert deleted(log) == 3
    assert deleted(log) == 0
    marked = home.names_of(".deleted")
    assert [name for name in marked if name.endswith(".log.deleted")] == [
        f"{base:020}.log.deleted" for base in (0, 5, 10)
    ]
    home.clock.advance(DELETE_DELAY - 1)
    assert home.names_of(".deleted") == marked
    home.clock.advance(1)
    assert home.names_of(".deleted") == []
    assert bases(log) == [15]


def state_of(log: Log, high_watermark: int) -> LogState:
    return log.retention_state()._replace(high_watermark=high_watermark)


def test_the_oldest_is_asked_first_and_the_first_that_stays_ends_it(tmp_path: Path) -> None:
    """UL-54."""
    home = LogHome(tmp_path, {"segment.bytes": ONE, **BY_TIME})
    log = home.open()
    ages = [5000, 5000, 5000, 0, 5000, 5000]
    for age in ages:
        log.append_as_leader(values(1, timestamp=NOW - age))
    verdicts = by_time(state_of(log, 6))
    assert [verdict.is_deleted for verdict in verdicts] == [True, True, True, False]
    assert [verdict.segment.base_offset for verdict in verdicts] == [0, 1, 2, 3]


def test_an_empty_active_segment_is_never_among_them(tmp_path: Path) -> None:
    """UL-54."""
    home = LogHome(tmp_path, {"segment.bytes": ONE, **BY_TIME})
    log = home.open()
    for _ in range(10):
        log.append_as_leader(values(1))
    home.clock.advance(5000)
    assert sum(verdict.is_deleted for verdict in by_time(state_of(log, 10))) == 10
    assert sum(verdict.is_deleted for verdict in by_time(state_of(log, 9))) == 9
    log.roll()
    verdicts = by_time(state_of(log, 10))
    assert sum(verdict.is_deleted for verdict in verdicts) == 10
    assert verdicts[-1].segment is log.active_segment
    assert not verdicts[-1].is_deleted


def test_the_rules_are_asked_in_kafkas_order(tmp_path: Path) -> None:
    log = LogHome(tmp_path).open()
    assert rules_for(log.config) == [by_log_start, by_size, by_time]
    compacted = log.config.with_({"cleanup.policy": "compact"})
    assert rules_for(compacted) == [by_log_start]


def test_a_removal_that_fails_takes_the_directory_offline(tmp_path: Path) -> None:
    """UL-55."""

    def is_removal(operation: Operation) -> bool:
        return operation.kind == "remove" and operation.path.endswith(".log.deleted")

    home = five_to_a_segment(tmp_path, 15)
    home.fs = FailingFileSystem(0, errno.EIO, only=is_removal)
    log = home.open(recovery_point=15)
    log.update_high_watermark(15)
    log.delete_records(5)
    log.delete_old_segments()
    with pytest.raises(StorageError, match="delete segments of orders-0"):
        home.clock.advance(DELETE_DELAY)
    assert home.failures.is_offline(str(tmp_path))


def test_a_rename_that_fails_takes_the_directory_offline(tmp_path: Path) -> None:
    home = five_to_a_segment(tmp_path, 15)
    home.fs = FailingFileSystem(
        0, only=lambda each: each.kind == "rename" and each.target.endswith(".deleted")
    )
    log = home.open(recovery_point=15)
    log.update_high_watermark(15)
    log.delete_records(5)
    with pytest.raises(StorageError, match="delete segments of orders-0"):
        log.delete_old_segments()
    assert home.failures.is_offline(str(tmp_path))


def test_snapshots_go_with_their_segments(tmp_path: Path) -> None:
    """UL-38: one is kept, at the end of the log."""
    home = LogHome(tmp_path, {"segment.bytes": sent_by(1, 0).size, **BY_TIME})
    log = home.open()
    for sequence in range(3):
        log.append_as_leader(sent_by(1, sequence))
    assert home.snapshots == [1, 2]
    log.update_high_watermark(3)
    home.clock.advance(5000)
    log.delete_old_segments()
    home.clock.advance(DELETE_DELAY)
    assert log.log_start_offset == 3
    assert home.snapshots == [3]


def test_snapshots_behind_the_log_start_go(tmp_path: Path) -> None:
    """UL-38: two become one when the log start moves past a segment."""
    home = LogHome(tmp_path)
    log = home.open()
    for sequence in range(2):
        log.append_as_leader(sent_by(1, sequence))
        log.roll()
    log.append_as_leader(sent_by(1, 2))
    assert home.snapshots == [1, 2]
    log.update_high_watermark(3)
    log.delete_records(2)
    log.delete_old_segments()
    home.clock.advance(DELETE_DELAY)
    assert bases(log) == [2]
    assert home.snapshots == [2]


def test_producers_stay_when_their_records_go(tmp_path: Path) -> None:
    """UL-39."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(sent_by(1, 0))
    log.roll()
    log.append_as_leader(sent_by(2, 0))
    log.roll()
    assert set(log.producer_state.producers) == {1, 2}
    log.update_high_watermark(2)
    log.delete_records(2)
    log.delete_old_segments()
    assert bases(log) == [2]
    assert set(log.producer_state.producers) == {1, 2}


def test_silent_producers_are_forgotten(tmp_path: Path) -> None:
    """UL-41: by a task that ends with the log."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(sent_by(1, 0))
    log.append_as_leader(in_transaction(2, 0))
    home.clock.advance(EXPIRATION - 1)
    assert set(log.producer_state.producers) == {1, 2}
    home.clock.advance(600_000)
    assert set(log.producer_state.producers) == {2}  # its transaction is open
    log.delete()
    assert log.expiry_task.is_cancelled
    assert [task.name for task in home.scheduler.pending] == []


def test_files_without_timestamps_go_by_their_own_time(tmp_path: Path) -> None:
    home = LogHome(tmp_path, {"segment.bytes": 5 * ONE, **BY_TIME})
    log = home.open()
    for _ in range(10):
        log.append_as_leader(values(1, timestamp=-1))
    log.update_high_watermark(10)
    for segment in log.segments:
        os.utime(segment.log.path, (NOW / 1000, NOW / 1000))
    home.clock.set(NOW + 1000)
    assert deleted(log) == 0
    home.clock.set(NOW + 1001)
    (verdict, *_) = [each for each in log.delete_old_segments() if each.is_deleted]
    assert "file time (no record has a timestamp)" in verdict.reason
    assert bases(log) == [10]


@examples(50)
@given(
    sizes=st.lists(st.integers(0, 200), min_size=1, max_size=10),
    limit=st.integers(0, 1500),
    high=st.integers(0, 10),
    per_segment=st.integers(1, 4),
)
def test_size_retention_is_that_of_a_plain_walk(
    sizes: list[int],
    limit: int,
    high: int,
    per_segment: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """UL-49, UL-54."""
    home = LogHome(tmp_path_factory.mktemp("log"), {"retention.bytes": limit})
    log = home.open()
    for number, size in enumerate(sizes):
        if number and number % per_segment == 0:
            log.roll()
        log.append_as_leader(values(1, value=bytes(size)))
    log.update_high_watermark(high)
    held = [(segment.base_offset, segment.size) for segment in log.segments]
    ends = [base for base, _ in held[1:]] + [len(sizes)]
    left = list(held)
    for (_, size), end in zip(held, ends, strict=True):
        if sum(each for _, each in left) - size < limit or end > high:
            break
        left.pop(0)
    log.delete_old_segments()
    assert bases(log) == ([base for base, _ in left] or [len(sizes)])
    assert log.log_start_offset == (left[0][0] if left else len(sizes))


def test_snapshots_go_with_segments_that_are_replaced(tmp_path: Path) -> None:
    """UL-38: by compaction; the one of the new segment's base offset is kept."""
    home = LogHome(tmp_path)
    log = home.open()
    for sequence in range(3):
        log.append_as_leader(sent_by(1, sequence))
        log.roll()
    assert home.snapshots == [1, 2, 3]
    old = log.segments[:3]
    new = create_new_cleaned_segment(log.context, 0)
    for segment in old:
        new.append_from_file(segment.log, 0)
    new.on_become_inactive()
    new.flush()
    log.replace_segments([new], old, "a test")
    assert bases(log) == [0, 3]
    assert every_offset(log) == [0, 1, 2]
    home.clock.advance(DELETE_DELAY)
    assert home.snapshots == [3]
    assert home.names_of(".deleted") == home.names_of(".swap") == home.names_of(".cleaned") == []
    assert every_offset(home.reopen(log)) == [0, 1, 2]


def test_a_split_leaves_the_log_as_it_was_read(tmp_path: Path) -> None:
    """UL-65: with snapshots of parts that have another base offset gone."""
    home = LogHome(tmp_path)
    log = home.open()
    log.append_as_leader(values(2))
    segment = log.active_segment
    segment.log.append(batch(2**31))
    log.local.update_end_offset(2**31 + 1)
    log.roll()
    assert [part.base_offset for part in log.split_overflowed_segment(segment)] == [0, 2**31]
    assert bases(log) == [0, 2**31, 2**31 + 1]
    assert every_offset(log) == [0, 1, 2**31]
