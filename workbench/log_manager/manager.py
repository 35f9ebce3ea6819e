"""The log manager: every log of a broker's log directories, from start to clean shutdown.

    with LogManager(["data"], topic_configs={"orders": {"segment.bytes": 65536}}) as manager:
        manager.get_or_create_log("orders-0").append([(b"key", b"value")])

What it leaves behind a broker opens: locks, identity, checkpoints and the clean-shutdown marker are
a broker's. A directory that fails is offline from then on, and the others go on.

Kafka: LogManager (4.2)
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any, Final, Self
from uuid import UUID

from workbench.cleaner.log_cleaner import LogCleaner
from workbench.file_system.local import LOCAL, FileSystem, allow_open_files
from workbench.files.names import TopicPartition
from workbench.log.broker_config import BrokerConfig
from workbench.log.clock import Clock, SystemClock
from workbench.log.config import LogConfig
from workbench.log.log import Log
from workbench.log.scheduler import Scheduler, Task, ThreadScheduler
from workbench.log.steps import Observer
from workbench.log_manager import moving, upkeep
from workbench.log_manager.cleaning import make_cleaner
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.creation import LogCreation
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
from workbench.log_manager.opening import StrayTest, load_folder
from workbench.log_manager.reconfiguration import reconfigure_defaults, reconfigure_topic
from workbench.log_manager.registry import PartitionName, partition_of
from workbench.log_manager.tasks import DeletionTask, schedule_tasks

_BACKGROUND_THREADS: Final = 4


class LogManager:
    """Loads, keeps and closes the logs of one broker. Threads may share it once it has started.

    Args:
        directories: the entries of `log.dirs`; made where they are not there.
        config: of the broker, or a mapping of Kafka's names to values; None takes the defaults.
        fs: what is written through.
        clock: the time; None takes the machine's.
        scheduler: runs periodic tasks and what is put off; None makes one with threads. One that is
            given is not shut down.
        rng: chooses ids and the jitter of segments; None takes one that nobody can foresee.
        observer: is told each step.
        topic_configs: topic → its own configuration, by Kafka's names.
        initial_offline_directories: those of ``directories`` that are known to have failed.
        node_id: of the broker; None takes what `meta.properties` tell, or 1.
        cluster_id: as ``node_id``; else a random one.
        is_stray: tells of a loaded log why it belongs to nothing the broker knows; None if it does.
        progress: called after each folder that was dealt with while loading.

    Attributes:
        cleaner: compacts logs; None before `startup`, and with `log.cleaner.enable=false`.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a directory is named twice.
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
    ) -> None:
        clock = SystemClock() if clock is None else clock
        self._owns_scheduler = scheduler is None
        self._is_running = False
        self._context = ManagerContext.of(
            directories,
            config,
            topic_configs,
            fs=fs,
            clock=clock,
            scheduler=ThreadScheduler(_BACKGROUND_THREADS) if scheduler is None else scheduler,
            observer=observer,
            rng=Random() if rng is None else rng,  # noqa: S311 - ids and jitter, no secrets
        )
        failures = self._context.failures
        failures.listeners.append(self._directory_failed)
        for path in initial_offline_directories:
            failures.add(os.path.abspath(path), OSError("it failed before the start"))
        self._expected = (node_id, cluster_id)
        self._identity = Identity(node_id, cluster_id, {})
        self._is_stray = is_stray
        self._progress = progress
        self._creation = LogCreation(self._context)
        self.cleaner: LogCleaner | None = None
        self._tasks: list[Task] = []
        self._deletion_task = DeletionTask(
            self._context.scheduler, self._context.deletion.delete_due
        )

    def __enter__(self) -> Self:
        self.startup()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    # Start and stop

    def startup(self, *, with_tasks: bool = True) -> list[Outcome]:
        """Lock the directories, load all logs, schedule the periodic tasks and start the cleaner.

        Args:
            with_tasks: False leaves the periodic tasks, and the cleaner, to be called by hand.

        Returns:
            What became of each folder; those of directories that failed have an error.

        Raises:
            LogDirectoryError: a directory is in use, belongs to another broker, or has a folder of
                a name that no broker gives.
            StorageError: every directory failed.
            WorkbenchError: a log is damaged so that a broker would not start; a note says which.

        After an error everything is closed and unlocked, and no marker is written.

        Kafka: LogManager.startup (4.2)
        """
        context = self._context
        allow_open_files()
        try:
            self._identity = take_directories(context, *self._expected)
            outcomes = load_logs(
                context.live,
                lambda folder: load_folder(context, folder, self._is_stray),
                context.failures,
                threads=context.config.num_recovery_threads_per_data_dir,
                progress=self._progress,
            )
            raise_first_refusal(outcomes)
            check_any_is_live(context)
        except BaseException:
            release(context)
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
            )
            self._deletion_task.start(context.config.log_initial_task_delay_ms)
            if self.cleaner is not None:
                self.cleaner.startup()
        self._is_running = True
        return outcomes

    def shutdown(self, broker_epoch: int | None = None) -> None:
        """Flush and close every log, write the checkpoints, and the marker where all went well.

        A second call does nothing, nor does one before `startup`.

        Args:
            broker_epoch: to be written into the marker.

        Kafka: LogManager.shutdown (4.2)
        """
        if not self._is_running:
            return
        self._is_running = False
        context = self._context
        if self.cleaner is not None:
            self.cleaner.shutdown()
        for task in self._tasks:
            task.cancel()
        self._deletion_task.cancel()
        if self._owns_scheduler:  # first, so that no task works on a log that is being closed
            context.scheduler.shutdown()
        try:
            close_directories(context, broker_epoch)
        finally:
            release(context)

    # Directories

    @property
    def directories(self) -> list[str]:
        """Paths of all log directories, as configured."""
        return list(self._context.directories)

    @property
    def live_directories(self) -> list[str]:
        """Those that have not failed."""
        return [directory.path for directory in self._context.live]

    @property
    def offline_directories(self) -> list[str]:
        """Those that have."""
        return self._context.offline

    @property
    def identity(self) -> Identity:
        """Broker, cluster, and ids of the directories."""
        return self._identity

    # Logs

    @property
    def logs(self) -> dict[TopicPartition, Log]:
        """The logs that are served, by partition."""
        return self._context.reachable(self._context.registry.current)

    @property
    def future_logs(self) -> dict[TopicPartition, Log]:
        """The copies that are moving in from another directory."""
        return self._context.reachable(self._context.registry.future)

    @property
    def stray_logs(self) -> dict[TopicPartition, Log]:
        """The logs that were set aside."""
        return self._context.reachable(self._context.registry.stray)

    @property
    def logs_to_be_deleted(self) -> tuple[Log, ...]:
        """Those that wait for it."""
        return self._context.deletion.logs

    def get_log(
        self, partition: PartitionName, number: int | None = None, *, is_future: bool = False
    ) -> Log | None:
        """Return a partition's log; None if there is none, or its directory is offline.

        Args:
            partition: ``"orders-0"``, or with a ``number`` the topic: ``"orders", 0``.
            number: of the partition.
            is_future: the copy that moves in.
        """
        log = self._context.registry.get(partition_of(partition, number), is_future=is_future)
        if log is None or self._context.failures.is_offline(log.parent_directory):
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
        """Return a partition's log, made if there is none.

        Args:
            partition: ``"orders-0"``, or with a ``number`` the topic: ``"orders", 0``.
            number: of the partition.
            is_new: no directory can hold it; else it is not made while one is offline.
            is_future: a copy that moves to the directory named by `prefer_directory`.
            topic_id: of its topic.
            directory_id: where to make it, if `prefer_directory` does not say; where it is not
                known, and without it, the directory with the fewest logs.

        Raises:
            StorageError: no directory takes it, or an offline one may hold it.
            InconsistentTopicIdError: there is a log, of another topic id.
            ValueError: a future log without a preferred directory, or in the log's own.
            ConfigError: the topic's configuration is wrong.

        Kafka: LogManager.getOrCreateLog (4.2)
        """
        return self._creation.get_or_create(
            partition_of(partition, number),
            is_new=is_new,
            is_future=is_future,
            topic_id=topic_id,
            directory_id=directory_id,
        )

    def prefer_directory(self, partition: PartitionName, path: str | os.PathLike[str]) -> None:
        """Let a partition's next log be made in a directory, unless it has one there.

        Kafka: LogManager.maybeUpdatePreferredLogDir (4.2)
        """
        self._creation.prefer(partition_of(partition), os.path.abspath(path))

    def replace_current_with_future_log(self, partition: PartitionName) -> None:
        """See `moving.replace_current_with_future_log`."""
        moving.replace_current_with_future_log(self._context, partition_of(partition))

    def async_delete(
        self, partition: PartitionName, *, is_future: bool = False, is_stray: bool = False
    ) -> Log | None:
        """See `moving.delete_later`."""
        chosen = partition_of(partition)
        return moving.delete_later(self._context, chosen, is_future=is_future, is_stray=is_stray)

    def async_delete_all(
        self,
        partitions: Iterable[PartitionName],
        on_error: Callable[[TopicPartition, Exception], None],
        *,
        is_stray: bool = False,
    ) -> None:
        """See `moving.delete_all_later`."""
        chosen = [partition_of(partition) for partition in partitions]
        moving.delete_all_later(self._context, chosen, is_stray=is_stray, on_error=on_error)

    def truncate_to(
        self, offsets: Mapping[TopicPartition, int], *, is_future: bool = False
    ) -> None:
        """See `upkeep.truncate_to`."""
        upkeep.truncate_to(self._context, offsets, is_future=is_future)

    def truncate_fully_and_start_at(
        self,
        partition: PartitionName,
        offset: int,
        *,
        is_future: bool = False,
        log_start_offset: int | None = None,
    ) -> None:
        """See `upkeep.truncate_fully_and_start_at`."""
        upkeep.truncate_fully_and_start_at(
            self._context,
            partition_of(partition),
            offset,
            is_future=is_future,
            log_start_offset=log_start_offset,
        )

    # Periodic tasks, also to be called by hand

    def delete_old_segments(self) -> int:
        """See `upkeep.delete_old_segments`."""
        return upkeep.delete_old_segments(self._context)

    def flush_dirty_logs(self) -> int:
        """See `upkeep.flush_dirty_logs`."""
        return upkeep.flush_dirty_logs(self._context)

    def checkpoint_recovery_points(self) -> None:
        """See `upkeep.checkpoint_recovery_points`."""
        upkeep.checkpoint_recovery_points(self._context)

    def checkpoint_log_start_offsets(self) -> None:
        """See `upkeep.checkpoint_log_start_offsets`."""
        upkeep.checkpoint_log_start_offsets(self._context)

    def update_topic_config(self, topic: str, config: Mapping[str, Any]) -> None:
        """Replace what a topic has of its own; its logs, also those being made, follow.

        Raises:
            ConfigError: a name or value is wrong; nothing is changed.

        Kafka: LogManager.updateTopicConfig (4.2)
        """
        reconfigure_topic(self._context, topic, config)

    def update_defaults(self, config: LogConfig) -> None:
        """Replace the configuration of topics that have none of their own; their logs follow.

        Kafka: LogManager.reconfigureDefaultLogConfig, DynamicLogConfig.reconfigure (4.2)
        """
        reconfigure_defaults(self._context, config)

    def _directory_failed(self, path: str, error: OSError) -> None:
        """Take note; later, as the thread holds the lock of its log, close what else is there."""
        context = self._context
        context.tell("directory offline", path, str(error))
        if self._is_running and path in context.directories:
            task = partial(leave_directory, context, path)
            context.scheduler.schedule("log-dir-failure-handler", task)
