"""Predict what a broker will do with log directories when it starts, without writing anything.

First the identity of the directories and the metadata log, then the logs. The broker's loading code
runs on a file system that keeps every change in memory, and an observer receives its steps. Then
consumers read the loaded logs, to find damage that a broker misses.

Kafka: LogManager.startup, KafkaRaftServer.initializeLogDirs, ReplicaManager (4.2)
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any, Final
from uuid import UUID

from workbench.config.broker_config import BrokerConfig
from workbench.config.broker_rules import FailedDirectoryRule, StrayRule
from workbench.config.internal_topics import METADATA_LOG, with_internal_topics
from workbench.errors import LogDirectoryError, StorageError
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL
from workbench.file_system.source import Files, absolute
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    TopicPartition,
    parse_directory_name,
)
from workbench.foresight.startup.consumer import ConsumerView, consume
from workbench.foresight.startup.failed_directories import (
    created_partitions,
    leaderless_partitions,
    why_it_ends,
    with_failed_directories,
)
from workbench.foresight.startup.kafka_errors import kafka_exception
from workbench.foresight.startup.losses import (
    Replaced,
    abandoned_copies,
    copies_beside_logs,
    what_is_left,
    with_losses,
)
from workbench.foresight.startup.node import (
    NodeStart,
    StartProblem,
    assigned_partitions,
    promote_copies,
    stray_test,
    unserved_logs,
    vanished_topics,
)
from workbench.foresight.startup.prediction import (
    DirectoryStart,
    PartitionStart,
    StartupPrediction,
    Verdict,
)
from workbench.foresight.startup.start_rows import partition_start, reading_problem
from workbench.foresight.startup.undetected import unnoticed_damage
from workbench.inspection.broker_version import MeantBroker, meant_broker
from workbench.inspection.listing import Listing, list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.directory import ManagedDirectory
from workbench.log_manager.identity import read_meta_properties
from workbench.log_manager.lifecycle import release
from workbench.log_manager.loading import FolderToLoad, Outcome, Progress, load_logs
from workbench.log_manager.opening import SET_ASIDE, StrayTest, later_format, load_folder, reads_all
from workbench.log_manager.registry import DuplicateLogError
from workbench.runtime.clock import ManualClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.gc_pause import gc_paused
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Outline, Step
from workbench.runtime.times import time_or_now

Look = Callable[[Log, bool], None]
"""What looks at a log; its second argument is whether the log is compacted."""
_STORAGE: Final = "org.apache.kafka.common.errors.KafkaStorageException"


def predict_startup(
    directories: Iterable[str | os.PathLike[str]],
    config: BrokerConfig | Mapping[str, Any] | None = None,
    *,
    topic_configs: Mapping[str, Mapping[str, Any]] | None = None,
    fs: Files = LOCAL,
    now: int | None = None,
    node_id: int | None = None,
    cluster_id: str | None = None,
    topic_ids: Collection[UUID] | None = None,
    kafka: str | None = None,
    only: Collection[str] | None = None,
    consumers: bool = True,
    progress: Progress | None = None,
    look: Look | None = None,
) -> StartupPrediction:
    """Return what a broker would do with log directories.

    Args:
        directories: the entries of `log.dirs`, in their order: the first has the metadata log,
            unless `metadata.log.dir` names another.
        config: the broker's configuration.
        topic_configs: topic → its own configuration, by Kafka's names; see `internal_topics`.
        fs: what reads them; nothing is written to it.
        now: ms since the epoch; None takes the machine's time.
        node_id: the broker's id; None takes it from the first `meta.properties`.
        cluster_id: the cluster's id; None as for ``node_id``.
        topic_ids: the ids of the cluster's topics; None takes those in the metadata log.
        kafka: the broker's version, as in `config.kafka_versions.series_of`; None takes the newest
            that the directories show.
        only: names of partition directories; others are left out, and neither the directories nor
            the metadata log are checked. None takes all.
        consumers: whether consumers read the loaded logs, every one completely.
        progress: a callback after each partition.
        look: a callback with each log that loads, while its files are open.

    Raises:
        ConfigError: a configuration's name or value is wrong.
        LogDirectoryError: a directory is named twice, or does not exist.
    """
    paths = [os.fspath(path) for path in directories]
    clock = ManualClock(time_or_now(now))
    told = _Told()
    context = ManagerContext.of(
        paths,
        config,
        with_internal_topics(topic_configs),
        fs=DryFileSystem(fs, within=paths, now=clock.now),
        clock=clock,
        scheduler=ManualScheduler(clock),
        observer=Outline(told.take),
        rng=Random(0),  # noqa: S311 - ids of directories that are never created
    )
    for path in context.directories:
        if not context.fs.exists(path):
            raise LogDirectoryError(path, "no such directory")
    listing = _listing(context, fs)
    meant, roots = meant_broker(listing, kafka), listing.roots
    told.begin(METADATA_LOG)
    context.rules = meant.rules
    node = NodeStart(
        context, roots, told.by_folder[METADATA_LOG], meant.rules,
        node_id=node_id, cluster_id=cluster_id,
    )  # fmt: skip
    prediction = _Prediction(context, told, meant, listing, consumers=consumers, look=look)
    try:
        prediction.check_node(node, is_alone=only is not None)
        is_stray = stray_test(node, topic_ids)
        outcomes: list[Outcome] = []
        with gc_paused():  # what is loaded is kept
            for directory in context.live:  # one by one: steps belong to one partition at a time
                outcomes += load_logs(
                    [directory],
                    lambda folder: prediction.load(folder, is_stray),
                    context.failures,
                    rules=context.rules,
                    threads=1,
                    progress=progress,
                    keep_going=True,
                    only=only,
                )
        prediction.note_end_of_loading()
        prediction.check_other_checkpoints()
        return prediction.result(outcomes, node, is_alone=only is not None)
    finally:
        release(context)


def _listing(context: ManagerContext, fs: Files) -> Listing:
    """Return the listed directories; one that cannot be listed goes offline when it is loaded."""
    readable = []
    for path in context.directories:
        with suppress(OSError):
            context.fs.list(path)
            list_log_directories(path, whole=False, fs=fs)
            readable.append(path)
    return list_log_directories(readable, whole=False, fs=fs) if readable else Listing((), {})


class _Told:
    """Keep the steps by the partition directory that is being loaded."""

    def __init__(self) -> None:
        self.by_folder: dict[str, list[Step]] = {}
        self._current: list[Step] = []

    def begin(self, folder: str) -> None:
        self._current = self.by_folder.setdefault(folder, [])

    def take(self, step: Step) -> None:
        self._current.append(step)


class _Prediction:
    """Collect the prediction."""

    def __init__(
        self,
        context: ManagerContext,
        told: _Told,
        meant: MeantBroker,
        listing: Listing,
        *,
        consumers: bool,
        look: Look | None,
    ) -> None:
        self._context = context
        self._meant = meant
        self._listing = listing
        self._told = told
        self._consumers = consumers
        self._look = look
        self._seconds = 0.0
        self._failed: dict[str, OSError] = {}
        self._failed_loading: frozenset[str] = frozenset()  # until all logs were loaded
        self._unread: dict[str, str] = {}  # directory → what could not be read
        self._cleaned_in: dict[str, Collection[TopicPartition]] = {}
        context.failures.listeners.append(self._note_failure)
        self._refusals: dict[str, StartProblem] = {}  # by directory
        self._reads_all = reads_all(meant.rules)
        self._later: dict[str, str] = {}  # partition directory → which format it has
        self._views: dict[str, tuple[ConsumerView, ...]] = {}
        self._unnoticed: dict[str, tuple[str, ...]] = {}
        self._replaced: dict[str, Replaced] = {}

    def check_node(self, node: NodeStart, *, is_alone: bool) -> None:
        """Note why the node would not start, before it loads a log."""
        context = self._context
        for path in context.directories:
            try:
                context.fs.list(path)
                read_meta_properties(path, context.fs)
            except LogDirectoryError:
                continue  # judged below
            except OSError as error:
                if (problem := reading_problem(error)) is not None:
                    self._unread[path] = problem
                else:
                    context.failures.add(path, error)
        if not is_alone:
            for reason in node.refusals():
                self._refusals.setdefault(reason.path, reason)

    def load(self, folder: FolderToLoad, is_stray: StrayTest | None) -> Log:
        """Load a partition, and let consumers read it while its files are open.

        A partition that takes its directory offline does not stop the prediction of the others.
        """
        self._told.begin(folder.path)
        context, failures = self._context, self._context.failures
        context.failures = LogDirFailures()
        context.failures.listeners.append(self._note_failure_of_folder)
        try:
            return self._load(folder, is_stray)
        except OSError as error:
            problem = reading_problem(error)
            if problem is None:
                raise
            raise StorageError(folder.directory, problem) from error
        finally:
            context.failures = failures

    def _note_failure(self, path: str, error: OSError) -> None:
        problem = reading_problem(error)
        if problem is None:
            self._failed.setdefault(path, error)
        else:
            self._unread.setdefault(path, problem)

    def _note_failure_of_folder(self, path: str, error: OSError) -> None:
        if reading_problem(error) is None:
            self._failed.setdefault(path, error)

    def _load(self, folder: FolderToLoad, is_stray: StrayTest | None) -> Log:
        began = time.perf_counter()
        log = load_folder(self._context, folder, is_stray)
        self._seconds += time.perf_counter() - began
        if not self._reads_all and (problem := later_format(log)):
            self._later[folder.path] = problem
            log.close_handlers()
            return log
        name = parse_directory_name(os.path.basename(log.directory))
        self._told.begin("")  # steps that consumers cause are not part of loading
        if name is not None and name.kind == "log":
            views = self._consume(log) if self._consumers else ()
            self._views[folder.path] = views
            is_compacted = log.config.compact or folder.topic_partition in self._cleaned(folder)
            steps = self._told.by_folder.get(folder.path, ())
            if (left := what_is_left(log, steps, is_compacted=is_compacted)) is not None:
                self._replaced[folder.path] = left
            self._unnoticed[folder.path] = unnoticed_damage(log, views, is_compacted=is_compacted)
            if self._look is not None:
                self._look(log, is_compacted)
        log.close_handlers()
        return log

    def _cleaned(self, folder: FolderToLoad) -> Collection[TopicPartition]:
        """Return the partitions that the cleaner's checkpoint names."""
        if folder.directory not in self._cleaned_in:
            fs, path = self._context.fs, os.path.join(folder.directory, CLEANER_OFFSETS)
            data = b""
            with suppress(OSError):  # reported when the other checkpoints are read
                data = fs.read(path, OffsetCheckpoint.size_limit + 1)
            offsets = OffsetCheckpoint.decode(data, strict=False).offsets
            self._cleaned_in[folder.directory] = offsets.keys()
        return self._cleaned_in[folder.directory]

    def _consume(self, log: Log) -> tuple[ConsumerView, ...]:
        view = consume(log)
        if not view.has_transactions:
            return (view,)
        return view, consume(log, "read_committed")

    def note_end_of_loading(self) -> None:
        """Note which directories have failed by now: a broker treats later failures otherwise."""
        self._failed_loading = frozenset(self._failed)

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
                continue  # the failure was recorded where it happened

    def result(
        self, outcomes: list[Outcome], node: NodeStart, *, is_alone: bool
    ) -> StartupPrediction:
        """Return the complete prediction.

        Args:
            outcomes: the logs that were loaded, or tried.
            node: the node.
            is_alone: whether only some logs were asked for.
        """
        context = self._context
        for outcome in outcomes:
            if outcome.error is not None and outcome.stops_a_broker:
                problem = _problem_of(outcome)
                where, is_double = outcome.directory, isinstance(outcome.error, DuplicateLogError)
                kind = "duplicate-partition" if is_double else "partition"
                refusal = StartProblem(where, kind, kafka_exception(outcome.error), problem)
                self._refusals.setdefault(where, refusal)
        for path, why, ends in copies_beside_logs(context, node):
            if ends:
                self._refusals.setdefault(path, StartProblem(path, "partition", _STORAGE, why))
            else:
                self._failed.setdefault(path, OSError(why))
        directories = tuple(self._directory(each, node) for each in context.directories.values())
        refusals = self._refusals.values()
        exception, problem = next(((each.exception, each.problem) for each in refusals), ("", ""))
        rows = list(map(self._partition, outcomes))
        if not problem:
            by_logs = {row.directory for row in rows if row.verdict == "offline"}
            problem = why_it_ends(self._failed, by_logs, node, len(context.directories))
            is_thrown = problem and len(self._failed) < len(context.directories)
            if is_thrown and node.rules.failed_directory is FailedDirectoryRule.ENDS_IN_A_LOG:
                exception = _STORAGE  # other versions halt
        rows += self._unlisted({outcome.path for outcome in outcomes}, is_alone=is_alone)
        partitions: Iterable[PartitionStart] = unserved_logs(
            promote_copies(rows, context, node), context, node
        )
        assigned = assigned_partitions(node.topics)
        partitions = abandoned_copies(partitions, context, assigned)
        partitions = with_losses(partitions, self._before, self._replaced)
        if not is_alone:
            failed = {path: str(error) for path, error in self._failed.items()}
            verdicts: tuple[tuple[Verdict, Mapping[str, str]], ...] = (
                ("offline", failed), ("unread", self._unread),
            )  # fmt: skip
            for verdict, reasons in verdicts:
                partitions = with_failed_directories(
                    partitions, reasons, verdict, context.fs, starts=not problem
                )
        every = tuple(sorted(partitions, key=lambda row: (row.directory, row.name)))
        metadata = node.metadata
        if metadata is not None and node.topics is not None and not problem:
            created = (
                ()
                if self._unread
                else created_partitions(context, node, every, self._failed, self._failed_loading)
            )
            metadata = replace(
                metadata,
                vanished=vanished_topics(every, node.topics),
                created=created,
                leaderless=tuple(leaderless_partitions(context, node, created)),
            )
        return StartupPrediction(
            not problem, problem, exception, directories, every, self._meant, metadata,
            self._seconds,
        )  # fmt: skip

    @property
    def _before(self) -> Iterable[DiskPartition]:
        """The partition directories as they are now."""
        return (each for root in self._listing.roots for each in root.partitions)

    def _unlisted(self, loaded: Collection[str], *, is_alone: bool) -> Iterator[PartitionStart]:
        """Yield a row for each log whose folder is a link that is not followed: a broker does."""
        context = self._context
        for each in () if is_alone else self._before:
            if each.path in loaded or each.kind != "log" or each.name == METADATA_LOG:
                continue
            path = absolute(each.path)
            directory, name = os.path.split(path)
            if path in loaded or directory in self._failed or directory in self._unread:
                continue
            try:
                context.fs.list(path)
            except OSError as error:
                if (problem := reading_problem(error)) is not None:
                    yield PartitionStart(directory, name, "unread", problem)

    def _directory(self, directory: ManagedDirectory, node: NodeStart) -> DirectoryStart:
        path, clean = directory.path, directory.had_clean_shutdown
        if path in self._refusals:
            reason = self._refusals[path]
            return DirectoryStart(
                path, clean, "refuses", reason.exception, reason.problem, reason.kind
            )
        error = self._failed.get(path)
        if error is not None:
            return DirectoryStart(path, clean, "offline", _STORAGE, str(error))
        if path in self._unread:
            return DirectoryStart(path, clean, "unread", "", self._unread[path])
        return DirectoryStart(path, clean, "online", "", node.new_directory(path))

    def _partition(self, outcome: Outcome) -> PartitionStart:
        if outcome.path in self._later:
            name = os.path.basename(outcome.path)
            return PartitionStart(outcome.directory, name, "unread", self._later[outcome.path])
        row = partition_start(
            outcome,
            self._told.by_folder.get(outcome.path, ()),
            self._unnoticed.get(outcome.path, ()),
            self._views.get(outcome.path, ()),
        )
        is_new = row.verdict == "stray" and any(step.kind == SET_ASIDE for step in row.steps)
        if not is_new or self._meant.rules.strays is not StrayRule.DELETED:
            return row
        reason = f"{row.reason}: the broker deletes it once it has started"
        return replace(row, verdict="deleted", reason=reason, changes=())


def _problem_of(outcome: Outcome) -> str:
    """Return why a log keeps the broker from starting, with its name."""
    name, problem = os.path.basename(outcome.path), str(outcome.error)
    return problem if problem.startswith((f"{name}:", f"{outcome.path}:")) else f"{name}: {problem}"
