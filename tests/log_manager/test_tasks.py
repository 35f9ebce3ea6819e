from pathlib import Path

import pytest

from tests.log_manager.managers import NOW, FailingDirectories, Managed, files_of, records
from workbench.errors import OffsetOutOfRangeError
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.runtime.scheduler import ManualScheduler

MINUTE = 60_000  # ms
TEN_MINUTES = 10 * MINUTE
BATCH = records(10)


def _filled(managed: Managed, appends: int, name: str = "orders-0") -> Log:
    log = managed.manager.get_or_create_log(name)
    for _ in range(appends):
        log.append(BATCH)
    return log


def test_old_segments_go_and_the_active_one_stays(tmp_path: Path) -> None:
    """LM-5."""
    topics = {"orders": {"segment.bytes": 1024, "retention.ms": TEN_MINUTES, "retention.bytes": -1}}
    managed = Managed(tmp_path, topic_configs=topics)
    with managed.manager:
        log = _filled(managed, 40)
        assert len(log.segments) > 1
        managed.clock.advance(TEN_MINUTES + 1)
        managed.clock.advance(5 * MINUTE)  # retention is looked at every five minutes
        assert len(log.segments) == 1
        managed.clock.advance(MINUTE + 1)  # file.delete.delay.ms
        active = log.active_segment.base_offset
        assert log.log_start_offset == active == 400
        log.append(BATCH)  # the files of a new segment are made when they are needed
        others = {"leader-epoch-checkpoint", "partition.metadata"}
        names = [n for n in files_of(tmp_path / "orders-0") if n not in others]
        kinds = {name.partition(".")[2] for name in names}
        assert kinds == {"log", "index", "timeindex", "snapshot"}
        assert {name.partition(".")[0] for name in names} == {f"{active:020d}"}
        assert log.read(log.log_end_offset).records.size == 0
        with pytest.raises(OffsetOutOfRangeError):
            log.read(0)


def test_segments_beyond_the_size_go(tmp_path: Path) -> None:
    """LM-6."""
    managed = Managed(tmp_path)
    with managed.manager as manager:
        size = _filled(managed, 1, "size-0").size
        manager.update_topic_config(
            "orders", {"segment.bytes": 10 * size, "retention.bytes": 50 * size + 10}
        )
        log = _filled(managed, 200)
        assert len(log.segments) == 20
        managed.clock.advance(5 * MINUTE + 30_000)
        assert len(log.segments) == 6
        with pytest.raises(OffsetOutOfRangeError):
            log.read(0)
        log.append(BATCH)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_compacted_logs_are_left_to_the_cleaner(tmp_path: Path, policy: str) -> None:
    """LM-7."""
    own = {"segment.bytes": 1024, "retention.ms": 1000, "cleanup.policy": policy}
    managed = Managed(tmp_path, config={"log.cleaner.enable": False}, topic_configs={"orders": own})
    with managed.manager as manager:
        log = manager.get_or_create_log("orders-0")
        for _ in range(20):
            log.append([(b"key", b"v" * 90)])
        log.update_high_watermark(log.log_end_offset)
        before = len(log.segments)
        assert before > 1
        managed.clock.advance(TEN_MINUTES)
        assert len(log.segments) == before


def test_a_directory_that_fails_keeps_no_other_from_retention(tmp_path: Path) -> None:
    fs = FailingDirectories()
    own = {"segment.bytes": 1024, "retention.ms": 1000}
    directories = (tmp_path / "a", tmp_path / "b")
    managed = Managed(*directories, fs=fs, topic_configs={"orders": own})
    with managed.manager:
        bad, good = _filled(managed, 40), _filled(managed, 40, "orders-1")
        fs.failing.add(bad.parent_directory)
        managed.clock.advance(TEN_MINUTES)
        assert len(good.segments) == 1
        assert managed.manager.offline_directories == [bad.parent_directory]


def test_logs_that_were_not_flushed_for_long_are(tmp_path: Path) -> None:
    """LM-8."""
    config = {"log.flush.scheduler.interval.ms": 1000, "log.initial.task.delay.ms": 0}
    topics = {"orders": {"flush.ms": 1000}}
    managed = Managed(tmp_path, config=config, topic_configs=topics)
    with managed.manager:
        log = _filled(managed, 3)
        assert log.recovery_point == 0
        last = log.last_flush_time
        managed.clock.advance(2000)
        assert log.last_flush_time > last
        assert log.recovery_point == 30


@pytest.mark.parametrize("slash", ["", "/", "/."])
def test_the_checkpoint_holds_the_recovery_point_of_every_log(
    tmp_path: Path, slash: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LM-10."""
    monkeypatch.chdir(tmp_path)
    managed = Managed(f"data{slash}")
    with managed.manager:
        for number in range(3):
            _filled(managed, 5, f"orders-{number}").flush_up_to(10 * number)
        managed.clock.advance(MINUTE + 30_000)
        assert _offsets(tmp_path / "data", "recovery-point") == {
            f"orders-{number}": 10 * number for number in range(3)
        }


def test_only_the_checkpoints_of_directories_concerned_are_written(tmp_path: Path) -> None:
    """LM-10."""
    managed = Managed(tmp_path / "a", tmp_path / "b")
    with managed.manager as manager:
        for number in range(4):
            _filled(managed, 2, f"orders-{number}").flush()
        manager.checkpoint_recovery_points()
        before = _offsets(tmp_path / "b", "recovery-point")
        partition = next(p for p, log in manager.logs.items() if log.parent_directory.endswith("a"))
        for log in manager.logs.values():
            log.append(BATCH)
            log.flush()
        manager.truncate_to({partition: 5})
        assert _offsets(tmp_path / "a", "recovery-point")[str(partition)] == 5
        assert _offsets(tmp_path / "b", "recovery-point") == before


def test_a_log_start_above_the_first_segment_is_checkpointed(tmp_path: Path) -> None:
    """LM-12."""
    managed = Managed(tmp_path, topic_configs={"orders": {"segment.bytes": 512}})
    with managed.manager as manager:
        log = _filled(managed, 10)
        manager.checkpoint_log_start_offsets()
        assert _offsets(tmp_path, "log-start") == {}
        log.delete_records(31)
        manager.checkpoint_log_start_offsets()
        assert _offsets(tmp_path, "log-start") == {"orders-0": 31}
        manager.delete_old_segments()
        first = log.segments[0].base_offset
        log.delete_records(log.segments[1].base_offset)
        manager.delete_old_segments()
        assert log.segments[0].base_offset > first
        assert log.log_start_offset == log.segments[0].base_offset
        manager.checkpoint_log_start_offsets()
        assert _offsets(tmp_path, "log-start") == {}


def test_a_log_start_is_kept_over_a_restart(tmp_path: Path) -> None:
    managed = Managed(tmp_path)
    with managed.manager:
        _filled(managed, 10).delete_records(31)
    with Managed(tmp_path).manager as manager:
        log = manager.logs[TopicPartition("orders", 0)]
        assert (log.log_start_offset, log.log_end_offset) == (31, 100)


def test_tasks_have_kafkas_names_and_times(tmp_path: Path) -> None:
    managed = Managed(tmp_path)
    with managed.manager:
        scheduler = managed.manager._context.scheduler  # noqa: SLF001
        assert isinstance(scheduler, ManualScheduler)
        found = {task.name: (task.due - NOW, task.period_ms) for task in scheduler.pending}
        assert found == {
            "kafka-log-retention": (30_000, 5 * MINUTE),
            "kafka-log-flusher": (30_000, 2**63 - 1),
            "kafka-recovery-point-checkpoint": (30_000, MINUTE),
            "kafka-log-start-offset-checkpoint": (30_000, MINUTE),
            "kafka-delete-logs": (30_000, None),
            "highwatermark-checkpoint": (5000, 5000),
            "kafka-log-cleaner-thread-0": (1, None),
        }
    assert scheduler.pending == ()


def _offsets(path: Path, name: str) -> dict[str, int]:
    found = OffsetCheckpoint.read(str(path / f"{name}-offset-checkpoint"))
    return {str(partition): offset for partition, offset in found.offsets.items()}
