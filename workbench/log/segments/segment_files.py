"""The files of one segment, and what is done with all of them at once.

Kafka: LogSegment.open, flush, changeFileSuffixes, deleteIfExists (4.2)
"""

from contextlib import ExitStack
from typing import Self

from workbench.files.file_records import FileRecords
from workbench.files.indexes.offset_index import WritableOffsetIndex
from workbench.files.indexes.time_index import WritableTimeIndex
from workbench.files.indexes.transaction_index import WritableTransactionIndex
from workbench.files.names import DELETED, segment_paths
from workbench.log.context import LogContext


class SegmentFiles:
    """A `.log` file with its offset, time and transaction index.

    Attributes:
        context: the log's context.
        base_offset: the lowest possible offset of a record.
        log: the batches.
        offset_index, time_index, transaction_index: read from the disk at the first use.
    """

    def __init__(
        self,
        context: LogContext,
        base_offset: int,
        log: FileRecords,
        indexes: tuple[WritableOffsetIndex, WritableTimeIndex, WritableTransactionIndex],
    ) -> None:
        self.context = context
        self.base_offset = base_offset
        self.log = log
        self.offset_index, self.time_index, self.transaction_index = indexes

    @classmethod
    def open(
        cls,
        context: LogContext,
        base_offset: int,
        *,
        file_exists: bool = False,
        suffix: str = "",
        is_new: bool = False,
    ) -> Self:
        """Return the segment of these files; the `.log` is created if missing.

        Args:
            context: the log's context.
            base_offset: the segment's base offset.
            file_exists: whether the `.log` must exist.
            suffix: that of the files, after their kind.
            is_new: whether to remove files of these names first.

        Raises:
            OSError: the file cannot be created or found.

        Kafka: LogSegment.open (4.2)
        """
        fs, config = context.fs, context.config
        paths = segment_paths(context.directory, base_offset, suffix)
        for path in paths if is_new else ():
            if fs.exists(path):
                fs.remove(path)
        log_path, index_path, time_path, transactions_path = paths
        preallocate = 0 if file_exists else config.init_file_size
        log = FileRecords.open(fs, log_path, exists=file_exists, preallocate_size=preallocate)
        log.skips_bad_tail = context.rules.skips_bad_tail
        log.searches_last_offsets = context.rules.searches_last_offsets
        size = config.segment_index_bytes
        indexes = (
            WritableOffsetIndex(fs, index_path, base_offset, size),
            WritableTimeIndex(fs, time_path, base_offset, size),
            WritableTransactionIndex(fs, transactions_path, base_offset),
        )
        return cls(context, base_offset, log, indexes)

    def flush(self) -> None:
        """Return when all written data is on the disk; the duration is counted.

        Kafka: LogSegment.flush, LogFlushStats.LOG_FLUSH_TIMER (4.2)
        """
        with self.context.metrics.flushes.time():
            for part in self._parts():
                part.flush()

    def resize_indexes(self, size: int | None = None) -> None:
        """Preallocate the offset and time index: ``size`` bytes, or their limit.

        Kafka: LogSegment.resizeIndexes (4.2)
        """
        self.offset_index.resize(size)
        self.time_index.resize(size)

    @property
    def last_modified(self) -> int:
        """Time when the `.log` was last written, ms since the epoch."""
        return self.log.modified_ms

    def change_suffix(self, old: str, new: str) -> None:
        """Rename the files: `.log` + ``old`` becomes `.log` + ``new``, likewise the indexes.

        Index files that were never created are not created.

        Kafka: LogSegment.changeFileSuffixes (4.2)
        """
        for part in self._parts():
            part.rename_to(part.path.removesuffix(old) + new)

    @property
    def is_marked_deleted(self) -> bool:
        """Whether the files have the suffix `.deleted`."""
        return self.log.path.endswith(DELETED)

    def hold_names(self, stack: ExitStack) -> None:
        """Block opening the files by name until ``stack`` is closed."""
        for part in self._parts():
            part.hold_name(stack)

    def update_directory(self, directory: str) -> None:
        """Follow the directory, which was renamed; the names must be held."""
        for part in self._parts():
            part.update_directory(directory)

    def set_last_modified(self, modified_ms: int) -> None:
        """Set the time of the `.log` and of the offset and time index; ms since the epoch."""
        for part in (self.log, self.offset_index, self.time_index):
            self.log.fs.set_modified(part.path, modified_ms)

    def write_out(self) -> None:
        """Write the index entries that are only in memory."""
        self.offset_index.write_out()
        self.time_index.write_out()

    def close_handlers(self) -> None:
        """Close the files and write nothing more, after a failure."""
        for part in self._parts():
            part.close_handler()

    def delete_if_exists(self) -> None:
        """Remove the files that exist.

        Kafka: LogSegment.deleteIfExists (4.2)
        """
        for part in self._parts():
            part.delete_if_exists()

    def _parts(
        self,
    ) -> tuple[FileRecords, WritableOffsetIndex, WritableTimeIndex, WritableTransactionIndex]:
        return self.log, self.offset_index, self.time_index, self.transaction_index
