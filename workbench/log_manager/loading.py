"""Load the logs of log directories, each with a pool of threads of the configured size.

A problem with one folder does not keep the others from being loaded: an error of the operating
system takes its directory offline, and any other error is reported at the end, because a broker
does not start with it.

Kafka: LogManager.loadLogs (4.2)
"""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from workbench.config.broker_rules import BrokerRules
from workbench.errors import LogDirectoryError, StorageError
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log_manager.directory import Folder, ManagedDirectory
from workbench.runtime.failures import LogDirFailures


class LoadProgress(NamedTuple):
    """Progress of the loading of a log directory.

    Attributes:
        directory: path of the log directory.
        folder: path of the partition directory that was loaded last.
        loaded: number of folders that are done, with or without success.
        total: number of all folders.
    """

    directory: str
    folder: str
    loaded: int
    total: int


class FolderToLoad(NamedTuple):
    """A partition directory and what the checkpoints of its log directory say about it.

    Attributes:
        directory: path of the log directory.
        path: the folder's path.
        topic_partition: partition of the log that it should hold.
        had_clean_shutdown: whether the log directory had a clean shutdown file.
        recovery_point: first offset that might not be on the disk; 0 if no checkpoint has it.
        log_start_offset: first offset that can be read; 0 if no checkpoint has it.
    """

    directory: str
    path: str
    topic_partition: TopicPartition
    had_clean_shutdown: bool
    recovery_point: int
    log_start_offset: int


class Outcome(NamedTuple):
    """The outcome of loading a folder.

    Attributes:
        directory: path of the log directory.
        path: the folder's path before it was loaded.
        log: the loaded log; None if it could not be loaded.
        error: why it could not be loaded.
    """

    directory: str
    path: str
    log: Log | None
    error: Exception | None

    @property
    def stops_a_broker(self) -> bool:
        """Whether a broker does not start with the error, instead of taking a directory offline.

        Kafka: LogManager.loadLogs (4.2)
        """
        error = self.error
        if error is None or isinstance(error, StorageError):
            return False
        return isinstance(error, LogDirectoryError) or not isinstance(error, OSError)


OpenLog = Callable[[FolderToLoad], Log]
Progress = Callable[[LoadProgress], None]


def load_logs(
    directories: Sequence[ManagedDirectory],
    open_log: OpenLog,
    failures: LogDirFailures,
    *,
    rules: BrokerRules,
    threads: int,
    progress: Progress | None = None,
    keep_going: bool = False,
    only: Collection[str] | None = None,
) -> list[Outcome]:
    """Load every log of several directories and return the outcome for each folder.

    Args:
        directories: log directories that are locked and have no clean shutdown file any more.
        open_log: loads one log; called from any thread.
        failures: receives directories that fail.
        rules: those of the version, for its checkpoints.
        threads: number of threads per directory.
        progress: called after each folder, by the thread that loaded it.
        keep_going: load the other folders even if a folder's name keeps a broker from starting.
        only: names of the folders to load. None loads all.

    Raises:
        LogDirectoryError: a folder has a name that no broker gives (not with ``keep_going``).

    Kafka: LogManager.loadLogs (4.2)
    """
    outcomes: list[Outcome] = []
    work: list[tuple[ManagedDirectory, list[FolderToLoad]]] = []
    for directory in directories:
        try:
            directory.take_marker()
            points, starts = _checkpoints(directory, rules)
            folders = directory.partition_folders()
            if only is not None:
                folders = [each for each in folders if os.path.basename(each.path) in only]
        except StorageError:
            continue
        except OSError as error:
            failures.add(directory.path, error)
            continue
        for folder in folders:
            if folder.topic_partition is None:
                refused = _refused(folder)
                if not keep_going:
                    raise refused
                outcomes.append(Outcome(directory.path, folder.path, None, refused))
        work.append((directory, _to_load(directory, folders, points, starts)))
    return outcomes + _run(work, open_log, failures, threads, progress)


def _checkpoints(
    directory: ManagedDirectory, rules: BrokerRules
) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
    return directory.read_recovery_points(), directory.read_log_start_offsets(rules)


def _refused(folder: Folder) -> LogDirectoryError:
    return LogDirectoryError(
        folder.path,
        "the folder's name is not of the form topic-partition, or topic-partition.id-delete "
        "(-stray, -future); a broker does not start with it",
    )


def _to_load(
    directory: ManagedDirectory,
    folders: Sequence[Folder],
    points: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
) -> list[FolderToLoad]:
    clean = directory.had_clean_shutdown
    return [
        FolderToLoad(
            directory.path,
            path,
            partition,
            clean,
            points.get(partition, 0),
            starts.get(partition, 0),
        )
        for path, partition in folders
        if partition is not None
    ]


def _run(
    work: Sequence[tuple[ManagedDirectory, list[FolderToLoad]]],
    open_log: OpenLog,
    failures: LogDirFailures,
    threads: int,
    progress: Progress | None,
) -> list[Outcome]:
    """Load all folders; if one thread is enough, it is the caller's."""
    counters = {
        directory.path: _Counter(directory, len(folders), progress) for directory, folders in work
    }

    def load(folder: FolderToLoad) -> Outcome:
        try:
            log = open_log(folder)
        except Exception as error:  # noqa: BLE001 - all are reported, in order, when all are done
            outcome = Outcome(folder.directory, folder.path, None, error)
            if isinstance(error, OSError) and not isinstance(error, LogDirectoryError):
                failures.add(folder.directory, error)
        else:
            outcome = Outcome(folder.directory, folder.path, log, None)
        counters[folder.directory].count(folder.path)
        return outcome

    if threads == 1 and len(work) == 1:
        return [load(folder) for folder in work[0][1]]
    pools = []
    jobs: list[Future[Outcome]] = []
    try:
        for directory, folders in work:
            pool = ThreadPoolExecutor(threads, f"log-recovery-{directory.path}")
            pools.append(pool)
            jobs += [pool.submit(load, folder) for folder in folders]
        return [job.result() for job in jobs]
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)


class _Counter:
    """Counts the folders of a directory that are done, and marks it when all are."""

    def __init__(self, directory: ManagedDirectory, total: int, progress: Progress | None) -> None:
        self._directory = directory
        self._total = total
        self._progress = progress
        self._done = 0
        self._lock = threading.Lock()
        directory.loaded = total == 0

    def count(self, folder: str) -> None:
        """Count a folder that is done."""
        with self._lock:
            self._done += 1
            done = self._done
        if done == self._total:
            self._directory.loaded = True
        if self._progress is not None:
            self._progress(LoadProgress(self._directory.path, folder, done, self._total))
