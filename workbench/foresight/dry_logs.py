"""Load logs as a starting broker does, on a file system that keeps every change in memory.

The engine then does and reports exactly what it would do on the files; the disk does not change.
"""

from collections.abc import Callable, Iterable
from random import Random
from types import TracebackType
from typing import Self

from workbench.config.settings import Settings
from workbench.errors import LogDirectoryError, StorageError, UnsupportedFormatError, WorkbenchError
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.source import Files
from workbench.files.names import CLEANER_OFFSETS, HIGH_WATERMARKS, TopicPartition
from workbench.inspection.broker_version import MeantBroker
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.directory import ManagedDirectory
from workbench.log_manager.high_watermarks import StartingHighWatermark, start_as_sole_replica
from workbench.log_manager.lifecycle import release
from workbench.log_manager.loading import FolderToLoad
from workbench.log_manager.opening import later_format, load_folder, reads_all
from workbench.runtime.clock import ManualClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.gc_pause import gc_paused
from workbench.runtime.scheduler import ManualScheduler


class DryLogs:
    """Logs that can be read and changed; nothing reaches the disk. A context manager.

    Args:
        directories: the entries of `log.dirs`.
        settings: the configuration of the broker and its topics.
        now: the time of the clock, ms.
        meant: the broker that is assumed, whose rules the settings have.
        fs: what reads the directories.

    Attributes:
        settings: the given configuration.
        meant: the broker that is assumed.
        clock: the clock of all logs, which does not advance.
        logs: the loaded logs in use; every record is taken as replicated.
        high_watermarks: the high watermarks of those logs, and their sources.
        cleaner_offsets: the cleaner's checkpoints, of all directories.
        problems: partition → why its log could not be loaded, or why a broker would not use its
            log directory, as after damage to a checkpoint.

    Raises:
        LogDirectoryError: a directory is named twice.
        OSError: a directory cannot be listed.
    """

    def __init__(
        self,
        directories: Iterable[str],
        settings: Settings,
        now: int,
        meant: MeantBroker,
        fs: Files,
    ) -> None:
        paths = list(directories)
        self.settings = settings
        self.meant = meant
        self.clock = ManualClock(now)
        self._fs = DryFileSystem(fs, within=paths, now=self.clock.now)
        self._context = ManagerContext.of(
            paths,
            settings.broker,
            settings.topic_configs,
            fs=self._fs,
            clock=self.clock,
            scheduler=ManualScheduler(self.clock),
            observer=None,
            rng=Random(0),  # noqa: S311 - nothing is made that needs an id
            rules=settings.rules,
        )
        self._reads_all = reads_all(settings.rules)
        self.logs: dict[TopicPartition, Log] = {}
        self.high_watermarks: dict[TopicPartition, StartingHighWatermark] = {}
        self.problems: dict[TopicPartition, Exception] = {}
        self.cleaner_offsets: dict[TopicPartition, int] = {}
        self._checkpointed: dict[TopicPartition, int] = {}
        self._folders: dict[str, FolderToLoad] = {}  # by path
        for directory in self._context.directories.values():
            try:
                self._list(directory)
            except (StorageError, OSError) as error:
                self._give_up(directory, error)

    def _give_up(self, directory: ManagedDirectory, error: Exception) -> None:
        """Note that a broker would not use a directory."""
        refusal = LogDirectoryError(
            directory.path, f"a broker would not use the log directory: {error}"
        )
        for folder in directory.partition_folders():
            if folder.topic_partition is not None:
                self.problems[folder.topic_partition] = refusal

    def _list(self, directory: ManagedDirectory) -> None:
        clean = directory.take_marker()
        points = directory.read_recovery_points()
        starts = directory.read_log_start_offsets(self._context.rules)
        self.cleaner_offsets.update(directory.checkpoint(CLEANER_OFFSETS).read())
        self._checkpointed.update(directory.checkpoint(HIGH_WATERMARKS).read())
        self._folders |= {
            folder.path: FolderToLoad(
                directory.path,
                folder.path,
                folder.topic_partition,
                clean,
                points.get(folder.topic_partition, 0),
                starts.get(folder.topic_partition, 0),
            )
            for folder in directory.partition_folders()
            if folder.topic_partition is not None
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        release(self._context)
        self._fs.close_files()  # those of replaced segments too

    def is_compacted(self, topic_partition: TopicPartition) -> bool:
        """Whether the cleaner works on a log, as far as is known; see `Settings.is_compacted`."""
        return self.settings.is_compacted(topic_partition, self.cleaner_offsets)

    def load(
        self, wanted: Callable[[FolderToLoad], bool], progress: Callable[[], None] = lambda: None
    ) -> None:
        """Load the logs that are not loaded yet; failures are in `problems`.

        Args:
            wanted: the filter: whether to load a directory.
            progress: a callback before each; what it raises ends the loading.
        """
        left = [each for each in self._folders.values() if not self._is_known(each)]
        with gc_paused():  # what is loaded is kept
            for folder in filter(wanted, left):
                progress()
                self._load(folder)

    def load_directory(self, path: str) -> None:
        """Load the log of one partition directory, as `load` does; others are not looked at."""
        folder = self._folders.get(path)
        if folder is not None and not self._is_known(folder):
            self._load(folder)

    def _is_known(self, folder: FolderToLoad) -> bool:
        return folder.topic_partition in self.logs or folder.topic_partition in self.problems

    def _load(self, folder: FolderToLoad) -> None:
        partition = folder.topic_partition
        # The failure of one log does not stop the loading of the others.
        self._context.failures = LogDirFailures()
        try:
            loaded = load_folder(self._context, folder)
            problem = "" if self._reads_all else later_format(loaded)
        except (WorkbenchError, OSError) as error:
            self.problems[partition] = error
            problem = ""
        if problem:
            self.problems[partition] = UnsupportedFormatError(folder.path, None, problem)
            return
        log = self._context.registry.get(partition)
        if log is None:
            return
        self.high_watermarks[partition] = start_as_sole_replica(
            log, self._checkpointed.get(partition)
        )
        log.take_as_copied()
        if self.is_compacted(partition) and not log.config.compact:
            policy = ("compact", CLEANER_OFFSETS)
            log.update_config(log.config.replaced({"cleanup.policy": policy}))
        if not self.settings.broker.log_cleaner_enable:
            log.context.is_retained = not log.config.compact
        self.logs[partition] = log
