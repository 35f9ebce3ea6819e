"""One log directory in use: its lock, clean shutdown file, checkpoints and folders.

Only the holder of the lock writes here. The clean shutdown file is removed before the first log is
loaded, so that a crash while loading is detected; each checkpoint is replaced as a whole.

Kafka: LogManager, CleanShutdownFileHandler, OffsetCheckpointFile (4.2)
"""

import os
from typing import Final, NamedTuple

from workbench.config.broker_rules import BrokerRules
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.file_system.local import DirectoryLock, FileSystem
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.names import (
    CLEAN_SHUTDOWN,
    LOCK,
    LOG_START_OFFSETS,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINTS,
    REMOTE_INDEX_CACHE,
    TopicPartition,
    parse_directory_name,
)
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.steps import Observer, Reporter

_MARKER_VERSION: Final = 0


class Folder(NamedTuple):
    """A folder in a log directory.

    Attributes:
        path: the folder's path.
        topic_partition: partition of its log; None if no broker gives such a name.
    """

    path: str
    topic_partition: TopicPartition | None


class ManagedDirectory(Reporter):
    """A log directory that a log manager works in. Threads may share it.

    Attributes:
        path: absolute path without a trailing slash.
        had_clean_shutdown: whether it had a clean shutdown file when it was locked.
        loaded: whether every log in it was loaded.
    """

    def __init__(
        self, path: str, fs: FileSystem, failures: LogDirFailures, observer: Observer | None
    ) -> None:
        self.path = path
        self.had_clean_shutdown = False
        self.loaded = False
        self._fs = fs
        self.observer = observer
        self._lock: DirectoryLock | None = None
        self._checkpoints = {
            name: OffsetCheckpointFile(path, name, fs, failures, observer)
            for name in OFFSET_CHECKPOINTS
        }

    def prepare(self) -> None:
        """Create the folder if it does not exist, with its parents.

        Raises:
            OSError: it cannot be created, or is not a folder that can be listed.

        Kafka: LogManager.createAndValidateLogDirs (4.2)
        """
        missing = []
        path = self.path
        while not self._fs.exists(path):
            missing.append(path)
            path = os.path.dirname(path)
        for each in reversed(missing):
            self._fs.make_directory(each)
            self._fs.sync_directory(os.path.dirname(each))
            self.tell("directory made", each)
        self._fs.list(self.path)

    def lock(self) -> None:
        """Take the lock, which is kept until `unlock`.

        Raises:
            LogDirectoryError: a broker or another manager holds it.
            OSError: the file cannot be created.

        Kafka: LogManager.lockLogDirs (4.2)
        """
        self._lock = self._fs.lock(self._at(LOCK))
        self.tell("directory locked", self._at(LOCK))

    def unlock(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def take_marker(self) -> bool:
        """Remove the clean shutdown file and return whether it existed.

        Raises:
            OSError: it cannot be removed.
        """
        path = self._at(CLEAN_SHUTDOWN)
        self.had_clean_shutdown = self._fs.exists(path)
        if self.had_clean_shutdown:
            self._fs.remove(path)
            self._fs.sync_directory(self.path)
            self.tell("marker removed", path, "the next start can detect a crash from now on")
        else:
            self.tell("marker missing", path, "the broker was not shut down cleanly")
        return self.had_clean_shutdown

    def write_marker(self, broker_epoch: int | None) -> None:
        """Write the clean shutdown file: every log of this directory was closed.

        Raises:
            OSError: it cannot be written.

        Kafka: CleanShutdownFileHandler.write (4.2)
        """
        path = self._at(CLEAN_SHUTDOWN)
        file = self._fs.create(path)
        try:
            file.truncate(0)
            file.write(CleanShutdown(broker_epoch, _MARKER_VERSION).encode(), 0)
            file.sync()
        finally:
            file.close()
        self._fs.sync_directory(self.path)
        self.tell("marker written", path, "every log was closed", broker_epoch=broker_epoch)

    def checkpoint(self, name: str) -> OffsetCheckpointFile:
        """Return one of the four checkpoints: `files.names.OFFSET_CHECKPOINTS`."""
        return self._checkpoints[name]

    def read_recovery_points(self) -> dict[TopicPartition, int]:
        """Return each partition's recovery point: the first offset that might not be flushed."""
        return self.checkpoint(RECOVERY_POINTS).read()

    def read_log_start_offsets(self, rules: BrokerRules) -> dict[TopicPartition, int]:
        """Return the log start offsets that differ from the first segment's base offset.

        Args:
            rules: those of the version, which may not know the file.
        """
        if not rules.deletes_below_start:
            return {}
        return self.checkpoint(LOG_START_OFFSETS).read()

    def partition_folders(self) -> list[Folder]:
        """Return the folders that should hold logs, sorted by name.

        Raises:
            OSError: the directory cannot be listed.

        Kafka: LogManager.loadLogs (4.2)
        """
        found = []
        for entry in self._fs.list(self.path):
            if not entry.is_directory or entry.name == REMOTE_INDEX_CACHE:
                continue
            name = parse_directory_name(entry.name)
            if name is None:
                found.append(Folder(self._at(entry.name), None))
            elif name.topic != METADATA_TOPIC:
                partition = TopicPartition(name.topic, name.partition)
                found.append(Folder(self._at(entry.name), partition))
        return found

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)
