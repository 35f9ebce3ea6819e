"""Predict what a broker will do with log directories when it starts, without writing anything.

It is the loading code itself, on a file system that keeps every change to itself, watched by an
observer. Then consumers read what was loaded, for what the broker does not notice they do.

Kafka: LogManager.startup, KafkaRaftServer.initializeLogDirs, ReplicaManager (4.2)
"""

import os
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any, Final
from uuid import UUID

from workbench.errors import LogDirectoryError, StorageError
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.meta_properties import MetaProperties
from workbench.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    PARTITION_METADATA,
    TopicPartition,
    parse_directory_name,
)
from workbench.files.text import format_uuid
from workbench.log.broker_config import BrokerConfig
from workbench.log.clock import ManualClock, SystemClock
from workbench.log.failures import LogDirFailures
from workbench.log.log import Log
from workbench.log.scheduler import ManualScheduler
from workbench.log.steps import Outline, Step
from workbench.log_manager.consumer import ConsumerView, consume
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.directory import ManagedDirectory
from workbench.log_manager.identity import agree, read_meta_properties
from workbench.log_manager.internal_topics import with_internal_topics
from workbench.log_manager.kafka_errors import kafka_exception
from workbench.log_manager.lifecycle import release
from workbench.log_manager.loading import FolderToLoad, Outcome, Progress, load_logs
from workbench.log_manager.opening import StrayTest, load_folder
from workbench.log_manager.prediction import (
    DirectoryStart,
    PartitionStart,
    StartupPrediction,
)
from workbench.log_manager.start_rows import partition_start
from workbench.log_manager.unnoticed import unnoticed_damage

_RUNTIME: Final = "java.lang.RuntimeException"
_STORAGE: Final = "org.apache.kafka.common.errors.KafkaStorageException"


def predict_startup(
    directories: Iterable[str | os.PathLike[str]],
    config: BrokerConfig | Mapping[str, Any] | None = None,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
    fs: FileSystem = LOCAL,
    now: int | None = None,
    node_id: int | None = None,
    cluster_id: str | None = None,
    topic_ids: Collection[UUID] | None = None,
    kraft: bool | None = None,
    only: Collection[str] | None = None,
    consumers: bool = True,
    progress: Progress | None = None,
) -> StartupPrediction:
    """Return what a broker of version 4.2 would do with log directories.

    Args:
        directories: the entries of `log.dirs`.
        config: of the broker.
        topic_configs: topic → its own configuration, by Kafka's names; see `internal_topics`.
        fs: what is read; nothing is written to it.
        now: ms since the epoch; None takes the machine's time.
        node_id: of the broker; None takes what the first `meta.properties` tells.
        cluster_id: as ``node_id``.
        topic_ids: of the topics that the cluster has; None takes every id for one of them.
        kraft: whether the broker is one without ZooKeeper, which sets logs without a topic id
            aside; None tells by the directories.
        only: names of folders; nothing is told of the others, nor whether the directories belong
            together. None takes all.
        consumers: let consumers read what was loaded; that reads every log whole.
        progress: called after each folder.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a directory is named twice, or is not there.
    """
    clock = ManualClock(SystemClock().now() if now is None else now)
    told = _Told()
    context = ManagerContext.of(
        directories,
        config,
        with_internal_topics(topic_configs),
        fs=DryFileSystem(fs),
        clock=clock,
        scheduler=ManualScheduler(clock),
        observer=Outline(told.take),
        rng=Random(0),  # noqa: S311 - ids of folders that are never made
    )
    for path in context.directories:
        if not fs.exists(path):
            raise LogDirectoryError(path, "no such directory")
    is_kraft = _looks_like_kraft(context) if kraft is None else kraft
    prediction = _Prediction(context, told, consumers=consumers)
    try:
        if only is None:
            prediction.check_identity(node_id, cluster_id, is_kraft=is_kraft)
        is_stray = _stray_test(topic_ids) if is_kraft else None
        outcomes = load_logs(
            context.live,
            lambda folder: prediction.load(folder, is_stray),
            context.failures,
            threads=1,
            progress=progress,
            keep_going=True,
            only=only,
        )
        prediction.check_other_checkpoints()
        return prediction.result(outcomes)
    finally:
        release(context)


class _Told:
    """Keeps the steps by the folder that is being loaded."""

    def __init__(self) -> None:
        self.by_folder: dict[str, list[Step]] = {}
        self._current: list[Step] = []

    def begin(self, folder: str) -> None:
        self._current = self.by_folder.setdefault(folder, [])

    def take(self, step: Step) -> None:
        self._current.append(step)


class _Prediction:
    """What is known so far."""

    def __init__(self, context: ManagerContext, told: _Told, *, consumers: bool) -> None:
        self._context = context
        self._told = told
        self._consumers = consumers
        self._failed: dict[str, OSError] = {}
        self._cleaned_in: dict[str, Collection[TopicPartition]] = {}
        context.failures.listeners.append(self._note_failure)
        self._refusals: dict[str, tuple[str, str]] = {}  # directory → exception and problem
        self._views: dict[str, tuple[ConsumerView, ...]] = {}
        self._unnoticed: dict[str, tuple[str, ...]] = {}

    def check_identity(
        self, node_id: int | None, cluster_id: str | None, *, is_kraft: bool
    ) -> None:
        """Look whether the directories belong together, as a broker does first.

        Kafka: KafkaRaftServer.initializeLogDirs (4.2)
        """
        found: dict[str, MetaProperties] = {}
        for path in self._context.directories:
            try:
                properties = read_meta_properties(path, self._context.fs)
                if properties is not None:
                    agree({**found, path: properties}, node_id, cluster_id)
                    found[path] = properties
                elif is_kraft:
                    self._refusals[path] = (_RUNTIME, "there is no meta.properties")
            except LogDirectoryError as error:
                self._refusals[path] = (_RUNTIME, str(error))
            except OSError as error:
                self._context.failures.add(path, error)

    def load(self, folder: FolderToLoad, is_stray: StrayTest | None) -> Log:
        """Load a folder, and let consumers read it while its files are open.

        A folder that takes its directory offline does not keep the others from being looked at.
        """
        self._told.begin(folder.path)
        context, failures = self._context, self._context.failures
        context.failures = LogDirFailures()
        context.failures.listeners.append(self._note_failure)
        try:
            return self._load(folder, is_stray)
        finally:
            context.failures = failures

    def _note_failure(self, path: str, error: OSError) -> None:
        self._failed.setdefault(path, error)

    def _load(self, folder: FolderToLoad, is_stray: StrayTest | None) -> Log:
        log = load_folder(self._context, folder, is_stray)
        name = parse_directory_name(os.path.basename(log.directory))
        self._told.begin("")  # what consumers make the log tell is no part of its loading
        if name is not None and name.kind == "log":
            views = self._consume(log) if self._consumers else ()
            self._views[folder.path] = views
            is_compacted = log.config.compact or folder.topic_partition in self._cleaned(folder)
            self._unnoticed[folder.path] = unnoticed_damage(log, views, is_compacted=is_compacted)
        log.close_handlers()
        return log

    def _cleaned(self, folder: FolderToLoad) -> Collection[TopicPartition]:
        """Return the partitions that a cleaner has been at, as its checkpoint tells."""
        if folder.directory not in self._cleaned_in:
            fs, path = self._context.fs, os.path.join(folder.directory, CLEANER_OFFSETS)
            data = fs.read(path) if fs.exists(path) else b""
            offsets = OffsetCheckpoint.decode(data, strict=False).offsets
            self._cleaned_in[folder.directory] = offsets.keys()
        return self._cleaned_in[folder.directory]

    def _consume(self, log: Log) -> tuple[ConsumerView, ...]:
        view = consume(log)
        if not view.has_transactions:
            return (view,)
        return view, consume(log, "read_committed")

    def check_other_checkpoints(self) -> None:
        """Read the checkpoints that other parts of a broker read once the logs are loaded.

        Kafka: ReplicaManager.startup, LogCleanerManager.allCleanerCheckpoints (4.2)
        """
        for directory in self._context.live:
            try:
                directory.checkpoint(HIGH_WATERMARKS).read()
                if self._context.config.log_cleaner_enable:
                    directory.checkpoint(CLEANER_OFFSETS).read()
            except StorageError:
                continue  # offline, and why, is known where it happened

    def result(self, outcomes: list[Outcome]) -> StartupPrediction:
        """Return all of it."""
        context = self._context
        for outcome in outcomes:
            if outcome.error is not None and outcome.stops_a_broker:
                problem = f"{os.path.basename(outcome.path)}: {outcome.error}"
                refusal = (kafka_exception(outcome.error), problem)
                self._refusals.setdefault(outcome.directory, refusal)
        directories = tuple(map(self._directory, context.directories.values()))
        exception, problem = next(iter(self._refusals.values()), ("", ""))
        if not problem and len(self._failed) == len(context.directories):
            path, error = next(iter(self._failed.items()))
            problem = f"every log directory has failed, and the broker halts: {path}: {error}"
        partitions = tuple(
            self._partition(outcome)
            for outcome in sorted(outcomes, key=lambda outcome: (outcome.directory, outcome.path))
        )
        return StartupPrediction(not problem, problem, exception, directories, partitions)

    def _directory(self, directory: ManagedDirectory) -> DirectoryStart:
        path, clean = directory.path, directory.had_clean_shutdown
        if path in self._refusals:
            return DirectoryStart(path, clean, "refuses", *self._refusals[path])
        error = self._failed.get(path)
        if error is not None:
            return DirectoryStart(path, clean, "offline", _STORAGE, str(error))
        return DirectoryStart(path, clean, "online")

    def _partition(self, outcome: Outcome) -> PartitionStart:
        return partition_start(
            outcome,
            self._told.by_folder.get(outcome.path, ()),
            self._unnoticed.get(outcome.path, ()),
            self._views.get(outcome.path, ()),
        )


def _looks_like_kraft(context: ManagerContext) -> bool:
    """Return whether the directories are those of a broker without ZooKeeper.

    `meta.properties` tells by its version. Where there is none, topic ids do: they came with it.
    """
    for path in context.directories:
        try:
            properties = read_meta_properties(path, context.fs)
        except LogDirectoryError:
            return True  # a broker of today refuses it whatever it was
        except OSError:
            continue
        if properties is not None:
            return properties.version != 0
    return any(
        context.fs.exists(os.path.join(folder.path, PARTITION_METADATA))
        for directory in context.directories.values()
        for folder in directory.partition_folders()
    )


def _stray_test(topic_ids: Collection[UUID] | None) -> StrayTest:
    """Kafka: LogManager.isStrayKraftReplica (4.2)."""

    def is_stray(log: Log) -> str | None:
        if log.topic_id is None:
            return "it has no topic id: partition.metadata is not there"
        if topic_ids is not None and log.topic_id not in topic_ids:
            return f"its topic id {format_uuid(log.topic_id)} is none that the cluster has"
        return None

    return is_stray
