"""One log directory in use: its lock, its clean-shutdown marker, its checkpoints, its folders.

Whoever holds the lock is the only one to write here. The marker is removed before the first log is
loaded, so that a crash while loading is taken for one; the checkpoints are replaced as wholes.

Kafka: LogManager, CleanShutdownFileHandler, OffsetCheckpointFile (4.2)
"""

import os
from typing import Final, NamedTuple

from workbench.file_system.local import DirectoryLock, FileSystem
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.names import (
    CLEAN_SHUTDOWN,
    LOCK,
    LOG_START_OFFSETS,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINTS,
    TopicPartition,
    parse_directory_name,
)
from workbench.log.failures import LogDirFailures
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile
from workbench.log.steps import Observer, Step

METADATA_TOPIC: Final = "__cluster_metadata"
"""The topic of a KRaft controller: another part of the broker loads it."""

REMOTE_INDEX_CACHE: Final = "remote-log-index-cache"
"""The folder in which tiered storage keeps indexes."""

_MARKER_VERSION: Final = 0


class Folder(NamedTuple):
    """A folder in a log directory.

    Attributes:
        path: of the folder.
        topic_partition: whose log it holds; None if its name is none that a broker gives.
    """

    path: str
    topic_partition: TopicPartition | None


class ManagedDirectory:
    """A log directory that a log manager works in. Threads may share it.

    Attributes:
        path: absolute, without a slash at its end.
        had_clean_shutdown: whether the marker was there when it was taken.
        loaded: whether every log in it was loaded.
    """

    def __init__(
        self, path: str, fs: FileSystem, failures: LogDirFailures, observer: Observer | None
    ) -> None:
        self.path = path
        self.had_clean_shutdown = False
        self.loaded = False
        self._fs = fs
        self._observer = observer
        self._lock: DirectoryLock | None = None
        self._checkpoints = {
            name: OffsetCheckpointFile(path, name, fs, failures, observer)
            for name in OFFSET_CHECKPOINTS
        }

    def prepare(self) -> None:
        """Make the folder if it is not there, with those above it.

        Raises:
            OSError: it cannot be made, or is no folder that can be listed.

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
            self._tell("directory made", each)
        self._fs.list(self.path)

    def lock(self) -> None:
        """Take the lock, which is kept until `unlock`.

        Raises:
            LogDirectoryError: a broker or another manager holds it.
            OSError: the file cannot be made.

        Kafka: LogManager.lockLogDirs (4.2)
        """
        self._lock = self._fs.lock(self._at(LOCK))
        self._tell("directory locked", self._at(LOCK))

    def unlock(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def take_marker(self) -> bool:
        """Remove the clean-shutdown marker and return whether it was there.

        Raises:
            OSError: it cannot be removed.
        """
        path = self._at(CLEAN_SHUTDOWN)
        self.had_clean_shutdown = self._fs.exists(path)
        if self.had_clean_shutdown:
            self._fs.remove(path)
            self._fs.sync_directory(self.path)
            self._tell("marker removed", path, "a crash from now on is to be seen as one")
        else:
            self._tell("marker missing", path, "the broker was not shut down cleanly")
        return self.had_clean_shutdown

    def write_marker(self, broker_epoch: int | None) -> None:
        """Say that every log of this directory was closed.

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
        self._tell("marker written", path, "every log was closed", broker_epoch=broker_epoch)

    def read_broker_epoch(self) -> int | None:
        """Return the broker's epoch that the marker tells; None if it tells none or is not there.

        Kafka: CleanShutdownFileHandler.read (4.2)
        """
        try:
            data = self._fs.read(self._at(CLEAN_SHUTDOWN))
        except OSError:
            return None
        return CleanShutdown.decode(data, strict=False).broker_epoch

    def checkpoint(self, name: str) -> OffsetCheckpointFile:
        """Return one of the four checkpoints: `files.names.OFFSET_CHECKPOINTS`."""
        return self._checkpoints[name]

    def read_recovery_points(self) -> dict[TopicPartition, int]:
        """Return the first offset of each partition that may not be on the disk."""
        return self.checkpoint(RECOVERY_POINTS).read()

    def read_log_start_offsets(self) -> dict[TopicPartition, int]:
        """Return the log start offsets that differ from the first segment's base offset."""
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

    def _tell(self, kind: str, where: str, reason: str = "", **numbers: object) -> None:
        if self._observer is not None:
            self._observer(Step(kind, where, reason, numbers))
