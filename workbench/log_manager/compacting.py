"""Compaction at one's own hand: a broker's cleaner at work, at the times that one chooses.

The directory is ready for a broker afterwards: closed in order, the cleaner's checkpoint and the
others written, the marker there.

Kafka: LogCleaner.CleanerThread.cleanLog, LogManager.shutdown (4.2)
"""

import os
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from random import Random

from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.rounds import Rounds, clean_rounds
from workbench.errors import ConfigError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition
from workbench.log.clock import ManualClock
from workbench.log.log import Log
from workbench.log.scheduler import ManualScheduler
from workbench.log.steps import Observer
from workbench.log_manager.loading import Progress
from workbench.log_manager.manager import LogManager
from workbench.log_manager.repair import finish
from workbench.log_manager.settings import Settings


@dataclass(frozen=True, slots=True)
class Compaction:
    """What was done to one log.

    Attributes:
        partition: name of its folder.
        size: bytes before.
        size_after: bytes afterwards.
        segments: base offsets before.
        segments_after: base offsets afterwards.
        clean_offset: what the cleaner's checkpoint says now; None: nothing was cleaned.
        rounds: what was decided, and why there were not more.
    """

    partition: str
    size: int
    size_after: int
    segments: tuple[int, ...]
    segments_after: tuple[int, ...]
    clean_offset: int | None
    rounds: Rounds


def compact_directory(
    path: str,
    times: Sequence[int],
    settings: Settings,
    *,
    topics: Collection[str] = (),
    everything: bool = False,
    fs: FileSystem = LOCAL,
    observer: Observer | None = None,
    progress: Progress | None = None,
) -> list[Compaction]:
    """Clean logs of a log directory once for each time, as if all replicas had all records.

    Args:
        path: of the log directory; it is changed.
        times: of the rounds, ms, ascending.
        settings: of the broker and its topics.
        topics: whose logs are cleaned, due or not, whatever their policy; those that are known to
            be compacted if none is named.
        everything: begin each round where a log does, as if nothing of it were clean.
        fs: what is written through.
        observer: is told each step.
        progress: called after each folder that is loaded.

    Returns:
        A row for each of the logs, by topic and number.

    Raises:
        ConfigError: there is no cleaner.
        LogDirectoryError: the directory is in use, or a folder's name is none that a broker gives.
        WorkbenchError, ValueError: a log cannot be loaded or cleaned; what was done by then stays.
        StorageError: the directory failed.

    Kafka: LogCleaner.CleanerThread.cleanLog (4.2)
    """
    clock = ManualClock(times[0])
    manager = LogManager(
        [os.path.abspath(path)],
        settings.broker,
        fs=fs,
        clock=clock,
        scheduler=ManualScheduler(clock),
        rng=Random(0),  # noqa: S311 - nothing is made that needs an id
        observer=observer,
        topic_configs=settings.topic_configs,
        progress=progress,
    )
    manager.startup(with_tasks=False)
    try:
        if manager.cleaner is None:
            raise ConfigError("log.cleaner.enable", "there is no cleaner")
        checkpoints = manager.cleaner.manager.checkpoints
        offsets = checkpoints.all()
        config = CleanerConfig.of(settings.broker)
        done = []
        for partition, log in sorted(manager.logs.items()):
            log.update_high_watermark(log.log_end_offset)
            if not _is_wanted(partition, topics, settings, offsets):
                continue
            size, segments = log.size, _bases(log)
            rounds = clean_rounds(
                log, offsets.get(partition), times, clock, config, everything=everything
            )
            end = rounds.rounds[-1].end_offset if rounds.rounds else None
            if end is not None:
                checkpoints.update(log.parent_directory, {partition: end})
            done.append(
                Compaction(str(partition), size, log.size, segments, _bases(log), end, rounds)
            )
    finally:
        finish(manager, clock)
    return done


def _is_wanted(
    partition: TopicPartition,
    topics: Collection[str],
    settings: Settings,
    offsets: Container[TopicPartition],
) -> bool:
    return partition.topic in topics if topics else settings.is_compacted(partition, offsets)


def _bases(log: Log) -> tuple[int, ...]:
    return tuple(segment.base_offset for segment in log.segments)
