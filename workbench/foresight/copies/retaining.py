"""Apply retention to a log directory, or predict it, as a broker would; see `stopped_broker`.

Kafka: LogManager.cleanupLogs (4.2)
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.config.broker_config import BrokerConfig
from workbench.config.internal_topics import with_internal_topics
from workbench.config.settings import broker_config_of
from workbench.file_system.local import LOCAL, FileSystem
from workbench.file_system.source import absolute
from workbench.files.names import TopicPartition
from workbench.foresight.copies.stopped_broker import started
from workbench.inspection.broker_version import MeantBroker, meant_broker
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.high_watermarks import StartingHighWatermark
from workbench.log_manager.loading import Progress
from workbench.runtime.steps import Observer
from workbench.runtime.times import time_text
from workbench.runtime.words import plural, safe


@dataclass(frozen=True, slots=True)
class SegmentFate:
    """The verdict of retention on one segment.

    Attributes:
        partition: name of its partition directory.
        base_offset: the segment's base offset.
        size: size of its `.log` in bytes.
        rule: the rule that decided.
        is_deleted: whether the segment is deleted.
        reason: the reason, with the numbers.
    """

    partition: str
    base_offset: int
    size: int
    rule: str
    is_deleted: bool
    reason: str


@dataclass(slots=True)
class Retention:
    """The result of retention, done or predicted.

    Attributes:
        path: the log directory.
        now: ms since the epoch.
        broker: the broker that was meant, and why that one.
        segments: the verdict of each rule on each segment that it judged, in order.
        log_start_offsets: partition → log start offset before and after.
        high_watermarks: partition → the offset below which records are committed, and its source.
    """

    path: str
    now: int
    broker: MeantBroker
    segments: list[SegmentFate] = field(default_factory=list)
    log_start_offsets: dict[str, tuple[int, int]] = field(default_factory=dict)
    high_watermarks: dict[str, StartingHighWatermark] = field(default_factory=dict)

    def __repr__(self) -> str:
        gone = [fate for fate in self.segments if fate.is_deleted]
        size = sum(fate.size for fate in gone)
        text = f"{plural(len(gone), 'segment')} deleted, {plural(size, 'byte')}"
        return safe(f"<Retention of {self.path} at {time_text(self.now)}: {text}>")


def retain(
    path: str,
    now: int,
    config: BrokerConfig | Mapping[str, Any] | None = None,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
    only: Container[TopicPartition] | None = None,
    fs: FileSystem = LOCAL,
    observer: Observer | None = None,
    progress: Progress | None = None,
    kafka: str | None = None,
) -> Retention:
    """Apply retention to a log directory once, as if all replicas held all records.

    Args:
        path: the log directory, which is changed unless ``fs`` keeps changes in memory.
        now: the time that ages are measured by, ms since the epoch.
        config: the broker's configuration.
        topic_configs: topic → its own configuration, by Kafka's names; see `internal_topics`.
        only: the logs that retention works on; None: all.
        fs: the file system that is written through.
        observer: the receiver of each step.
        progress: a callback after each partition.
        kafka: the broker's version, as in `config.kafka_versions.series_of`; None: the newest that
            the directory shows.

    Raises:
        LogDirectoryError, WorkbenchError, StorageError: see `recover_directory`.

    Kafka: LogManager.cleanupLogs (4.2)
    """
    fs.require_writable(path)
    path = absolute(path)
    meant = meant_broker(list_log_directories([path], fs=fs), kafka)
    result = Retention(path, now, meant)
    with started(
        path,
        now,
        broker_config_of(config or {}, meant.rules),
        meant.rules,
        topic_configs=with_internal_topics(topic_configs),
        fs=fs,
        observer=observer,
        progress=progress,
    ) as (manager, _, _):
        for log in manager.logs.values():
            if log.config.compact or (only is not None and log.topic_partition not in only):
                continue
            result.high_watermarks[str(log.topic_partition)] = manager.starting_high_watermarks[
                log.topic_partition
            ]
            log.take_as_copied()
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
    return result
