"""Load the logs of log directories: a pool of threads each, as many as the configuration says.

What one folder turns out to be does not keep the others from being loaded: an error of the
operating system takes its directory offline, and anything else is told at the end, for with that
a broker does not start.

Kafka: LogManager.loadLogs (4.2)
"""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from workbench.errors import LogDirectoryError, StorageError
from workbench.files.names import TopicPartition
from workbench.log.failures import LogDirFailures
from workbench.log.log import Log
from workbench.log_manager.directory import Folder, ManagedDirectory


class LoadProgress(NamedTuple):
    """How far the loading of a log directory is.

    Attributes:
        directory: path of the log directory.
        folder: path of the partition's folder that was dealt with last.
        loaded: folders that are done, with or without success.
        total: folders there are.
    """

    directory: str
    folder: str
    loaded: int
    total: int


class FolderToLoad(NamedTuple):
    """A partition's folder and what the checkpoints of its directory say of it.

    Attributes:
        directory: path of the log directory.
        path: of the folder.
        topic_partition: whose log it should hold.
        had_clean_shutdown: whether the directory had its marker.
        recovery_point: first offset that may not be on the disk; 0 if no checkpoint tells.
        log_start_offset: first offset to be read; 0 if no checkpoint tells.
    """

    directory: str
    path: str
    topic_partition: TopicPartition
    had_clean_shutdown: bool
    recovery_point: int
    log_start_offset: int


class Outcome(NamedTuple):
    """What became of a folder.

    Attributes:
        directory: path of the log directory.
        path: of the folder, as it was called before it was loaded.
        log: None where it could not be loaded.
        error: why not.
    """

    directory: str
    path: str
    log: Log | None
    error: Exception | None

    @property
    def stops_a_broker(self) -> bool:
        """Whether a broker does not start with it, instead of leaving a directory out.

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
    threads: int,
    progress: Progress | None = None,
    keep_going: bool = False,
    only: Collection[str] | None = None,
) -> list[Outcome]:
    """Load every log of several directories and return what became of each folder.

    Args:
        directories: locked; their markers are removed.
        open_log: loads one, from any thread.
        failures: is told of directories that fail.
        threads: for each directory.
        progress: called after each folder, by the thread that dealt with it.
        keep_going: load the others also where a folder's name alone stops a broker.
        only: names of folders; the others are left alone. None loads all.

    Raises:
        LogDirectoryError: a folder's name is none that a broker gives (not with ``keep_going``).

    Kafka: LogManager.loadLogs (4.2)
    """
    outcomes: list[Outcome] = []
    work: list[tuple[ManagedDirectory, list[FolderToLoad]]] = []
    for directory in directories:
        try:
            directory.take_marker()
            points, starts = _checkpoints(directory)
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
    directory: ManagedDirectory,
) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
    return directory.read_recovery_points(), directory.read_log_start_offsets()


def _refused(folder: Folder) -> LogDirectoryError:
    return LogDirectoryError(
        folder.path,
        "the folder's name is not of the form topic-partition, or topic-partition.id-delete "
        "(-stray, -future); a broker does not start beside it",
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
    """Load all folders; a single thread in all is this one."""
    counters = {
        directory.path: _Counter(directory, len(folders), progress) for directory, folders in work
    }

    def load(folder: FolderToLoad) -> Outcome:
        try:
            log = open_log(folder)
        except Exception as error:  # noqa: BLE001 - every kind is told, in order, when all are done
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
        """Note that a folder is done."""
        with self._lock:
            self._done += 1
            done = self._done
        if done == self._total:
            self._directory.loaded = True
        if self._progress is not None:
            self._progress(LoadProgress(self._directory.path, folder, done, self._total))
