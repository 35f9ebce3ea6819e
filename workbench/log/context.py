"""What every part of one partition's log needs: where it is, how it is set, what it writes through.

The log owns the one `LogContext`; its parts are given it and read what is in it at that moment, for
the folder changes when the log is renamed or moved, and the configuration when it is altered.

Kafka: the fields that LocalLog and LogLoader hand on (4.2)
"""

import os
from dataclasses import dataclass, field
from random import Random
from typing import Any

from workbench.file_system.local import FileSystem
from workbench.files.names import DirectoryKind, TopicPartition, parse_directory_name
from workbench.log.clock import Clock
from workbench.log.config import LogConfig
from workbench.log.failures import FailureGuard, LogDirFailures
from workbench.log.scheduler import Scheduler
from workbench.log.steps import Observer, Step


@dataclass(slots=True)
class LogContext:
    """The surroundings of one log.

    Attributes:
        directory: path of the partition's folder; changes when the log is renamed.
        topic_partition: whose log it is.
        config: of the topic; replaced as a whole when it changes.
        fs: what is written through.
        clock: the time, ms since the epoch.
        scheduler: runs what is put off: deletions, flushes.
        failures: which log directories are offline.
        observer: is told each step; None when nobody watches.
        rng: chooses the jitter of segments.
        log_directory: path of the log directory that the folder lies in; what goes offline.
        names_changed: whether names in the folder may not be on the disk as they are.
    """

    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    fs: FileSystem
    clock: Clock
    scheduler: Scheduler
    failures: LogDirFailures
    observer: Observer | None
    rng: Random
    log_directory: str = field(init=False)
    names_changed: bool = True

    def __post_init__(self) -> None:
        self.log_directory = os.path.dirname(self.directory)

    def move_to(self, directory: str) -> None:
        """Follow the partition's folder, which was renamed or moved."""
        self.directory = directory
        self.log_directory = os.path.dirname(directory)

    @property
    def kind(self) -> DirectoryKind | None:
        """What the folder's name says that it is; None for a name that no broker gives."""
        name = parse_directory_name(os.path.basename(self.directory))
        return None if name is None else name.kind

    def path(self, name: str) -> str:
        """Return the path of a file in the partition's folder."""
        return os.path.join(self.directory, name)

    def sync_names(self) -> None:
        """Return when the names in the folder are on the disk; a folder that is gone has none.

        Kafka: Utils.flushDirIfExists (4.2)
        """
        if self.names_changed:
            self.names_changed = False  # before: a thread may change some meanwhile
            try:
                self.fs.sync_directory(self.directory)
            except FileNotFoundError:  # renamed meanwhile, to be deleted
                return
            except OSError:
                self.names_changed = True
                raise

    def tell(self, kind: str, reason: str = "", where: str = "", **numbers: Any) -> None:
        """Tell the observer of a step; ``where`` is the partition unless a file is named.

        Call it only where nothing costly is made for it: look at `observer` first otherwise.
        """
        if self.observer is not None:
            self.observer(Step(kind, where or str(self.topic_partition), reason, numbers))

    def guard(self, doing: str) -> FailureGuard:
        """Take the log directory offline if the operating system refuses something.

        Args:
            doing: what is tried, for the message; the partition is added: "append to".

        Raises:
            StorageError: the directory has failed before, or fails now.

        Kafka: LocalLog.maybeHandleIOException (4.2)
        """
        return self.failures.guard(self.log_directory, doing, self.topic_partition)
