"""The log manager: every log of a broker's log directories, from startup to clean shutdown.

    with LogManager(["data"], topic_configs={"orders": {"segment.bytes": 65536}}) as manager:
        manager.get_or_create_log("orders-0").append([(b"key", b"value")])

A broker can open the directories afterwards: locks, identity, checkpoints and the clean shutdown
file are like a broker's. A directory that fails goes offline, and the others stay in use.

Kafka: LogManager (4.2)
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any, Final, Self
from uuid import UUID

from workbench.cleaner.schedule.log_cleaner import LogCleaner
from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.log_config import LogConfig
from workbench.errors import LogDirectoryError, StorageError
from workbench.file_system.local import LOCAL, FileSystem, allow_open_files
from workbench.file_system.source import absolute
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager import moving, periodic_tasks
from workbench.log_manager.cleaning import make_cleaner
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.creation import LogCreation
from workbench.log_manager.high_watermarks import (
    StartingHighWatermark,
    checkpoint_high_watermarks,
    restore_high_watermarks,
)
from workbench.log_manager.identity import Identity
from workbench.log_manager.lifecycle import (
    check_any_is_live,
    close_directories,
    leave_directory,
    raise_first_refusal,
    release,
    take_directories,
)
from workbench.log_manager.loading import Outcome, Progress, load_logs
from workbench.log_manager.opening import (
    StrayTest,
    load_folder,
    reconfigure_defaults,
    reconfigure_topic,
)
from workbench.log_manager.registry import PartitionName, partition_of
from workbench.log_manager.tasks import DeletionTask, schedule_tasks
from workbench.runtime.clock import Clock, SystemClock
from workbench.runtime.failures import FailureListener
from workbench.runtime.metrics import BrokerState
from workbench.runtime.scheduler import Scheduler, Task, ThreadScheduler
from workbench.runtime.several import several
from workbench.runtime.steps import Observer, Step
from workbench.runtime.words import plural, safe

_BACKGROUND_THREADS: Final = 4


class LogManager:
    """Loads, keeps and closes the logs of one broker. Threads may share it once it has started.

    Args:
        directories: the entries of `log.dirs`; created if they do not exist.
        config: the broker's configuration, or a mapping of Kafka's names to values; None takes the
            defaults.
        fs: the file system that is written through.
        clock: the time; None takes the machine's clock.
        scheduler: runs periodic and delayed tasks; None makes one with threads. One that is given
            is not shut down.
        rng: source of ids and of the jitter of segments; None takes a random seed.
        observer: receives each step.
        topic_configs: topic → its own configuration, by Kafka's names.
        initial_offline_directories: those of ``directories`` known to have failed.
        node_id: the broker's id; None takes that of `meta.properties`, or 1.
        cluster_id: the cluster's id; None takes that of `meta.properties`, or a random one.
        is_stray: returns why a loaded log belongs to no topic the broker knows; None if it does.
        progress: called after each folder that was loaded.
        commits_appends: each log is the only replica of its partition, so that its leader commits
            what it appends: the high watermark is the log end offset. With False it starts at the
            offset in `replication-offset-checkpoint`, and the caller moves it.
        rules: how brokers of the version that is assumed start, clean and delete.

    Attributes:
        cleaner: compacts logs; None before `startup`, and with `log.cleaner.enable=false`.
        starting_high_watermarks: partition → high watermark of its log after `startup`.
        broker_state: the state of the broker whose logs these are. RECOVERY is while logs are
            loaded, recovered or not. Alone, the broker has no leadership to move before it shuts
            down.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a directory is named twice, or cannot be written to: a URI, an archive.
    """

    def __init__(
        self,
        directories: Iterable[str | os.PathLike[str]],
        config: BrokerConfig | Mapping[str, Any] | None = None,
        *,
        fs: FileSystem = LOCAL,
        clock: Clock | None = None,
        scheduler: Scheduler | None = None,
        rng: Random | None = None,
        observer: Observer | None = None,
        topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
        initial_offline_directories: Iterable[str | os.PathLike[str]] = (),
        node_id: int | None = None,
        cluster_id: str | None = None,
        is_stray: StrayTest | None = None,
        progress: Progress | None = None,
        commits_appends: bool = True,
        rules: BrokerRules = MODELED_RULES,
    ) -> None:
        clock = SystemClock() if clock is None else clock
        self._owns_scheduler = scheduler is None
        self._is_running = self._was_started = False
        self.broker_state = BrokerState.NOT_RUNNING
        self._context = ManagerContext.of(
            directories,
            config,
            topic_configs,
            fs=fs,
            clock=clock,
            scheduler=ThreadScheduler(_BACKGROUND_THREADS) if scheduler is None else scheduler,
            observer=observer,
            rng=Random() if rng is None else rng,  # noqa: S311 - ids and jitter, no secrets
            rules=rules,
            commits_appends=commits_appends,
        )
        failures = self._context.failures
        failures.listeners.append(self._directory_failed)
        for path in several(initial_offline_directories):
            failures.add(
                absolute(os.fspath(path)), OSError("the log directory failed before startup")
            )
        self._expected = (node_id, cluster_id)
        self._identity = Identity(node_id, cluster_id, {})
        self._is_stray = is_stray
        self._progress = progress
        self._creation = LogCreation(self._context)
        self.cleaner: LogCleaner | None = None
        self.starting_high_watermarks: Mapping[TopicPartition, StartingHighWatermark] = {}
        self._tasks: list[Task] = []
        self._deletion_task = DeletionTask(
            self._context.scheduler, self._context.deletion.delete_due
        )

    def __repr__(self) -> str:
        paths = ", ".join(str(each) for each in self._context.directories)
        state = f"{len(self.logs):,} logs" if self._was_started else "not started"
        return safe(f"<LogManager of {paths}: {state}>")

    def __enter__(self) -> Self:
        self.startup()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    # Start and stop

    def _become(self, state: BrokerState, reason: str) -> None:
        """Enter a state of a broker."""
        before, self.broker_state = self.broker_state, state
        observer = self._context.observer
        if observer is not None:
            numbers = {"before": int(before), "state": int(state)}
            observer(Step("broker state changed", state.name, reason, numbers))

    def startup(self, *, with_tasks: bool = True) -> list[Outcome]:
        """Lock the directories, load all logs, schedule the periodic tasks and start the cleaner.

        Args:
            with_tasks: False leaves the periodic tasks and the cleaner for the caller to run.

        Returns:
            The outcome for each folder; those of directories that failed have an error.

        Raises:
            LogDirectoryError: a directory is in use, belongs to another broker, or has a folder
                with a name that no broker gives.
            StorageError: every directory failed.
            WorkbenchError: a log is so damaged that a broker would not start; a note says which.

        After an error everything is closed and unlocked, and no clean shutdown file is written.

        Kafka: LogManager.startup (4.2)
        """
        context = self._context
        self._was_started = True
        allow_open_files()
        self._become(BrokerState.STARTING, "the log directories are checked and locked")
        try:
            self._identity = take_directories(context, *self._expected)
            self._become(BrokerState.RECOVERY, "the logs are loaded")
            outcomes = load_logs(
                context.live,
                lambda folder: load_folder(context, folder, self._is_stray),
                context.failures,
                rules=context.rules,
                threads=context.config.num_recovery_threads_per_data_dir,
                progress=self._progress,
            )
            raise_first_refusal(outcomes)
            self.starting_high_watermarks = restore_high_watermarks(context)
            check_any_is_live(context)
        except BaseException:
            release(context)
            self._become(BrokerState.NOT_RUNNING, "the start failed")
            raise
        for path in context.offline:
            leave_directory(context, path)
        self.cleaner = make_cleaner(context, None if self._owns_scheduler else context.scheduler)
        if with_tasks:
            self._tasks = schedule_tasks(
                context.scheduler,
                context.config,
                retain=self.delete_old_segments,
                flush=self.flush_dirty_logs,
                checkpoint_recovery_points=self.checkpoint_recovery_points,
                checkpoint_log_start_offsets=self.checkpoint_log_start_offsets,
                checkpoint_high_watermarks=self.checkpoint_high_watermarks,
            )
            self._deletion_task.start(context.config.log_initial_task_delay_ms)
            if self.cleaner is not None:
                self.cleaner.startup()
        self._is_running = True
        self._become(
            BrokerState.RUNNING, f"the logs of {plural(len(self.logs), 'partition')} are served"
        )
        return outcomes

    def shutdown(self, broker_epoch: int | None = None) -> None:
        """Flush and close every log; if all succeeded, write checkpoints and clean shutdown file.

        A second call does nothing, nor does one before `startup`.

        Args:
            broker_epoch: written into the clean shutdown file.

        Kafka: LogManager.shutdown (4.2)
        """
        if not self._is_running:
            return
        self._is_running = False
        context = self._context
        state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._become(state, "no other broker could lead, so nothing is moved")
        self._become(BrokerState.SHUTTING_DOWN, "tasks are stopped, logs flushed and closed")
        self._stop_tasks()  # first, so that none works on a log that is being closed
        try:
            close_directories(context, broker_epoch)
        finally:
            release(context)
            self._become(BrokerState.NOT_RUNNING, "the log directories are unlocked")

    def halt(self) -> None:
        """Stop as a process that is killed: no flush, no checkpoint, no clean shutdown file.

        What was written remains in the operating system's memory, and so in the files.
        """
        if not self._is_running:
            return
        self._is_running = False
        self._stop_tasks()
        release(self._context)
        self._become(BrokerState.NOT_RUNNING, "the process was killed")

    def _stop_tasks(self) -> None:
        if self.cleaner is not None:
            self.cleaner.shutdown()
        for task in self._tasks:
            task.cancel()
        self._deletion_task.cancel()
        if self._owns_scheduler:
            self._context.scheduler.shutdown()

    @property
    def clock(self) -> Clock:
        """The time that the manager uses."""
        return self._context.clock

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of the manager's tasks, for those of other parts of a broker."""
        return self._context.scheduler

    @property
    def config(self) -> BrokerConfig:
        """The broker's configuration."""
        return self._context.config

    def has_config(self, topic: str) -> bool:
        """Return whether a topic has a configuration of its own."""
        return topic in self._context.topic_configs

    # Directories

    @property
    def directories(self) -> list[str]:
        """Paths of all log directories, as configured."""
        return list(self._context.directories)

    @property
    def live_directories(self) -> list[str]:
        """Paths of the log directories that have not failed."""
        return [directory.path for directory in self._context.live]

    @property
    def offline_directories(self) -> list[str]:
        """Paths of the log directories that have failed."""
        return self._context.offline

    @property
    def identity(self) -> Identity:
        """The ids of the broker, the cluster and the directories."""
        return self._identity

    def metrics(self) -> dict[str, Any]:
        """Return Kafka's metrics of logs, their manager and the cleaner: name → number or numbers.

        Names of a log's metrics end with tags: ``"LogEndOffset,topic=orders,partition=0"``; metrics
        that count over all logs are mappings of their attributes, with JMX's names.

        Kafka: the gauges of KafkaBroker, LogManager, UnifiedLog, LogCleaner; LogFlushStats,
        BrokerTopicMetrics (4.2)
        """
        context = self._context
        found: dict[str, Any] = {
            **context.metrics.values(),
            "BrokerState": int(self.broker_state),
            "OfflineLogDirectoryCount": len(context.offline),
            "LogDirectoryOffline": {
                path: int(context.failures.is_offline(path)) for path in context.directories
            },
        }
        for (topic, number), log in context.reachable(context.registry.current).items():
            tags = f"topic={topic},partition={number}"
            found[f"NumLogSegments,{tags}"] = len(log.segments)
            found[f"LogStartOffset,{tags}"] = log.log_start_offset
            found[f"LogEndOffset,{tags}"] = log.log_end_offset
            found[f"Size,{tags}"] = log.size
        return found if self.cleaner is None else {**found, **self.cleaner.metrics()}

    # Logs

    @property
    def logs(self) -> dict[TopicPartition, Log]:
        """The logs that are served, by partition.

        Raises:
            StorageError: the manager was not started.
        """
        self._require_start()
        return self._context.reachable(self._context.registry.current)

    @property
    def future_logs(self) -> dict[TopicPartition, Log]:
        """The copies that are moving in from another directory."""
        return self._context.reachable(self._context.registry.future)

    @property
    def stray_logs(self) -> dict[TopicPartition, Log]:
        """The logs that were renamed to `-stray`."""
        return self._context.reachable(self._context.registry.stray)

    @property
    def logs_to_be_deleted(self) -> tuple[Log, ...]:
        """The logs that wait to be deleted."""
        return self._context.deletion.logs

    def _require_start(self) -> None:
        if not self._was_started:
            problem = (
                "its logs are not loaded: call startup(), or write with LogManager(…) as manager"
            )
            raise StorageError(", ".join(self.directories), problem)

    def get_log(
        self, partition: PartitionName, number: int | None = None, *, is_future: bool = False
    ) -> Log | None:
        """Return a partition's log; None if there is none, or its directory is offline.

        Args:
            partition: ``"orders-0"``, or with a ``number`` the topic: ``"orders", 0``.
            number: the partition's number.
            is_future: whether to return the copy that is moving in.

        Raises:
            StorageError: the manager was not started.
        """
        self._require_start()
        failures, registry = self._context.failures, self._context.registry
        logs = registry.future if is_future else registry.current
        log = logs.get(partition_of(partition, number))
        if log is None or (failures.any_offline and failures.is_offline(log.parent_directory)):
            return None
        return log

    def get_or_create_log(
        self,
        partition: PartitionName,
        number: int | None = None,
        *,
        is_new: bool = True,
        is_future: bool = False,
        topic_id: UUID | None = None,
        directory_id: UUID | None = None,
    ) -> Log:
        """Return a partition's log, created if there is none.

        Args:
            partition: ``"orders-0"``, or with a ``number`` the topic: ``"orders", 0``.
            number: the partition's number.
            is_new: whether no directory has it; if not, it is not created while one is offline.
            is_future: whether it is a copy that moves to the directory given to `prefer_directory`.
            topic_id: the topic's id; None takes that of the topic's other partitions, or a random
                one if there are none. A broker serves the log only if its cluster has the topic
                with that id. With ZooKeeper a new topic gets none.
            directory_id: where to create it if no directory is preferred; if it is unknown or
                None, the directory with the fewest logs.

        Raises:
            StorageError: no directory can hold it, an offline one may hold it, or the manager was
                not started.
            InconsistentTopicIdError: the log exists with another topic id.
            ValueError: no topic can have the name, or no partition the number; or a future log has
                no preferred directory, or it is the log's own.
            ConfigError: the topic's configuration is wrong.

        Kafka: LogManager.getOrCreateLog (4.2)
        """
        self._require_start()
        return self._creation.get_or_create(
            partition_of(partition, number),
            is_new=is_new,
            is_future=is_future,
            topic_id=topic_id,
            directory_id=directory_id,
        )

    def prefer_directory(self, partition: PartitionName, path: str | os.PathLike[str]) -> None:
        """Prefer a directory for a partition's next log, unless it has one there.

        Kafka: LogManager.maybeUpdatePreferredLogDir (4.2)
        """
        self._creation.prefer(partition_of(partition), absolute(os.fspath(path)))

    def replace_current_with_future_log(self, partition: PartitionName) -> None:
        """Make the copy that was moving in the partition's log, and delete the one it replaces.

        Raises:
            StorageError: one of the two is missing: its directory is offline.

        Kafka: LogManager.replaceCurrentWithFutureLog (4.2)
        """
        moving.replace_current_with_future_log(self._context, partition_of(partition))

    def async_delete(
        self, partition: PartitionName, *, is_future: bool = False, is_stray: bool = False
    ) -> Log | None:
        """Rename a log's folder to `-delete` (removed later) or to `-stray` (kept).

        Args:
            partition: the log's partition.
            is_future: whether it is the copy that is moving in, not the log that is served.
            is_stray: whether to rename it to `-stray`.

        Returns:
            The log; None if there is none.

        Raises:
            StorageError: there is none, but an offline directory may have it.

        Kafka: LogManager.asyncDelete (4.2)
        """
        chosen = partition_of(partition)
        return moving.delete_later(self._context, chosen, is_future=is_future, is_stray=is_stray)

    def async_delete_all(
        self,
        partitions: Iterable[PartitionName],
        on_error: Callable[[TopicPartition, Exception], None],
        *,
        is_stray: bool = False,
    ) -> None:
        """Call `async_delete` for current and future logs of several partitions.

        The checkpoints of each directory are written once, after all folders are renamed.

        Kafka: LogManager.asyncDelete (4.2)
        """
        chosen = [partition_of(partition) for partition in several(partitions)]
        moving.delete_all_later(self._context, chosen, is_stray=is_stray, on_error=on_error)

    def truncate_to(self, offsets: Mapping[PartitionName, int], *, is_future: bool = False) -> None:
        """Truncate logs to offsets, then write the recovery points of their directories.

        Log start offsets are written too if one fell: a start past the log end offset empties the
        log when it is loaded. (Kafka writes those a minute later.) A partition without a log is
        ignored.

        Args:
            offsets: partition, or its name as ``"orders-0"`` → new log end offset.
            is_future: whether to truncate the copies that are moving in.

        Kafka: LogManager.truncateTo (4.2)
        """
        chosen = {partition_of(partition): offset for partition, offset in offsets.items()}
        periodic_tasks.truncate_to(self._context, chosen, is_future=is_future)

    def truncate_fully_and_start_at(
        self,
        partition: PartitionName,
        offset: int,
        *,
        is_future: bool = False,
        log_start_offset: int | None = None,
    ) -> None:
        """Delete all records of a log and start it again at an offset, then write the checkpoints.

        Kafka: LogManager.truncateFullyAndStartAt (4.2)
        """
        periodic_tasks.truncate_fully_and_start_at(
            self._context,
            partition_of(partition),
            offset,
            is_future=is_future,
            log_start_offset=log_start_offset,
        )

    # Periodic tasks, which callers may also call

    def delete_old_segments(self) -> int:
        """Apply retention to all logs that are not compacted; return how many segments it deleted.

        Kafka: LogManager.cleanupLogs (4.2)
        """
        return periodic_tasks.delete_old_segments(self._context)

    def flush_dirty_logs(self) -> int:
        """Flush the logs that were not flushed for `flush.ms`; return how many.

        Kafka: LogManager.flushDirtyLogs (4.2)
        """
        return periodic_tasks.flush_dirty_logs(self._context)

    def checkpoint_recovery_points(self) -> None:
        """Write the recovery points of all live directories.

        Kafka: LogManager.checkpointLogRecoveryOffsets (4.2)
        """
        periodic_tasks.checkpoint_recovery_points(self._context)

    def checkpoint_log_start_offsets(self) -> None:
        """Write the log start offsets of all live directories.

        Kafka: LogManager.checkpointLogStartOffsets (4.2)
        """
        periodic_tasks.checkpoint_log_start_offsets(self._context)

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks of all logs to the checkpoints of their directories."""
        checkpoint_high_watermarks(self._context)

    def update_topic_config(self, topic: str, config: Mapping[str, Any]) -> None:
        """Replace a topic's own configuration; its logs, including those being created, use it.

        Raises:
            ConfigError: a name or value is wrong; nothing changed.

        Kafka: LogManager.updateTopicConfig (4.2)
        """
        reconfigure_topic(self._context, topic, config)

    def update_defaults(self, config: LogConfig) -> None:
        """Replace the configuration of topics that have none of their own; their logs use it.

        Kafka: LogManager.reconfigureDefaultLogConfig, DynamicLogConfig.reconfigure (4.2)
        """
        reconfigure_defaults(self._context, config)

    def on_directory_failure(self, listener: FailureListener) -> None:
        """Call a function for each directory that fails from now on, in the thread that failed."""
        self._context.failures.listeners.append(listener)

    def _directory_failed(self, path: str, error: OSError) -> None:
        """Report the failure; close the other logs later, as this thread holds its log's lock."""
        context = self._context
        context.tell("directory offline", path, str(error))
        if self._is_running and path in context.directories:
            task = partial(leave_directory, context, path)
            context.scheduler.schedule("log-dir-failure-handler", task)


def require_manager(given: object, asked_by: str) -> None:
    """Refuse what is not a log manager, such as a directory that was opened for reading.

    Raises:
        LogDirectoryError: it is something else.
    """
    if not isinstance(given, LogManager):
        kind = type(given).__name__
        raise LogDirectoryError(asked_by, f"expected a LogManager of them (found {kind})")
