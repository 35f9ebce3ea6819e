"""One of the offset checkpoints of a log directory, on the disk.

It is replaced as a whole. An error in reading or writing it takes its log directory offline.

Kafka: OffsetCheckpointFile, CheckpointFileWithFailureHandler (4.2)
"""

import os
import threading
from collections.abc import Mapping

from workbench.errors import CorruptFileError, UnsupportedFormatError
from workbench.file_system.local import FileSystem
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.steps import Observer, Step


class OffsetCheckpointFile:
    """Reads and writes one checkpoint. Threads may share it.

    Args:
        directory: path of the log directory.
        name: the file's name, one of `files.names.OFFSET_CHECKPOINTS`.
        fs: the file system that is written through.
        failures: which log directories are offline.
        observer: receives each step; None for no observer.
    """

    def __init__(
        self,
        directory: str,
        name: str,
        fs: FileSystem,
        failures: LogDirFailures,
        observer: Observer | None,
    ) -> None:
        self._directory = directory
        self._name = name
        self._path = os.path.join(directory, name)
        self._fs = fs
        self._failures = failures
        self._observer = observer
        self._writing = threading.Lock()  # two writers would rename each other's file

    def read(self) -> dict[TopicPartition, int]:
        """Return the offsets; a missing file is created empty.

        Raises:
            StorageError: it cannot be read or parsed: the directory is offline.

        Kafka: OffsetCheckpointFile.read, CheckpointFileWithFailureHandler.read (4.2)
        """
        with self._failures.guard(self._directory, f"read {self._name}"):
            if not self._fs.exists(self._path):
                self._fs.create(self._path).close()
                return {}
            try:
                return OffsetCheckpoint.decode(
                    self._fs.read(self._path, OffsetCheckpoint.size_limit + 1), self._path
                ).offsets
            except (CorruptFileError, UnsupportedFormatError) as error:
                raise OSError(str(error)) from error

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the offsets.

        Raises:
            StorageError: they cannot be written: the directory is offline.

        Kafka: OffsetCheckpointFile.write (4.2)
        """
        with self._writing, self._failures.guard(self._directory, f"write {self._name}"):
            self._fs.write_atomically(self._path, OffsetCheckpoint(dict(offsets)).encode())
        if self._observer is not None:
            numbers = {"partitions": len(offsets)}
            self._observer(Step("checkpoint written", self._path, "", numbers))
