"""The offset up to which each log is clean: the `cleaner-offset-checkpoint` of each log directory.

A checkpoint is read each time it is needed, and written when it changes. A failed directory's one
is no longer used, and does not affect the others.

Kafka: LogCleanerManager's checkpoints (4.2)
"""

import threading
from collections.abc import Mapping

from workbench.errors import StorageError
from workbench.files.names import TopicPartition
from workbench.log.log import Log
from workbench.log.offset_checkpoint_file import OffsetCheckpointFile


class CleanerCheckpoints:
    """The first dirty offsets of all logs. Threads may share it.

    Args:
        logs: the served logs by partition; the mapping changes as logs come and go.
        files: path of a log directory → its checkpoint.
    """

    def __init__(
        self,
        logs: Mapping[TopicPartition, Log],
        files: Mapping[str, OffsetCheckpointFile],
    ) -> None:
        self._logs = logs
        self._files = dict(files)
        self._lock = threading.RLock()

    def all(self) -> dict[TopicPartition, int]:
        """Return the first dirty offset of each log that has one, read from its own directory.

        Kafka: LogCleanerManager.allCleanerCheckpoints (4.2)
        """
        with self._lock:
            return {
                partition: offset
                for directory in [
                    *self._files
                ]  # a directory that fails while it is read is dropped
                for partition, offset in self._read(directory).items()
                if (log := self._logs.get(partition)) and log.parent_directory == directory
            }

    def update(
        self,
        directory: str,
        add: Mapping[TopicPartition, int] | None = None,
        *,
        remove: TopicPartition | None = None,
    ) -> None:
        """Rewrite a directory's checkpoint, without partitions that no longer exist.

        Args:
            directory: path of the log directory; a failed one is left alone.
            add: partition → first dirty offset.
            remove: a partition to leave out.

        Kafka: LogCleanerManager.updateCheckpoints (4.2)
        """
        with self._lock:
            file = self._files.get(directory)
            if file is None:
                return
            try:
                kept = {tp: at for tp, at in file.read().items() if tp in self._logs}
                if remove is not None:
                    kept.pop(remove, None)
                file.write({**kept, **(add or {})})
            except StorageError:
                return  # recorded where it happened: the directory is offline

    def move(self, topic_partition: TopicPartition, source: str, target: str) -> None:
        """Move a partition's offset to the log directory that it is in now.

        Kafka: LogCleanerManager.alterCheckpointDir (4.2)
        """
        with self._lock:
            offset = self._read(source).get(topic_partition)
            if offset is not None:
                self.update(source, remove=topic_partition)
                self.update(target, {topic_partition: offset})

    def truncate(self, directory: str, topic_partition: TopicPartition, offset: int) -> None:
        """Lower the offset of a compacted partition to ``offset`` if it is above.

        Raises:
            StorageError: the directory failed.

        Kafka: LogCleanerManager.maybeTruncateCheckpoint (4.2)
        """
        with self._lock:
            file, log = self._files.get(directory), self._logs.get(topic_partition)
            if file is None or log is None or not log.config.compact:
                return
            offsets = file.read()
            if offsets.get(topic_partition, 0) > offset:
                file.write({**offsets, topic_partition: offset})

    def leave_directory(self, directory: str) -> None:
        """Stop reading and writing in a log directory that failed.

        Kafka: LogCleanerManager.handleLogDirFailure (4.2)
        """
        with self._lock:
            self._files.pop(directory, None)

    def _read(self, directory: str) -> dict[TopicPartition, int]:
        file = self._files.get(directory)
        if file is None:
            return {}
        try:
            return file.read()
        except StorageError:
            return {}  # recorded where it happened: the directory is offline
