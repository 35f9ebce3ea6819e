"""Recover a log directory as a broker would; see `stopped_broker`.

Kafka: LogManager.startup (4.2)
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from workbench.config.broker_config import BrokerConfig
from workbench.config.internal_topics import with_internal_topics
from workbench.config.settings import broker_config_of
from workbench.file_system.local import LOCAL, FileSystem
from workbench.file_system.source import absolute
from workbench.files.names import CLEAN_SHUTDOWN, RECOVERY_POINTS
from workbench.foresight.copies.stopped_broker import started
from workbench.foresight.startup.predict import predict_startup
from workbench.foresight.startup.prediction import PartitionStart
from workbench.foresight.startup.start_rows import StepsByFolder, partition_start
from workbench.inspection.broker_version import MeantBroker, meant_broker
from workbench.inspection.listing import list_log_directories
from workbench.log_manager.loading import Progress
from workbench.runtime.steps import Observer, Outline, Step
from workbench.runtime.times import time_or_now
from workbench.runtime.words import plural, safe


@dataclass(frozen=True, slots=True)
class Recovery:
    """The result of recovering a log directory.

    Attributes:
        path: the log directory.
        had_clean_shutdown: whether the clean shutdown file existed; without it logs are recovered.
        partitions: a row for each partition directory, by name.
        broker: the broker that was meant, and why that one.
    """

    path: str
    had_clean_shutdown: bool
    partitions: tuple[PartitionStart, ...]
    broker: MeantBroker

    def __repr__(self) -> str:
        recovered = sum(row.verdict == "recovers" for row in self.partitions)
        cut = sum(row.bytes_cut for row in self.partitions)
        text = f"{plural(recovered, 'log')} recovered, {plural(cut, 'byte')} truncated"
        return safe(f"<Recovery of {self.path}: {text}>")


def recover_directory(
    path: str,
    config: BrokerConfig | Mapping[str, Any] | None = None,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
    everything: bool = False,
    now: int | None = None,
    fs: FileSystem = LOCAL,
    observer: Observer | None = None,
    progress: Progress | None = None,
    kafka: str | None = None,
) -> Recovery:
    """Load a log directory as a starting broker does, and close it as a stopping one.

    Args:
        path: the log directory, which is changed.
        config: the broker's configuration.
        topic_configs: topic → its own configuration, by Kafka's names; see `internal_topics`.
        everything: read every segment, as after a crash without a known recovery point, whatever
            the clean shutdown file and the checkpoint say.
        now: ms since the epoch: producers that wrote nothing for `producer.id.expiration.ms` before
            it are not in the snapshots; None takes the machine's time.
        fs: the file system that is written through.
        observer: the receiver of each step.
        progress: a callback after each partition.
        kafka: the broker's version, as in `config.kafka_versions.series_of`; None: the newest that
            the directory shows.

    Raises:
        LogDirectoryError: the directory is in use or cannot be written to, or a directory's name is
            not one that a broker gives.
        WorkbenchError: a broker would not start with it either; see `predict`.
        StorageError: the directory failed.

    Kafka: LogManager.startup, shutdown (4.2)
    """
    fs.require_writable(path)
    path = absolute(path)
    listing = list_log_directories([path], fs=fs)
    meant = meant_broker(listing, kafka)  # before anything is removed
    steps = StepsByFolder()
    moment = time_or_now(now)
    had_clean_shutdown = fs.exists(os.path.join(path, CLEAN_SHUTDOWN))
    if everything:
        for name in (CLEAN_SHUTDOWN, RECOVERY_POINTS):
            if fs.exists(os.path.join(path, name)):
                fs.remove(os.path.join(path, name))
    before = predict_startup(  # what is lost can be counted only before it is lost
        [path], config, topic_configs=topic_configs, fs=fs, now=now, kafka=meant.version,
        only={each.name for root in listing.roots for each in root.partitions}, consumers=False,
    )  # fmt: skip
    with started(
        path,
        moment,
        broker_config_of(config or {}, meant.rules),
        meant.rules,
        topic_configs=with_internal_topics(topic_configs),
        fs=fs,
        observer=Outline(_both(steps.take, observer)),
        progress=progress,
        commits_appends=False,  # the records of other replicas are not known here
    ) as (_, outcomes, _):
        losses = {row.name: row for row in before}
        rows = [
            _with_loss(partition_start(outcome, steps.of(outcome.path)), losses)
            for outcome in outcomes
        ]
    return Recovery(path, had_clean_shutdown, tuple(sorted(rows, key=attrgetter("name"))), meant)


def _with_loss(row: PartitionStart, losses: Mapping[str, PartitionStart]) -> PartitionStart:
    """Return the row with what was predicted that recovery removes of the log."""
    known = losses.get(row.name)
    if known is None:
        return row
    return replace(
        row, log_end_before=known.log_end_before, records_lost=known.records_lost,
        removed_from=known.removed_from,
    )  # fmt: skip


def _both(first: Observer, second: Observer | None) -> Observer:
    if second is None:
        return first
    also: Callable[[Step], None] = second

    def take(step: Step) -> None:
        first(step)
        also(step)

    return take
