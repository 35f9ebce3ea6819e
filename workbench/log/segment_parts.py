"""The files of one segment, renamed, flushed, closed and deleted together.

Kafka: LogSegment (4.2)
"""

from contextlib import ExitStack

from workbench.files.file_records import FileRecords
from workbench.files.names import DELETED
from workbench.files.writable_index import WritableOffsetIndex, WritableTimeIndex
from workbench.files.writable_transaction_index import WritableTransactionIndex


class SegmentParts:
    """A `.log` file and its indexes.

    Attributes:
        base_offset: that they are named after.
        log: the batches.
        offset_index, time_index, transaction_index: read from the disk when they are first used.
    """

    def __init__(
        self,
        base_offset: int,
        log: FileRecords,
        indexes: tuple[WritableOffsetIndex, WritableTimeIndex, WritableTransactionIndex],
    ) -> None:
        self.base_offset = base_offset
        self.log = log
        self.offset_index, self.time_index, self.transaction_index = indexes

    @property
    def size(self) -> int:
        """Bytes of the batches."""
        return self.log.size

    @property
    def last_modified(self) -> int:
        """When the `.log` was last written, ms since the epoch."""
        return self.log.modified_ms

    def change_suffix(self, old: str, new: str) -> None:
        """Rename the files: `.log` + ``old`` becomes `.log` + ``new``, and so the indexes.

        Index files that were never made stay so.

        Kafka: LogSegment.changeFileSuffixes (4.2)
        """
        for part in self._parts():
            part.rename_to(part.path.removesuffix(old) + new)

    @property
    def is_marked_deleted(self) -> bool:
        """Whether the files have the suffix `.deleted`."""
        return self.log.path.endswith(DELETED)

    def hold_names(self, stack: ExitStack) -> None:
        """Let nobody look for the files by their names before ``stack`` is closed."""
        for part in self._parts():
            part.hold_name(stack)

    def update_directory(self, directory: str) -> None:
        """Follow the folder, which was renamed; the names must be held."""
        for part in self._parts():
            part.update_directory(directory)

    def set_last_modified(self, modified_ms: int) -> None:
        """Set the time of the `.log` and of the offset and time index; ms since the epoch."""
        for part in (self.log, self.offset_index, self.time_index):
            self.log.fs.set_modified(part.path, modified_ms)

    def write_out(self) -> None:
        """Write the index entries that are in memory only."""
        self.offset_index.write_out()
        self.time_index.write_out()

    def flush(self) -> None:
        """Return when all that was written is on the disk.

        Kafka: LogSegment.flush (4.2)
        """
        for part in self._parts():
            part.flush()

    def close(self) -> None:
        """Cut the indexes and the `.log` to their contents and close them."""
        for part in self._parts():
            part.close()

    def close_handlers(self) -> None:
        """Close the files and write nothing more, after a failure."""
        for part in self._parts():
            part.close_handler()

    def delete_if_exists(self) -> None:
        """Remove the files that are there.

        Kafka: LogSegment.deleteIfExists (4.2)
        """
        for part in self._parts():
            part.delete_if_exists()

    def _parts(
        self,
    ) -> tuple[FileRecords, WritableOffsetIndex, WritableTimeIndex, WritableTransactionIndex]:
        return self.log, self.offset_index, self.time_index, self.transaction_index
