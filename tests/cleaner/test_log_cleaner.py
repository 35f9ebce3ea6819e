"""Workers that keep logs compacted, by hand, by a clock that is moved, and on threads."""

import os
import threading
from pathlib import Path

import pytest

from tests.cleaner.cleaners import CleanedLogs, partition
from tests.cleaner.cleaning import Cleanable
from tests.log.logs import NOW, bases
from tests.waiting import wait_until
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.cleaner_thread import CleanedLog
from workbench.cleaner.schedule.manager import IN_PROGRESS
from workbench.cleaner.schedule.throttler import CHECK_INTERVAL_MS
from workbench.errors import ConfigError
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

ONE, TWO = partition("orders-1"), partition("orders-2")
BACKOFF = 15_000
HOUR = 3_600_000
DAY = 24 * HOUR


@pytest.fixture
def logs(tmp_path: Path) -> CleanedLogs:
    return CleanedLogs(tmp_path)


def scheduled(root: Path, **config: object) -> tuple[CleanedLogs, ManualScheduler]:
    """Return logs whose cleaner runs when its clock is moved."""
    clock = ManualClock(NOW)
    scheduler = ManualScheduler(clock)
    names = {f"log.cleaner.{name.replace('_', '.')}": value for name, value in config.items()}
    return CleanedLogs(root, names, scheduler, clock), scheduler


def fill(log: Cleanable, first: int, keys: int = 5, copies: int = 3) -> dict[int, bytes]:
    """Write every key some times, each time with a new value; return the last ones."""
    last = {}
    for number in range(first, first + keys * copies):
        key = number % keys
        last[key] = b"%d" % number
        log.append(key, value=last[key])
        if number % 4 == 0:
            log.roll()
    log.roll()
    return last


def last_values(log: Cleanable) -> dict[int, bytes | None]:
    """Return the last value of each key that is read."""
    found: dict[int, bytes | None] = {}
    for segment in log.log.segments:
        for record in segment.log.read(0, segment.size).records():
            assert record.key is not None
            found[int(record.key)] = record.value
    return found


def cleaned(found: CleanedLog | None) -> str | None:
    return None if found is None else str(found.to_clean.topic_partition)


# By hand


def test_a_pass_cleans_the_filthiest_log_and_the_next_pass_the_next(logs: CleanedLogs) -> None:
    logs.dirty("orders-1", 3, 5)
    filthy = logs.dirty("orders-2", 0, 8)
    before = filthy.log.size
    found = logs.cleaner.clean_filthiest()
    assert cleaned(found) == "orders-2"
    assert filthy.log.size < before
    assert logs.checkpoint() == {"orders-1": 3, "orders-2": 8}
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
    assert logs.cleaner.clean_filthiest() is None
    assert logs.checkpoint() == {"orders-1": 8, "orders-2": 8}
    assert {logs.manager.cleaning_state(each) for each in (ONE, TWO)} == {None}


def test_a_full_index_makes_a_log_uncleanable_and_keeps_no_other(logs: CleanedLogs) -> None:
    """CI-1: it is reported with its dirty bytes, until it is removed."""
    bad = logs.add("orders-1", index_interval_bytes=1)
    for first in (0, 6):
        bad.append_each(*range(first, first + 6))
        bad.roll()
    bad.log.update_config(bad.log.config.with_({"segment.index.bytes": 24}))
    logs.dirty("orders-2", 1, 3)
    offsets, dirty = bad.offsets, sum(each.size for each in bad.log.segments[:-1])
    assert logs.cleaner.clean_filthiest() is None
    error = logs.manager.uncleanable_partitions(logs.a)[ONE]
    assert "index is full" in str(error)
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-2"
    assert logs.manager.metrics()["uncleanable-bytes"][logs.a] == dirty
    assert bad.offsets == offsets
    assert logs.checkpoint()["orders-1"] == 0
    assert bad.home.names_of(".cleaned") == []
    del logs.logs[ONE]
    assert logs.cleaner.clean_filthiest() is None
    assert logs.manager.uncleanable_partitions(logs.a) == {}


def test_a_damaged_batch_makes_a_log_uncleanable(logs: CleanedLogs) -> None:
    """CI-1."""
    log = logs.dirty("orders-1", 0, 5)
    path = Path(log.log.segments[2].log.path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(data)
    assert logs.cleaner.clean_filthiest() is None
    assert list(logs.manager.uncleanable_partitions(logs.a)) == [ONE]
    assert logs.cleaner.clean_filthiest() is None


def test_a_disk_that_fails_takes_its_directory_and_no_other(logs: CleanedLogs) -> None:
    log = logs.dirty("orders-1", 0, 5)
    other = logs.add("orders-2", logs.b)
    for key in (1, 1):
        other.append(key)
        other.roll()
    log.home.failures.add(logs.a, OSError("broken"))
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-2"
    assert logs.cleaner.clean_filthiest() is None
    assert logs.manager.uncleanable_partitions(logs.a) == {}


def test_nothing_is_compacted_before_the_smallest_lag_has_passed(logs: CleanedLogs) -> None:
    """CI-3."""
    log = logs.add("orders-1", min_compaction_lag_ms=HOUR)
    last = fill(log, 0)
    size, active = log.log.size, log.log.active_segment.base_offset
    for later in (0, HOUR - 1):
        logs.clock.set(NOW + later)
        assert logs.cleaner.clean_filthiest() is None
        assert log.log.size == size
    logs.clock.set(NOW + HOUR)
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
    assert log.log.size < size
    assert (last_values(log), logs.checkpoint()) == (last, {"orders-1": active})


def test_the_largest_lag_compacts_block_after_block(logs: CleanedLogs) -> None:
    """CI-2: whatever the dirty ratio is."""
    log = logs.add("orders-1", max_compaction_lag_ms=6 * HOUR, min_cleanable_dirty_ratio=1)
    first = NOW - 10 * HOUR
    for block in range(2):
        for key in (1, 2, 1, 2):
            record = (first + block * 6 * HOUR, b"%d" % key, b"%d" % block)
            log.log.append_as_leader(MemoryRecords.of(record))
        log.roll()
    log.append(3)
    logs.manager.checkpoints.update(logs.a, {ONE: 0})
    ends = []
    for hours in (3, 6, 6.01, 9, 12, 12.01):
        logs.clock.set(first + int(hours * HOUR))
        log.log.update_config(log.log.config.with_({"min.compaction.lag.ms": HOUR}))
        while logs.cleaner.clean_filthiest() is not None:
            pass
        ends.append(logs.checkpoint()["orders-1"])
    assert ends == [0, 0, 4, 4, 4, 8]
    assert last_values(log) == {1: b"1", 2: b"1", 3: b"v"}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_compacted_again_and_again(logs: CleanedLogs, codec: str) -> None:
    """CI-4: a partition that is gone is not in the checkpoint any more."""
    log = logs.add("orders-1", compression_type="uncompressed" if codec == "none" else codec)
    for turn in range(2):
        last = fill(log, 100 * turn, copies=6)
        size = log.log.size
        assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
        assert log.log.size < size
        assert last_values(log) == last
    del logs.logs[ONE]
    logs.manager.abort_cleaning(ONE)
    logs.manager.checkpoints.update(logs.a, remove=ONE)
    assert logs.checkpoint() == {}


def test_compacted_logs_are_also_retained(logs: CleanedLogs) -> None:
    """CI-5: records without timestamps are as old as their files."""
    log = logs.add("orders-1", cleanup_policy="compact,delete", retention_ms=DAY)

    def write(value: bytes) -> None:
        for number in range(8):
            log.log.append_as_follower(
                MemoryRecords.of(
                    (b"%d" % (number % 3), value),
                    base_offset=log.log.log_end_offset,
                    partition_leader_epoch=0,
                )
            )
            log.roll()

    write(b"old")
    for segment in log.log.segments:
        os.utime(segment.log.path, (NOW / 1000, NOW / 1000))
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
    assert last_values(log) == dict.fromkeys(range(3), b"old")
    for segment in log.log.segments:
        old = (NOW - DAY - 1000) / 1000
        os.utime(segment.log.path, (old, old))
    log.home.clock.set(NOW)
    assert logs.cleaner.clean_filthiest() is None
    assert (log.log.log_start_offset, bases(log.log)) == (8, [8])
    write(b"new")
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
    assert last_values(log) == dict.fromkeys(range(3), b"new")


def test_formats_may_be_mixed(logs: CleanedLogs) -> None:
    """CI-6."""
    log = logs.add("orders-1", max_message_bytes=1000)
    last = {}
    for number, (magic, codec) in enumerate(
        [(0, "none"), (0, "gzip"), (1, "none"), (1, "snappy"), (1, "lz4"), (2, "none"), (2, "zstd")]
        * 3
    ):
        options = {"partition_leader_epoch": 0} if magic == 2 else {}
        key, value = number % 4, b"%d" % number * 100
        log.log.append_as_follower(
            MemoryRecords.of(
                (NOW, b"%d" % key, value),
                magic=magic,
                codec=codec,
                base_offset=log.log.log_end_offset,
                **options,
            )
        )
        last[key] = value
        if number % 5 == 0:
            log.roll()
    log.roll()
    size = log.log.size
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
    assert log.log.size < size
    assert last_values(log) == last


def test_cleaned_segments_keep_the_time_of_their_files(logs: CleanedLogs) -> None:
    log = logs.dirty("orders-1", 0, 6)
    times = [(NOW - number * DAY) // 1000 for number in range(7)]
    for segment, time in zip(log.log.segments, times, strict=True):
        os.utime(segment.log.path, (time, time))
    logs.cleaner.clean_filthiest()
    cleaned_segment, _active = log.log.segments
    assert cleaned_segment.last_modified == times[5] * 1000
    assert os.stat(cleaned_segment.log.path).st_mtime == times[5]


# By a clock that is moved


def test_a_cleaner_looks_again_after_its_backoff(tmp_path: Path) -> None:
    logs, scheduler = scheduled(tmp_path)
    logs.cleaner.startup()
    assert logs.checkpoint() == {}
    log = logs.dirty("orders-1", 0, 5)
    logs.clock.advance(1)
    assert logs.checkpoint() == {"orders-1": 5}
    for key in (1, 1, 1, 1, 1, 1):
        log.append(key)
        log.roll()
    logs.clock.advance(BACKOFF - 1)
    assert logs.checkpoint() == {"orders-1": 5}
    logs.clock.advance(1)
    assert logs.checkpoint() == {"orders-1": 11}
    assert [task.name for task in scheduler.pending] == ["kafka-log-cleaner-thread-0"]
    logs.cleaner.shutdown()
    assert not scheduler.pending
    logs.clock.advance(DAY)


def test_a_pass_goes_on_until_nothing_is_dirty(tmp_path: Path) -> None:
    logs, _ = scheduled(tmp_path)
    for number in range(4):
        logs.dirty(f"orders-{number}", 0, 3)
    logs.cleaner.startup()
    logs.clock.advance(1)
    assert logs.checkpoint() == {f"orders-{number}": 3 for number in range(4)}


def test_an_idle_cleaner_looks_once_however_far_the_clock_is_moved(tmp_path: Path) -> None:
    logs, _ = scheduled(tmp_path)
    logs.cleaner.startup()
    looked: list[str] = []
    log = logs.dirty("orders-1", 3, 0)
    log.log.context.observer = lambda step: looked.append(step.kind)
    logs.clock.advance(1)
    of_one_look = looked.copy()
    looked.clear()
    logs.clock.advance(7 * DAY)
    assert looked == of_one_look
    assert logs.manager.metrics()["time-since-last-run-ms"] == 0


def test_a_worker_that_dies_is_counted(tmp_path: Path) -> None:
    """CI-8: of an error that is no fault of a log."""
    logs, scheduler = scheduled(tmp_path, threads=2)
    logs.cleaner.startup()
    logs.logs[ONE] = None  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        logs.clock.advance(1)
    assert logs.cleaner.metrics()["DeadThreadCount"] == 1
    assert len(scheduler.pending) == 1
    del logs.logs[ONE]
    logs.cleaner.reconfigure({"log.cleaner.threads": 1})
    assert logs.cleaner.metrics()["DeadThreadCount"] == 0


# Another configuration


def test_threads_may_be_halved_and_doubled(tmp_path: Path) -> None:
    """CL-40."""
    logs = CleanedLogs(tmp_path, {"log.cleaner.threads": 3})
    cleaner = logs.cleaner
    for threads in (0, 7):
        with pytest.raises(ConfigError):
            cleaner.reconfigure({"log.cleaner.threads": threads})
    for threads in (6, 3, 1, 2, 4):
        cleaner.reconfigure({"log.cleaner.threads": str(threads)})
        assert len(cleaner.threads) == cleaner.config.log_cleaner_threads == threads
    with pytest.raises(ConfigError, match="found 1, expected half to double of the current 4"):
        cleaner.reconfigure({"log.cleaner.threads": 1})


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"log.cleaner.enable": False}, "cannot be changed"),
        ({"log.retention.ms": 5}, "cannot be changed"),
        ({"log.cleaner.backoff.ms": -1}, "-1 is not"),
        (
            {"log.cleaner.dedupe.buffer.size": 1 << 20},
            "expected more than 1 MiB for each of 2 threads",
        ),
        ({"log.cleaner.io.buffer.size": "many"}, "many"),
    ],
)
def test_a_configuration_that_is_refused_changes_nothing(
    logs: CleanedLogs, values: dict[str, object], problem: str
) -> None:
    before, threads = logs.cleaner.config, logs.cleaner.threads
    with pytest.raises(ConfigError, match=problem):
        logs.cleaner.reconfigure({"log.cleaner.threads": 2, **values})
    assert logs.cleaner.config is before
    assert logs.cleaner.threads is threads


def test_buffers_rate_and_backoff_are_changed_while_it_works(tmp_path: Path) -> None:
    """CI-7, CL-40."""
    logs, _ = scheduled(tmp_path, io_buffer_size=1)
    logs.cleaner.startup()
    logs.cleaner.reconfigure(
        {
            "log.cleaner.threads": 2,
            "log.cleaner.io.buffer.size": 1 << 20,
            "log.cleaner.dedupe.buffer.size": 8 << 20,
            "log.cleaner.io.buffer.load.factor": 0.5,
            "log.cleaner.io.max.bytes.per.second": 1e9,
            "log.cleaner.backoff.ms": 100,
        }
    )
    assert CleanerConfig.of(logs.cleaner.config) == CleanerConfig(4 << 20, 0.5, 1 << 19)
    assert logs.cleaner.throttler.desired_rate == 1e9
    logs.clock.advance(1)
    log = logs.dirty("orders-1", 0, 5)
    logs.clock.advance(100)
    assert logs.checkpoint() == {"orders-1": 5}
    assert log.keys == [2, 0, 1]


def test_with_buffers_of_nothing_a_log_is_read_batch_by_batch(tmp_path: Path) -> None:
    """CI-7: where Kafka cleans nothing until they are made larger."""
    logs = CleanedLogs(tmp_path, {"log.cleaner.io.buffer.size": 1})
    log = logs.dirty("orders-1", 0, 5)
    assert cleaned(logs.cleaner.clean_filthiest()) == "orders-1"
    assert log.keys == [2, 0, 1]


def test_metrics_tell_of_the_last_round(logs: CleanedLogs) -> None:
    assert logs.cleaner.metrics()["max-clean-time-secs"] == 0
    logs.dirty("orders-1", 0, 6, max_compaction_lag_ms=1000)
    logs.clock.advance(9000)
    found = logs.cleaner.clean_filthiest()
    assert found is not None
    assert found.stats is not None
    metrics = logs.cleaner.metrics()
    recopied = 100 * found.stats.bytes_written // found.stats.bytes_read
    assert metrics["cleaner-recopy-percent"] == recopied == 50
    assert metrics["max-compaction-delay-secs"] == 8
    assert metrics["max-dirty-percent"] == 100
    assert metrics["max-buffer-utilization-percent"] == 0
    assert metrics["DeadThreadCount"] == 0


# On threads


def names_of_threads() -> list[str]:
    return sorted(
        thread.name for thread in threading.enumerate() if thread.name.startswith("kafka-log-cl")
    )


def test_threads_share_the_logs(tmp_path: Path) -> None:
    logs = CleanedLogs(tmp_path, {"log.cleaner.threads": 2, "log.cleaner.backoff.ms": 5})
    filled = {f"orders-{number}": logs.add(f"orders-{number}") for number in range(6)}
    last = {name: fill(log, 7 * number) for number, (name, log) in enumerate(filled.items())}
    logs.cleaner.startup()
    assert names_of_threads() == ["kafka-log-cleaner-thread-0", "kafka-log-cleaner-thread-1"]
    ends = {name: log.log.active_segment.base_offset for name, log in filled.items()}
    wait_until(lambda: logs.checkpoint() == ends)
    logs.cleaner.shutdown()
    assert names_of_threads() == []
    assert {name: last_values(log) for name, log in filled.items()} == last
    assert logs.cleaner.metrics()["DeadThreadCount"] == 0


RATE = "log.cleaner.io.max.bytes.per.second"


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_worker_that_is_throttled_wakes_up_for_another_rate_and_for_the_end(
    tmp_path: Path,
    goes_on: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """CL-40."""
    logs = CleanedLogs(tmp_path, {RATE: 1, "log.cleaner.backoff.ms": 1})
    log = logs.add("orders-1")
    last = fill(log, 0)
    end = log.log.active_segment.base_offset
    threading.Event().wait((CHECK_INTERVAL_MS + 1) / 1000)
    logs.cleaner.startup()
    wait_until(lambda: logs.manager.cleaning_state(ONE) == IN_PROGRESS)
    assert logs.checkpoint() == {}
    if goes_on:
        logs.cleaner.reconfigure({RATE: 1e12})
        wait_until(lambda: logs.checkpoint() == {"orders-1": end})
    logs.cleaner.shutdown()
    assert logs.checkpoint() == {"orders-1": end if goes_on else 0}
    assert last_values(log) == last


def test_a_shutdown_ends_what_is_being_cleaned(tmp_path: Path) -> None:
    logs = CleanedLogs(tmp_path)
    log = logs.add("orders-1")
    last = fill(log, 0, keys=20, copies=20)
    names = log.home.names_of(".log")
    begun = threading.Event()
    log.log.context.observer = lambda _: begun.set()
    logs.cleaner.startup()
    begun.wait()
    logs.cleaner.shutdown()
    logs.cleaner.shutdown()
    assert names_of_threads() == []
    assert last_values(log) == last
    assert logs.manager.cleaning_state(ONE) is None
    assert log.home.names_of(".cleaned") == []
    assert logs.checkpoint()["orders-1"] in {0, log.log.active_segment.base_offset}
    assert set(log.home.names_of(".log")) <= set(names)
