"""What the parts of a log manager share: directories, logs, configuration and services.

Kafka: the fields of LogManager (4.2)
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self
from uuid import UUID

from workbench.cleaner.schedule.manager import LogCleanerManager
from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.log_config import LogConfig
from workbench.errors import LogDirectoryError, StorageError
from workbench.file_system.local import FileSystem
from workbench.file_system.source import absolute, real
from workbench.files.names import LOG_START_OFFSETS, RECOVERY_POINTS, TopicPartition
from workbench.log.log import Log
from workbench.log_manager.deletion import DeletionQueue
from workbench.log_manager.directory import ManagedDirectory
from workbench.log_manager.registry import LogRegistry
from workbench.runtime.clock import Clock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.metrics import LogMetrics
from workbench.runtime.scheduler import Scheduler
from workbench.runtime.several import several
from workbench.runtime.steps import Observer, Reporter


@dataclass(slots=True)
class ManagerContext(Reporter):
    """The shared context of one log manager; the manager owns it.

    Attributes:
        directories: path → directory, as configured, including offline ones.
        directory_ids: path → id, for directories that have one.
        config: the broker's configuration.
        defaults: the configuration of topics that have none of their own; may be replaced.
        topic_configs: topic → its own configuration, by Kafka's names.
        fs: the file system that is written through.
        clock: the time, ms since the epoch.
        scheduler: runs delayed and periodic work.
        failures: which log directories are offline.
        observer: receives each step; None for no observer.
        rng: source of ids and of the jitter of segments.
        registry: the logs; its lock is held while logs are created, moved and reconfigured.
        deletion: logs that wait for their deletion.
        cleaning: keeps the cleaner away from logs; None: there is no cleaner.
        is_kraft: no ZooKeeper; such a broker renames logs without a topic id to `-stray`.
        commits_appends: whether each log is the only replica; see `LogBase`.
        metrics: the metrics of all logs.
        rules: how brokers of the version that is assumed behave.
    """

    directories: dict[str, ManagedDirectory]
    directory_ids: dict[str, UUID]
    config: BrokerConfig
    defaults: LogConfig
    topic_configs: dict[str, Mapping[str, Any]]
    fs: FileSystem
    clock: Clock
    scheduler: Scheduler
    failures: LogDirFailures
    observer: Observer | None
    rng: Random
    deletion: DeletionQueue
    registry: LogRegistry = field(default_factory=LogRegistry)
    cleaning: LogCleanerManager | None = None
    is_kraft: bool = True
    commits_appends: bool = False
    metrics: LogMetrics = field(default_factory=LogMetrics)
    rules: BrokerRules = MODELED_RULES
    _made: dict[str, tuple[Mapping[str, Any], LogConfig, LogConfig]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of(
        cls,
        paths: Iterable[str | os.PathLike[str]],
        config: BrokerConfig | Mapping[str, Any] | None,
        topic_configs: Mapping[str, Mapping[str, Any]] | None,
        *,
        fs: FileSystem,
        clock: Clock,
        scheduler: Scheduler,
        observer: Observer | None,
        rng: Random,
        rules: BrokerRules = MODELED_RULES,
        commits_appends: bool = False,
    ) -> Self:
        """Return the context of a manager that has not started.

        Raises:
            ConfigError: a configuration's name or value is wrong.
            LogDirectoryError: a directory is named twice, or cannot be written to.

        Kafka: LogManager.apply (4.2)
        """
        broker = config if isinstance(config, BrokerConfig) else BrokerConfig.of(config or {})
        failures = LogDirFailures()
        directories: dict[str, ManagedDirectory] = {}
        for given in _paths_of(paths):
            fs.require_writable(given)
            path = absolute(given)
            if real(path) in map(real, directories):
                raise LogDirectoryError(path, "named more than once")
            directories[path] = ManagedDirectory(path, fs, failures, observer)
        context = cls(
            directories=directories,
            directory_ids={},
            config=broker,
            defaults=broker.topic_defaults(),
            topic_configs=dict(topic_configs or {}),
            fs=fs,
            clock=clock,
            scheduler=scheduler,
            failures=failures,
            observer=observer,
            rng=rng,
            rules=rules,
            commits_appends=commits_appends,
            deletion=DeletionQueue(clock, lambda: context.defaults.file_delete_delay_ms),
        )
        for topic in context.topic_configs:
            context.config_of(topic)
        return context

    @property
    def live(self) -> list[ManagedDirectory]:
        """The directories that have not failed, in the order of the configuration."""
        return [d for path, d in self.directories.items() if not self.failures.is_offline(path)]

    @property
    def offline(self) -> list[str]:
        """Paths of the directories that have failed."""
        return [path for path in self.directories if self.failures.is_offline(path)]

    def reachable(self, logs: Mapping[TopicPartition, Log]) -> dict[TopicPartition, Log]:
        """Return those logs, by partition, whose directories have not failed."""
        every = list(logs.items())  # a copy, as other threads may add logs meanwhile
        is_offline = self.failures.is_offline
        return dict(sorted((p, log) for p, log in every if not is_offline(log.parent_directory)))

    def config_of(self, topic: str) -> LogConfig:
        """Return a topic's configuration, which its partitions share.

        Raises:
            ConfigError: the topic's own names or values are wrong.

        Kafka: LogManager.fetchLogConfig (4.2)
        """
        own, defaults = self.topic_configs.get(topic), self.defaults
        if not own:
            return defaults
        made = self._made.get(topic)
        if made is None or made[0] != own or made[1] is not defaults:
            made = self._made[topic] = (dict(own), defaults, LogConfig.of(own, defaults))
        return made[2]

    def checkpoint_recovery_points(
        self, path: str, logs: Mapping[TopicPartition, Log] | None = None
    ) -> None:
        """Write the recovery points of a directory's logs; a failure takes it offline.

        Args:
            path: the log directory's path; an offline one is left alone.
            logs: the logs in it; None looks for them.

        Kafka: LogManager.checkpointRecoveryOffsetsInDir (4.2)
        """
        logs = self.registry.by_directory().get(path, {}) if logs is None else logs
        if any(log.recovery_point > log.local.synced_to for log in logs.values()):
            self.checkpoint_log_start_offsets(
                path, logs
            )  # recovery skips what is before these points
        points = {partition: log.recovery_point for partition, log in logs.items()}
        self.write_checkpoint(path, RECOVERY_POINTS, points)

    def checkpoint_log_start_offsets(
        self, path: str, logs: Mapping[TopicPartition, Log] | None = None
    ) -> None:
        """Write the log start offsets that are above the first segment's base offset.

        Args:
            path: the log directory's path; an offline one is left alone.
            logs: the logs in it; None looks for them.

        Kafka: LogManager.checkpointLogStartOffsetsInDir (4.2)
        """
        logs = self.registry.by_directory().get(path, {}) if logs is None else logs
        starts = {
            partition: log.log_start_offset
            for partition, log in logs.items()
            if log.log_start_offset > log.segments[0].base_offset
        }
        self.write_checkpoint(path, LOG_START_OFFSETS, starts)

    def checkpoint(self, path: str) -> None:
        """Write both checkpoints of a directory."""
        self.checkpoint_recovery_points(path)
        self.checkpoint_log_start_offsets(path)

    def write_checkpoint(self, path: str, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Write one checkpoint of a directory; a failure takes it offline.

        Args:
            path: the log directory's path; an offline one is left alone.
            name: the file's name, one of `files.names.OFFSET_CHECKPOINTS`.
            offsets: the offsets of its logs.
        """
        if self.failures.is_offline(path):
            return
        try:
            self.directories[path].checkpoint(name).write(offsets)
        except StorageError:
            return  # recorded where it happened: the directory is offline


def _paths_of(given: Any) -> tuple[str, ...]:
    """Return the paths of log directories.

    Raises:
        LogDirectoryError: they are not paths, such as what was opened for reading.
    """
    each = () if isinstance(given, Mapping) or not hasattr(given, "__iter__") else given
    paths = several(given if isinstance(given, str | os.PathLike) else each)
    if not paths or not all(isinstance(path, str | os.PathLike) for path in paths):
        kind = type(given).__name__
        raise LogDirectoryError("LogManager", f"expected paths of log directories (found {kind})")
    return tuple(map(os.fspath, paths))
