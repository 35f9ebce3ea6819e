"""Clean compacted logs with a broker's cleaner at chosen times; see `stopped_broker`.

Kafka: LogCleaner.CleanerThread.cleanLog (4.2)
"""

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass

from workbench.cleaner.config import CleanerConfig
from workbench.config.settings import Settings
from workbench.errors import ConfigError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition
from workbench.foresight.copies.stopped_broker import started
from workbench.foresight.rehearse.rounds import Rounds, clean_rounds
from workbench.log.log import Log
from workbench.log_manager.high_watermarks import StartingHighWatermark
from workbench.log_manager.loading import Progress
from workbench.runtime.steps import Observer
from workbench.runtime.words import safe


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of cleaning one log.

    Attributes:
        partition: name of its partition directory.
        size: bytes before.
        size_after: bytes afterwards.
        segments: base offsets before.
        segments_after: base offsets afterwards.
        clean_offset: the cleaner's checkpoint afterwards; None: nothing was cleaned.
        rounds: the rounds, and why there were not more.
        high_watermark: the offset below which records are committed, and its source.
    """

    partition: str
    size: int
    size_after: int
    segments: tuple[int, ...]
    segments_after: tuple[int, ...]
    clean_offset: int | None
    rounds: Rounds
    high_watermark: StartingHighWatermark

    def __repr__(self) -> str:
        return safe(f"<Compaction of {self.partition}: {self.size:,} to {self.size_after:,} bytes>")


def compact_directory(
    path: str,
    times: Sequence[int],
    settings: Settings,
    *,
    topics: Collection[str] = (),
    only: Container[TopicPartition] | None = None,
    everything: bool = False,
    fs: FileSystem = LOCAL,
    observer: Observer | None = None,
    progress: Progress | None = None,
) -> list[Compaction]:
    """Clean logs of a log directory once for each time, as if all replicas held all records.

    Args:
        path: the log directory, which is changed.
        times: the times of the rounds, ms, ascending.
        settings: the configuration of the broker and its topics.
        topics: topics whose logs are cleaned, due or not, whatever their policy; if empty, those
            known to be compacted.
        only: the logs that may be cleaned; None: all.
        everything: begin each round at the log start offset, as if no section were clean.
        fs: the file system that is written through.
        observer: the receiver of each step.
        progress: a callback after each loaded partition.

    Returns:
        A row for each of the logs, by topic and number.

    Raises:
        ConfigError: the broker's configuration disables the cleaner.
        LogDirectoryError: the directory is in use, or a directory's name is not one that a broker
            gives.
        WorkbenchError, ValueError: a log cannot be loaded or cleaned; earlier changes are kept.
        StorageError: the directory failed.

    Kafka: LogCleaner.CleanerThread.cleanLog (4.2)
    """
    done = []
    with started(
        path,
        times[0],
        settings.broker,
        settings.rules,
        topic_configs=settings.topic_configs,
        fs=fs,
        observer=observer,
        progress=progress,
    ) as (manager, _, clock):
        if manager.cleaner is None:
            raise ConfigError("log.cleaner.enable", "the broker has no cleaner")
        checkpoints = manager.cleaner.manager.checkpoints
        offsets = checkpoints.all()
        config = CleanerConfig.of(settings.broker)
        for partition, log in sorted(manager.logs.items()):
            is_left = only is not None and partition not in only
            if is_left or not _is_wanted(partition, topics, settings, offsets):
                continue
            size, segments = log.size, _bases(log)
            rounds = clean_rounds(
                log, offsets.get(partition), times, clock, config, everything=everything
            )
            end = rounds.rounds[-1].end_offset if rounds.rounds else None
            if end is not None:
                checkpoints.update(log.parent_directory, {partition: end})
            done.append(
                Compaction(
                    str(partition),
                    size,
                    log.size,
                    segments,
                    _bases(log),
                    end,
                    rounds,
                    manager.starting_high_watermarks[partition],
                )
            )
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
