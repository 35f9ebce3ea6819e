"""A log manager and its cleaner, and what keeps them out of each other's way."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.log_manager.cleaning import COMPACT, cleaner_of, in_thread, last_values
from tests.log_manager.managers import FailingDirectories, Managed, files_of
from tests.waiting import wait_until
from workbench.cleaner.schedule.manager import IN_PROGRESS, CleaningState
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import CLEANER_OFFSETS, TopicPartition
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.steps import Step

ORDERS = TopicPartition("orders", 0)
BACKOFF = 15_000
HOUR = 3_600_000


def write(log: Log, keys: int = 3, segments: int = 4) -> None:
    """Write every key into each of some segments, and begin another one."""
    for number in range(segments):
        log.append([(b"%d" % key, b"%d" % number) for key in range(keys)])
        log.roll()
    log.update_high_watermark(log.log_end_offset)


def checkpoint(directory: Path) -> dict[str, int]:
    found = OffsetCheckpoint.read(str(directory / CLEANER_OFFSETS)).offsets
    return {str(partition): offset for partition, offset in found.items()}


def state_of(manager: LogManager, partition: TopicPartition = ORDERS) -> CleaningState | None:
    return cleaner_of(manager).manager.cleaning_state(partition)


def test_a_manager_compacts_by_itself(tmp_path: Path) -> None:
    managed = Managed(tmp_path, topic_configs={"orders": COMPACT})
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        write(log)
        size, last = log.size, last_values(log)
        managed.clock.advance(BACKOFF)
        assert log.size < size
        assert last_values(log) == last
        assert checkpoint(tmp_path) == {"orders-0": 12}
    with Managed(tmp_path, topic_configs={"orders": COMPACT}).manager as manager:
        log = manager.logs[ORDERS]
        log.update_high_watermark(log.log_end_offset)
        assert cleaner_of(manager).clean_filthiest() is None
        assert last_values(log) == last


def test_without_a_cleaner_nothing_is_compacted(tmp_path: Path) -> None:
    config = {"log.cleaner.enable": False}
    managed = Managed(
        tmp_path / "a", tmp_path / "b", config=config, topic_configs={"orders": COMPACT}
    )
    with managed.manager as manager:
        assert manager.cleaner is None
        log = manager.get_or_create_log("orders-0")
        write(log)
        size = log.size
        managed.clock.advance(BACKOFF)
        assert log.size == size
        manager.truncate_to({ORDERS: 5})
        manager.prefer_directory("orders-0", tmp_path / "b")
        manager.get_or_create_log("orders-0", is_future=True)
        manager.replace_current_with_future_log("orders-0")
        manager.update_topic_config("orders", {})
        manager.async_delete("orders-0")
    assert CLEANER_OFFSETS not in files_of(tmp_path / "a")


def test_without_tasks_the_cleaner_is_called_by_hand(tmp_path: Path) -> None:
    managed = Managed(tmp_path, topic_configs={"orders": COMPACT})
    managed.manager.startup(with_tasks=False)
    log = managed.manager.get_or_create_log("orders-0")
    write(log)
    managed.clock.advance(HOUR)
    assert CLEANER_OFFSETS not in files_of(tmp_path)
    found = cleaner_of(managed.manager).clean_filthiest()
    assert found is not None
    assert found.to_clean.log is log
    assert checkpoint(tmp_path) == {"orders-0": 12}
    managed.manager.shutdown()


def test_after_a_shutdown_nothing_is_cleaned_and_nothing_written(tmp_path: Path) -> None:
    managed = Managed(tmp_path, topic_configs={"orders": COMPACT})
    managed.manager.startup(with_tasks=False)
    write(managed.manager.get_or_create_log("orders-0"))
    cleaner = cleaner_of(managed.manager)
    managed.manager.shutdown()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert [cleaner.clean_filthiest() for _ in range(3)] == [None] * 3
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_cleaner_deletes_of_logs_that_are_compacted_too(tmp_path: Path) -> None:
    """LM-7: and retention leaves them alone."""
    own = {"cleanup.policy": "compact,delete", "retention.ms": HOUR, "min.compaction.lag.ms": HOUR}
    managed = Managed(tmp_path, topic_configs={"orders": own})
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        write(log)
        managed.clock.advance(HOUR - BACKOFF)
        assert log.log_start_offset == 0
        assert manager.delete_old_segments() == 0
        managed.clock.advance(2 * BACKOFF)
        assert log.log_start_offset == 12


@pytest.mark.parametrize(("offset", "expected"), [(12, 12), (11, 9), (5, 3)])
def test_truncation_lowers_the_checkpoint_to_the_active_segment(
    tmp_path: Path, offset: int, expected: int
) -> None:
    """CM-7."""
    managed = Managed(tmp_path, topic_configs={"orders": {**COMPACT, "segment.index.bytes": 14}})
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        write(log)
        managed.clock.advance(BACKOFF)
        assert checkpoint(tmp_path) == {"orders-0": 12}
        manager.truncate_to({ORDERS: offset})
        assert checkpoint(tmp_path) == {"orders-0": expected}
        manager.truncate_fully_and_start_at(ORDERS, 2)
        assert checkpoint(tmp_path) == {"orders-0": 2}
        assert state_of(manager) is None


def test_a_deleted_log_is_taken_out_of_the_checkpoint(tmp_path: Path) -> None:
    """CI-4."""
    topics = {"orders": COMPACT, "users": COMPACT}
    managed = Managed(tmp_path, topic_configs=topics)
    with managed.manager as manager:
        for name in ("orders-0", "orders-1", "users-0"):
            write(manager.get_or_create_log(name))
        managed.clock.advance(BACKOFF)
        assert checkpoint(tmp_path) == {"orders-0": 12, "orders-1": 12, "users-0": 12}
        manager.async_delete("orders-1")
        assert checkpoint(tmp_path) == {"orders-0": 12, "users-0": 12}
        manager.async_delete_all(["orders-0"], lambda *_: None)
        assert checkpoint(tmp_path) == {"users-0": 12}
        assert state_of(manager) is None


def test_a_log_that_moves_is_not_compacted_and_takes_its_checkpoint_along(tmp_path: Path) -> None:
    """CM-7."""
    a, b = tmp_path / "a", tmp_path / "b"
    managed = Managed(a, b, topic_configs={"orders": COMPACT})
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        write(log)
        managed.clock.advance(BACKOFF)
        manager.prefer_directory("orders-0", b)
        future = manager.get_or_create_log("orders-0", is_future=True)
        write(log)
        size = log.size
        managed.clock.advance(BACKOFF)
        assert log.size == size
        position = 0
        while position < log.log_end_offset:
            found = log.read(position).records
            future.append_as_follower(found)
            position = found.records()[-1].offset + 1
        manager.replace_current_with_future_log("orders-0")
        assert (checkpoint(a), checkpoint(b)) == ({}, {"orders-0": 12})
        write(future)
        managed.clock.advance(BACKOFF)
        assert checkpoint(b)["orders-0"] == future.active_segment.base_offset
        assert state_of(manager) is None


def test_a_directory_that_fails_is_left_by_the_cleaner(tmp_path: Path) -> None:
    """CM-7."""
    fs = FailingDirectories()
    managed = Managed(tmp_path / "a", tmp_path / "b", fs=fs, topic_configs={"orders": COMPACT})
    with managed.manager as manager:
        bad, good = (manager.get_or_create_log(f"orders-{number}") for number in range(2))
        write(bad)
        write(good)
        fs.failing.add(bad.parent_directory)
        managed.clock.advance(BACKOFF)
        assert checkpoint(Path(good.parent_directory)) == {"orders-1": 12}
        assert manager.offline_directories == [bad.parent_directory]
        assert cleaner_of(manager).manager.uncleanable_partitions(bad.parent_directory) == {}


def test_truncation_and_deletion_go_on_while_retention_has_paused_a_log(tmp_path: Path) -> None:
    """CM-8: afterwards nothing is paused."""
    managed = Managed(tmp_path)
    with managed.manager as manager:
        states = cleaner_of(manager).manager
        for name in ("orders-0", "orders-1"):
            write(manager.get_or_create_log(name))
        chosen = states.pause_cleaning_for_non_compacted_partitions()
        assert chosen == [ORDERS, TopicPartition("orders", 1)]
        manager.truncate_to({ORDERS: 3})
        manager.async_delete("orders-1")
        states.resume_cleaning(chosen)
        assert [states.cleaning_state(each) for each in chosen] == [None, None]


# With threads


class Stop:
    """An observer that holds a cleaning at its first segment until it is let go."""

    def __init__(self) -> None:
        self.held, self.let_go = threading.Event(), threading.Event()
        self.kinds: Counter[str] = Counter()

    def __call__(self, step: Step) -> None:
        self.kinds[step.kind] += 1
        if step.kind == "segment mapped" and not self.let_go.is_set():
            self.held.set()
            self.let_go.wait()


@contextmanager
def held_in_cleaning(root: Path) -> Iterator[tuple[LogManager, Log, Stop]]:
    """Give a manager while a thread of its cleaner is in the middle of a log."""
    stop = Stop()
    config = {"log.cleaner.backoff.ms": 1, "log.initial.task.delay.ms": HOUR}
    with LogManager([root], config, topic_configs={"orders": COMPACT}, observer=stop) as manager:
        log = manager.get_or_create_log("orders-0")
        write(log)
        stop.held.wait()
        assert state_of(manager) == IN_PROGRESS
        try:
            yield manager, log, stop
        finally:
            stop.let_go.set()


def to_deletion(manager: LogManager) -> None:
    manager.async_delete("orders-0")


def to_truncation(manager: LogManager) -> None:
    manager.truncate_to({ORDERS: 4})


def to_start(manager: LogManager) -> None:
    manager.truncate_fully_and_start_at(ORDERS, 100)


def to_policy(manager: LogManager) -> None:
    manager.update_topic_config("orders", {"cleanup.policy": "delete"})


@pytest.mark.parametrize("change", [to_deletion, to_truncation, to_start, to_policy])
def test_what_changes_a_log_ends_its_cleaning_first(
    tmp_path: Path, change: Callable[[LogManager], None]
) -> None:
    """CM-6, CM-8."""
    with held_in_cleaning(tmp_path) as (manager, log, stop):
        names = files_of(tmp_path / "orders-0")
        thread = in_thread(lambda: change(manager))
        wait_until(lambda: state_of(manager) != IN_PROGRESS)
        assert thread.is_alive()
        assert files_of(tmp_path / "orders-0") == names
        stop.let_go.set()
        thread.join()
    assert not [name for name in files_of(Path(log.directory)) if name.endswith(".cleaned")]
    assert state_of(manager) is None


def test_a_shutdown_does_not_wait_for_the_end_of_a_cleaning(tmp_path: Path) -> None:
    with held_in_cleaning(tmp_path) as (manager, log, stop):
        last = last_values(log)
        thread = in_thread(manager.shutdown)
        cleaner = cleaner_of(manager)
        wait_until(cleaner._stopping.is_set)  # noqa: SLF001
        stop.let_go.set()
        thread.join()
    assert stop.kinds["log cleaned"] == 0
    with Managed(tmp_path, topic_configs={"orders": COMPACT}).manager as again:
        assert last_values(again.logs[ORDERS]) == last
