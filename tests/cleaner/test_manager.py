"""Which log is cleaned next, and which must not be cleaned."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cleaner.cleaners import CleanedLogs, partition
from tests.log.logs import NOW
from workbench.cleaner.schedule.log_to_clean import LogToClean
from workbench.cleaner.schedule.manager import ABORTED, IN_PROGRESS, CleaningState, paused
from workbench.cleaner.statistics import PreCleanStats
from workbench.config.log_config import LogConfig
from workbench.errors import CleaningAbortedError
from workbench.files.names import TopicPartition

ONE, TWO, THREE = (partition(f"orders-{number}") for number in (1, 2, 3))
HOUR = 3_600_000


@pytest.fixture
def logs(tmp_path: Path) -> CleanedLogs:
    return CleanedLogs(tmp_path)


def grabbed(logs: CleanedLogs) -> TopicPartition | None:
    chosen = logs.manager.grab_filthiest_compacted_log()
    return None if chosen is None else chosen.topic_partition


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def wait_for_state(logs: CleanedLogs, of: TopicPartition, state: CleaningState) -> None:
    waiting = threading.Event()
    while logs.manager.cleaning_state(of) != state:
        waiting.wait(0.001)


def test_the_filthiest_log_is_cleaned_first(logs: CleanedLogs) -> None:
    """CM-1."""
    logs.dirty("orders-1", 1, 2)
    logs.dirty("orders-2", 1, 5)
    logs.dirty("orders-3", 1, 3)
    assert [grabbed(logs) for _ in range(4)] == [TWO, THREE, ONE, None]
    assert logs.manager.cleaning_state(TWO) == IN_PROGRESS


def test_logs_that_are_uncleanable_in_progress_or_paused_are_passed_over(
    logs: CleanedLogs,
) -> None:
    """CM-1."""
    for number, dirty in ((1, 5), (2, 4), (3, 3), (4, 2)):
        logs.dirty(f"orders-{number}", 1, dirty)
    logs.manager.mark_partition_uncleanable(logs.logs[ONE], ValueError("full"))
    logs.manager.abort_and_pause_cleaning(TWO)
    assert [grabbed(logs) for _ in range(3)] == [THREE, partition("orders-4"), None]


def test_clean_empty_and_uncompacted_logs_are_not_cleaned(logs: CleanedLogs) -> None:
    logs.add("empty-0")
    logs.dirty("deleted-0", 0, 5, cleanup_policy="delete")
    logs.dirty("clean-0", 3, 3)  # a ratio of 0.5 is not above 0.5
    assert grabbed(logs) is None
    assert logs.manager.max_dirty_ratio == 0.5


def test_a_log_that_is_copied_to_another_directory_is_not_cleaned(logs: CleanedLogs) -> None:
    logs.dirty("orders-1", 0, 2)
    logs.moving.add(ONE)
    assert grabbed(logs) is None
    assert logs.manager.deletable_logs() == []
    logs.moving.clear()
    assert grabbed(logs) == ONE


def test_a_log_that_waited_too_long_is_cleaned_however_clean_it_is(logs: CleanedLogs) -> None:
    """CI-2: among those that are due the filthiest is the first."""
    logs.dirty("orders-1", 8, 1, max_compaction_lag_ms=6 * HOUR)
    logs.dirty("orders-2", 8, 2, max_compaction_lag_ms=6 * HOUR)
    logs.clock.advance(6 * HOUR)
    assert grabbed(logs) is None
    logs.clock.advance(1000)
    stats = PreCleanStats()
    chosen = logs.manager.grab_filthiest_compacted_log(stats)
    assert chosen is not None
    assert chosen.topic_partition == TWO
    assert stats == PreCleanStats(1000, delayed_partitions=2, cleanable_partitions=2)


def test_a_log_that_cannot_be_looked_at_is_uncleanable_and_keeps_no_other(
    logs: CleanedLogs,
) -> None:
    """CM-2."""
    logs.dirty("orders-1", 0, 5)
    logs.dirty("orders-2", 1, 3)
    logs.logs[ONE].close_handlers()
    Path(logs.logs[ONE].segments[0].log.path).unlink()
    assert grabbed(logs) == TWO
    found = logs.manager.uncleanable_partitions(logs.a)
    assert list(found) == [ONE]
    assert isinstance(found[ONE], OSError | ValueError)


@pytest.mark.parametrize(("checkpoint", "start", "expected"), [(15, 20, 20), (10, 15, 15)])
def test_a_checkpoint_below_the_log_start_is_put_right_also_of_a_log_that_is_not_chosen(
    logs: CleanedLogs, checkpoint: int, start: int, expected: int
) -> None:
    """CM-4."""
    log = logs.dirty("orders-1", 0, 24, min_compaction_lag_ms=HOUR)
    logs.manager.checkpoints.update(logs.a, {ONE: checkpoint})
    log.log.delete_records(start)
    assert grabbed(logs) is None
    assert logs.checkpoint() == {"orders-1": expected}


def test_a_checkpoint_beyond_the_end_is_put_right_and_one_within_is_left(
    logs: CleanedLogs,
) -> None:
    """CM-3, CM-4."""
    logs.dirty("orders-1", 3, 2)
    logs.dirty("orders-2", 3, 2)
    logs.manager.checkpoints.update(logs.a, {TWO: 200})
    chosen = logs.manager.grab_filthiest_compacted_log()
    assert chosen is not None
    assert (chosen.topic_partition, chosen.first_dirty_offset) == (TWO, 0)
    assert logs.checkpoint() == {"orders-1": 3, "orders-2": 0}


def test_the_cleaner_applies_retention_to_compacted_logs_only(logs: CleanedLogs) -> None:
    """CM-5: segments of a log that is only compacted may be before its start."""
    both = logs.dirty("orders-1", 0, 2, cleanup_policy="compact,delete").log
    compacted = logs.dirty("orders-2", 0, 2).log
    logs.dirty("orders-3", 0, 2, cleanup_policy="delete")
    bad = logs.dirty("orders-4", 0, 2).log
    logs.manager.mark_partition_uncleanable(bad, ValueError("full"))
    assert logs.manager.deletable_logs() == [both, compacted]
    assert logs.manager.deletable_logs() == []
    assert grabbed(logs) is None
    logs.manager.done_deleting([both, compacted])
    assert logs.manager.deletable_logs() == [both, compacted]


def test_what_retention_works_on_is_not_cleaned_when_it_becomes_compacted(
    logs: CleanedLogs,
) -> None:
    """CM-6."""
    log = logs.dirty("orders-1", 0, 2, cleanup_policy="delete").log
    compacted = logs.dirty("orders-2", 0, 2).log
    assert logs.manager.pause_cleaning_for_non_compacted_partitions() == [ONE]
    log.update_config(LogConfig.of({"cleanup.policy": "compact"}))
    assert [grabbed(logs), grabbed(logs)] == [TWO, None]
    compacted.update_config(LogConfig.of({"cleanup.policy": "delete"}))
    assert logs.manager.pause_cleaning_for_non_compacted_partitions() == []
    logs.manager.resume_cleaning([ONE])
    assert grabbed(logs) == ONE
    logs.manager.done_cleaning(compacted, 2)
    assert logs.manager.pause_cleaning_for_non_compacted_partitions() == [TWO]


def test_checkpoints_are_added_removed_and_freed_of_partitions_that_are_gone(
    logs: CleanedLogs,
) -> None:
    """CM-7."""
    checkpoints = logs.manager.checkpoints
    for name in ("orders-1", "orders-2"):
        logs.add(name)
    checkpoints.update(logs.a, {ONE: 5})
    checkpoints.update(logs.a, {TWO: 7})
    assert logs.checkpoint() == {"orders-1": 5, "orders-2": 7}
    assert checkpoints.all() == {ONE: 5, TWO: 7}
    checkpoints.update(logs.a, remove=ONE)
    assert logs.checkpoint() == {"orders-2": 7}
    checkpoints.update(logs.a, {ONE: 5})
    del logs.logs[TWO]
    checkpoints.update(logs.a)
    assert logs.checkpoint() == {"orders-1": 5}


def test_a_directory_that_failed_has_no_checkpoint_any_more(logs: CleanedLogs) -> None:
    """CM-7."""
    checkpoints = logs.manager.checkpoints
    logs.add("orders-1", logs.a)
    logs.add("orders-2", logs.b)
    checkpoints.update(logs.a, {ONE: 5})
    checkpoints.update(logs.b, {TWO: 7})
    checkpoints.leave_directory(logs.a)
    assert checkpoints.all() == {TWO: 7}
    checkpoints.update(logs.a, {ONE: 6})
    assert logs.checkpoint(logs.a) == {"orders-1": 5}


def test_a_checkpoint_that_cannot_be_understood_takes_its_directory_only(
    logs: CleanedLogs,
) -> None:
    logs.dirty("orders-1", 0, 2)
    log = logs.add("orders-2", logs.b)
    for _ in range(2):
        log.append(1)
        log.roll()
    Path(logs.a, "cleaner-offset-checkpoint").write_text("7\nwhat?\n")
    logs.logs[ONE].context.failures = logs.failures
    assert grabbed(logs) == TWO
    assert logs.failures.offline == (logs.a,)
    assert grabbed(logs) is None


@pytest.mark.parametrize(("policy", "offset", "expected"), [
    ("compact", 3, 3), ("compact", 5, 5), ("compact", 9, 5), ("delete", 3, 5),
])  # fmt: skip
def test_truncation_lowers_only_a_larger_checkpoint_of_a_compacted_log(
    logs: CleanedLogs, policy: str, offset: int, expected: int
) -> None:
    """CM-7."""
    logs.add("orders-1", cleanup_policy=policy)
    logs.manager.checkpoints.update(logs.a, {ONE: 5})
    logs.manager.checkpoints.truncate(logs.a, ONE, offset)
    assert logs.checkpoint() == {"orders-1": expected}


def test_a_log_that_moves_takes_its_checkpoint_and_its_error_along(logs: CleanedLogs) -> None:
    """CM-7."""
    log = logs.add("orders-1")
    logs.manager.checkpoints.update(logs.a, {ONE: 5})
    error = ValueError("full")
    logs.manager.mark_partition_uncleanable(log.log, error)
    logs.manager.alter_checkpoint_dir(ONE, logs.a, logs.b)
    assert (logs.checkpoint(logs.a), logs.checkpoint(logs.b)) == ({}, {"orders-1": 5})
    assert logs.manager.uncleanable_partitions(logs.a) == {}
    assert logs.manager.uncleanable_partitions(logs.b) == {ONE: error}


def test_pauses_nest(logs: CleanedLogs) -> None:
    """CM-8."""
    manager = logs.manager
    logs.dirty("orders-1", 0, 2)
    for pauses in (1, 2, 3):
        manager.abort_and_pause_cleaning(ONE)
        assert manager.cleaning_state(ONE) == paused(pauses)
    manager.abort_cleaning(ONE)
    assert manager.cleaning_state(ONE) == paused(3)
    for pauses in (2, 1):
        manager.resume_cleaning([ONE])
        assert manager.cleaning_state(ONE) == paused(pauses)
        assert grabbed(logs) is None
    manager.resume_cleaning([ONE])
    assert manager.cleaning_state(ONE) is None
    with pytest.raises(RuntimeError, match="not paused"):
        manager.resume_cleaning([ONE])


def test_cleaning_that_is_done_is_checkpointed_and_in_no_state(logs: CleanedLogs) -> None:
    """CM-11."""
    log = logs.dirty("orders-1", 0, 2).log
    with pytest.raises(RuntimeError, match="not in progress"):
        logs.manager.done_cleaning(log, 2)
    logs.manager.abort_and_pause_cleaning(ONE)
    with pytest.raises(RuntimeError, match="paused, not in progress"):
        logs.manager.done_cleaning(log, 2)
    with pytest.raises(RuntimeError, match="paused, not in progress"):
        logs.manager.done_deleting([log])
    logs.manager.resume_cleaning([ONE])
    assert grabbed(logs) == ONE
    logs.manager.done_cleaning(log, 2)
    assert logs.manager.cleaning_state(ONE) is None
    assert logs.checkpoint() == {"orders-1": 2}


def done_cleaning(logs: CleanedLogs, chosen: LogToClean) -> None:
    logs.manager.done_cleaning(chosen.log, 2)


def done_deleting(logs: CleanedLogs, chosen: LogToClean) -> None:
    logs.manager.done_deleting([chosen.log])


@pytest.mark.parametrize("done", [done_cleaning, done_deleting])
def test_who_aborts_waits_for_the_end_and_nothing_is_checkpointed(
    logs: CleanedLogs, done: Callable[[CleanedLogs, LogToClean], None]
) -> None:
    """CM-11."""
    manager = logs.manager
    logs.dirty("orders-1", 0, 2)
    chosen = manager.grab_filthiest_compacted_log()
    assert chosen is not None
    manager.check_cleaning_aborted(ONE)
    thread = in_thread(lambda: manager.abort_and_pause_cleaning(ONE))
    wait_for_state(logs, ONE, ABORTED)
    with pytest.raises(CleaningAbortedError, match="orders-1"):
        manager.check_cleaning_aborted(ONE)
    assert thread.is_alive()
    done(logs, chosen)
    thread.join()
    assert manager.cleaning_state(ONE) == paused(1)
    assert logs.checkpoint() == {}


def test_several_threads_may_abort_the_same_cleaning(logs: CleanedLogs) -> None:
    logs.dirty("orders-1", 0, 2)
    chosen = logs.manager.grab_filthiest_compacted_log()
    assert chosen is not None
    threads = [in_thread(lambda: logs.manager.abort_cleaning(ONE)) for _ in range(5)]
    wait_for_state(logs, ONE, ABORTED)
    logs.manager.done_cleaning(chosen.log, 2)
    for thread in threads:
        thread.join()
    assert logs.manager.cleaning_state(ONE) is None


def test_metrics_have_kafkas_names(logs: CleanedLogs) -> None:
    """CI-1: of uncleanable partitions the bytes that are to be cleaned."""
    log = logs.dirty("orders-1", 1, 3).log
    logs.dirty("orders-2", 1, 2)
    logs.manager.mark_partition_uncleanable(log, ValueError("full"))
    assert grabbed(logs) == TWO
    logs.clock.advance(1234)
    dirty = sum(segment.size for segment in log.segments[1:4])
    assert logs.manager.metrics() == {
        "uncleanable-partitions-count": {logs.a: 1, logs.b: 0},
        "uncleanable-bytes": {logs.a: dirty, logs.b: 0},
        "max-dirty-percent": 66,
        "time-since-last-run-ms": 1234,
    }
    del logs.logs[ONE]
    logs.manager.maintain_uncleanable_partitions()
    assert logs.manager.metrics()["uncleanable-partitions-count"][logs.a] == 0
    assert logs.clock.now() == NOW + 1234
