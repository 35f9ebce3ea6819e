"""Recovery and retention at one's own hand: what a broker would do, done now, and told.

The directory is ready for a broker afterwards: closed in order, checkpoints written, marker there.

Kafka: LogManager.startup, cleanupLogs, shutdown (4.2)
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from workbench.errors import StorageError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import CLEAN_SHUTDOWN, RECOVERY_POINTS
from workbench.log.broker_config import BrokerConfig
from workbench.log.clock import ManualClock, SystemClock
from workbench.log.scheduler import ManualScheduler
from workbench.log.steps import Observer, Outline, Step
from workbench.log_manager.internal_topics import with_internal_topics
from workbench.log_manager.loading import Progress
from workbench.log_manager.manager import LogManager
from workbench.log_manager.prediction import PartitionStart
from workbench.log_manager.start_rows import StepsByFolder, partition_start

_CLOSING_MS: Final = 1  # behind the last delay, so that what waits for it is due


@dataclass(frozen=True, slots=True)
class Recovery:
    """What recovering a log directory did.

    Attributes:
        path: of the log directory.
        had_clean_shutdown: whether the marker was there; without it logs are recovered.
        partitions: a row for each folder, by name.
    """

    path: str
    had_clean_shutdown: bool
    partitions: tuple[PartitionStart, ...]


@dataclass(frozen=True, slots=True)
class SegmentFate:
    """What retention said of one segment.

    Attributes:
        partition: name of its folder.
        base_offset: of the segment.
        size: bytes of its `.log`.
        rule: that decided.
        is_deleted: whether it goes.
        reason: why, with the figures.
    """

    partition: str
    base_offset: int
    size: int
    rule: str
    is_deleted: bool
    reason: str


@dataclass(slots=True)
class Retention:
    """What retention did, or would do.

    Attributes:
        path: of the log directory.
        now: ms since the epoch.
        segments: what each rule said of the segments that it came to, in its order.
        log_start_offsets: partition → where the log starts before and after.
    """

    path: str
    now: int
    segments: list[SegmentFate] = field(default_factory=list)
    log_start_offsets: dict[str, tuple[int, int]] = field(default_factory=dict)


def recover_directory(
    path: str,
    config: BrokerConfig | Mapping[str, Any] | None = None,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
    everything: bool = False,
    fs: FileSystem = LOCAL,
    observer: Observer | None = None,
    progress: Progress | None = None,
) -> Recovery:
    """Load a log directory as a starting broker does, and close it as a stopping one.

    Args:
        path: of the log directory; it is changed.
        config: of the broker.
        topic_configs: topic → its own configuration, by Kafka's names; see `internal_topics`.
        everything: read every segment, as after a crash with no recovery point known, whatever
            marker and checkpoint say.
        fs: what is written through.
        observer: is told each step.
        progress: called after each folder.

    Raises:
        LogDirectoryError: the directory is in use, or a folder's name is none that a broker gives.
        WorkbenchError: a broker would not start with it either; see `predict`.
        StorageError: the directory failed.

    Kafka: LogManager.startup, shutdown (4.2)
    """
    path = os.path.abspath(path)
    steps = StepsByFolder()
    clock = ManualClock(SystemClock().now())
    had_clean_shutdown = fs.exists(os.path.join(path, CLEAN_SHUTDOWN))
    if everything:
        for name in (CLEAN_SHUTDOWN, RECOVERY_POINTS):
            if fs.exists(os.path.join(path, name)):
                fs.remove(os.path.join(path, name))
    manager = LogManager(
        [path],
        config,
        fs=fs,
        clock=clock,
        scheduler=ManualScheduler(clock),
        observer=Outline(_both(steps.take, observer)),
        topic_configs=with_internal_topics(topic_configs),
        progress=progress,
    )
    outcomes = manager.startup(with_tasks=False)
    rows = sorted(
        (partition_start(outcome, steps.of(outcome.path)) for outcome in outcomes),
        key=lambda row: row.name,
    )
    finish(manager, clock)
    return Recovery(path, had_clean_shutdown, tuple(rows))


def retain(
    path: str,
    now: int,
    config: BrokerConfig | Mapping[str, Any] | None = None,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
    fs: FileSystem = LOCAL,
    observer: Observer | None = None,
    progress: Progress | None = None,
) -> Retention:
    """Apply retention to a log directory once, as if all replicas had all records.

    Args:
        path: of the log directory; it is changed unless ``fs`` keeps the changes to itself.
        now: ms since the epoch, that ages are measured by.
        config: of the broker.
        topic_configs: topic → its own configuration, by Kafka's names; see `internal_topics`.
        fs: what is written through.
        observer: is told each step.
        progress: called after each folder.

    Raises:
        LogDirectoryError, WorkbenchError, StorageError: as `recover_directory`.

    Kafka: LogManager.cleanupLogs (4.2)
    """
    path = os.path.abspath(path)
    result = Retention(path, now)
    clock = ManualClock(now)
    manager = LogManager(
        [path],
        config,
        fs=fs,
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(0),  # noqa: S311 - nothing is made that needs an id
        observer=observer,
        topic_configs=with_internal_topics(topic_configs),
        progress=progress,
    )
    manager.startup(with_tasks=False)
    for log in manager.logs.values():
        log.update_high_watermark(log.log_end_offset)
        if log.config.compact:
            continue
        name, before = str(log.topic_partition), log.log_start_offset
        for verdict in log.delete_old_segments():
            segment = verdict.segment
            result.segments.append(
                SegmentFate(
                    name,
                    segment.base_offset,
                    segment.size,
                    verdict.rule,
                    verdict.is_deleted,
                    verdict.reason,
                )
            )
        result.log_start_offsets[name] = (before, log.log_start_offset)
    finish(manager, clock)
    return result


def finish(manager: LogManager, clock: ManualClock) -> None:
    """Let what was marked for deletion go, and close.

    Raises:
        StorageError: the directory failed; what was done by then stays.
    """
    offline = manager.offline_directories
    if not offline:
        delays = [log.config.file_delete_delay_ms for log in manager.logs.values()]
        clock.advance(max(delays, default=0) + _CLOSING_MS)
    manager.shutdown()
    if manager.offline_directories:
        raise StorageError(manager.offline_directories[0], "it failed while it was being written")


def _both(first: Observer, second: Observer | None) -> Observer:
    if second is None:
        return first
    also: Callable[[Step], None] = second

    def take(step: Step) -> None:
        first(step)
        also(step)

    return take
