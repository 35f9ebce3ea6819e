"""Append batches to one `.log` file, and find them by offset, timestamp or position.

Kafka: FileRecords, FileLogInputStream (4.2)
"""

import os
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import numpy as np

from workbench.errors import CorruptFileError, CorruptRecordError
from workbench.file_system.local import Data, File, FileSystem
from workbench.layout import problems
from workbench.layout.attributes import UNKNOWN
from workbench.layout.integers import INT32_MAX, INT64_MIN
from workbench.record.limits import LARGEST_CONTENT, MOST_CONTENT
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_search import (
    FIRST_WINDOW,
    LARGEST_WINDOW,
    SearchedHeader,
    check_size,
    search_batch,
    search_record,
)
from workbench.record.reading.batch_table import BatchTable, scan_batches
from workbench.record.reading.batch_times import BatchTimes, batch_times

MAX_SIZE: Final = INT32_MAX  # bytes per segment
_MORE: Final = 1024  # bytes: batches differ in size, and the header after them is read, too


class LogOffsetPosition(NamedTuple):
    """A batch that a search found.

    Attributes:
        offset: its base offset.
        position: where it starts in the file, in bytes.
        size: in bytes.
    """

    offset: int
    position: int
    size: int


class TimestampAndOffset(NamedTuple):
    """A record or batch that a search found.

    Attributes:
        timestamp: ms; -1 if none was found.
        offset: the record's offset, or the batch's last; -1 if none was found.
        leader_epoch: its batch's leader epoch; None without one.
    """

    timestamp: int
    offset: int
    leader_epoch: int | None


class FileRecords:
    """The batches of a `.log` file.

    Only the thread that holds the log's lock may change it. Any number may read meanwhile.

    Args:
        fs: the file's file system.
        file: the file.
        size: bytes in use, from the start; more may be preallocated after them.

    Attributes:
        size: bytes in use.
        skips_bad_tail: whether a size that cannot be right ends the batches silently, as brokers
            before 0.10.2 take it.
        searches_last_offsets: whether a search takes the first batch whose last offset reaches the
            wanted one, as brokers before 4.1 do.

    Kafka: FileRecords (4.2)
    """

    def __init__(self, fs: FileSystem, file: File, size: int) -> None:
        self.fs = fs
        self.file = file
        self.size = size
        self._file_size = size  # bytes, including preallocated ones
        self._modified_ms: int | None = None  # None while the file exists
        self._first_window = FIRST_WINDOW  # bytes that a search reads at first
        self.skips_bad_tail = False
        self.searches_last_offsets = False

    @classmethod
    def open(
        cls, fs: FileSystem, path: str, *, exists: bool = True, preallocate_size: int = 0
    ) -> "FileRecords":
        """Return the batches of a file, which is created if it does not exist.

        Args:
            fs: the file's file system.
            path: the file.
            exists: False for a new segment.
            preallocate_size: bytes to allocate for a new segment; 0: none.

        Raises:
            CorruptFileError: the file is larger than the largest segment.

        Kafka: FileRecords.open (4.2)
        """
        if not exists and preallocate_size:
            file = fs.create(path)
            file.truncate(preallocate_size)
            records = cls(fs, file, 0)
            records._file_size = preallocate_size
            return records
        try:
            size = fs.stat(path).size
            file = fs.open(path)
        except FileNotFoundError:
            file, size = fs.create(path), 0
        if size > MAX_SIZE:
            problem = f"the file is too large (found {size} bytes, expected {MAX_SIZE} or fewer)"
            raise CorruptFileError(path, None, problem)
        return cls(fs, file, size)

    @property
    def path(self) -> str:
        """The file's path; follows `rename_to` and `update_directory`."""
        return self.file.path

    @property
    def modified_ms(self) -> int:
        """When the file was last written, ms since the epoch, even after its removal."""
        with self.file.naming:
            if self._modified_ms is None:
                return self.fs.stat(self.path).modified_ms
            return self._modified_ms

    def hold_name(self, stack: ExitStack) -> None:
        """Keep all threads from opening the file by its name until ``stack`` is closed."""
        stack.enter_context(self.file.naming)

    # --- changing ----------------------------------------------------------------------------

    def append(self, records: MemoryRecords | Data) -> int:
        """Write batches after the last ones; return their size in bytes.

        Raises:
            ValueError: the file would be larger than the largest segment.
            OSError: the write failed; bytes of a partial write are not in use.

        Kafka: FileRecords.append (4.2)
        """
        data = records.buffer if isinstance(records, MemoryRecords) else records
        added, size = len(data), self.size
        if added > MAX_SIZE - size:
            msg = (
                f"{self.path}: {added} bytes are too many for a segment that has {size} "
                f"(expected {MAX_SIZE} or fewer in all)"
            )
            raise ValueError(msg)
        self.file.write(data, size)
        size += added
        self.size = size
        self._file_size = max(self._file_size, size)
        return added

    def truncate_to(self, size: int) -> int:
        """Truncate the file to ``size`` bytes; return how many bytes of batches were removed.

        Raises:
            ValueError: there are fewer bytes.

        Kafka: FileRecords.truncateTo (4.2)
        """
        before = self.size
        if not 0 <= size <= before:
            raise ValueError(f"{self.path}: {before} bytes cannot be truncated to {size}")
        if size < self._file_size:  # otherwise the time of the last change must not change
            self.file.truncate(size)
            self.size = self._file_size = size
        return before - size

    def trim(self) -> None:
        """Remove the preallocated bytes after the batches.

        Kafka: FileRecords.trim (4.2)
        """
        self.truncate_to(self.size)

    def flush(self) -> None:
        """Write the batches to the disk before returning.

        Kafka: FileRecords.flush (4.2)
        """
        self.file.sync()

    def close(self) -> None:
        """Trim, flush and close the file; it opens again when it is used again.

        Kafka: FileRecords.close (4.2)
        """
        self.trim()
        self.flush()
        self.file.close()

    def close_handler(self) -> None:
        """Close the file as it is.

        Kafka: FileRecords.closeHandlers (4.2)
        """
        self.file.close()

    def rename_to(self, path: str) -> None:
        """Rename the file.

        Kafka: FileRecords.renameTo (4.2)
        """
        with self.file.naming:
            try:
                self.fs.rename(self.path, path)
            finally:
                self.file.path = path

    def update_directory(self, directory: str) -> None:
        """Update the path after the folder was renamed.

        Kafka: FileRecords.updateParentDir (4.2)
        """
        self.file.path = os.path.join(directory, os.path.basename(self.path))

    def delete_if_exists(self) -> bool:
        """Remove the file; return whether it existed.

        Readers of the file continue undisturbed. (Kafka closes it, and a late response fails.)

        Kafka: FileRecords.deleteIfExists (4.2)
        """
        with self.file.naming:
            self.file.prepare_removal()
            try:
                self._modified_ms = self.fs.stat(self.path).modified_ms
                self.fs.remove(self.path)
            except FileNotFoundError:
                return False
            return True

    # --- reading -----------------------------------------------------------------------------

    def read(self, position: int, size: int) -> MemoryRecords:
        """Return a copy of ``size`` bytes from ``position``, fewer at the end of the batches.

        Raises:
            ValueError: ``position`` is after the last batch, or one of the two is negative.

        Kafka: FileRecords.slice (4.2)
        """
        available = self.size - position
        if position < 0 or size < 0 or available < 0:
            msg = f"{self.path}: cannot read {size} bytes from byte {position} of {self.size}"
            raise ValueError(msg)
        data = np.empty(min(size, available), np.uint8)
        return MemoryRecords(data[: self.file.read_into(data, position)])

    def batches(self, start: int = 0, stop: int | None = None) -> BatchTable:
        """Return the batches in [start, stop) by their headers.

        Bytes after the last whole batch end the table silently.

        Args:
            start: byte position of a batch.
            stop: batches that end after it are left out; default: the end.

        Raises:
            CorruptRecordError: the size of a batch cannot be right.

        Kafka: FileRecords.batchesFrom, FileLogInputStream.nextBatch (4.2)
        """
        end = self.size if stop is None else min(stop, self.size)
        table = scan_batches(self.file, start, end)
        if table.stop.code == problems.BAD_SIZE and not self.skips_bad_tail:
            check_size(self.file, table.stop.position, end)
        return table

    def first_batch(self, position: int = 0) -> Any | None:
        """Return the row (of BATCH_ROW) of the batch at a position; None if none is whole there.

        Raises:
            CorruptRecordError: its size cannot be right.

        Kafka: FileRecords.firstBatch (4.2)
        """
        _, batch = search_batch(self.file, position, self.size, INT64_MIN)
        return None if batch is None else self.batches(position, position + batch.size).rows[0]

    def last_batch(self, start: int = 0) -> Any | None:
        """Return the row (of BATCH_ROW) of the last whole batch at or after ``start``, or None.

        Raises:
            CorruptRecordError: the size of a batch cannot be right.

        Kafka: AbstractRecords.lastBatch (4.2)
        """
        rows = self.batches(start).rows
        return rows[-1] if len(rows) else None

    def search_for_offset(self, target: int, start: int = 0) -> LogOffsetPosition | None:
        """Return the first batch that reaches offset ``target``; None if none does.

        Reads until a batch begins at or after ``target``, or to the end.

        Args:
            target: an offset.
            start: byte position of a batch at or before the wanted one.

        Raises:
            CorruptRecordError: the size of a batch on the way cannot be right.

        Kafka: FileRecords.searchForOffsetFromPosition (4.2)
        """
        if self.searches_last_offsets:
            return self._search_last_offsets(target, start)
        before, position = None, start
        while True:
            passed, batch = search_batch(self.file, position, self.size, target, self._first_window)
            before = passed or before
            if batch is None:
                break
            base = self._base_offset(batch)
            if base > target and before is not None and before.last_offset >= target:
                break
            if base >= target:
                self._note_size(batch)
                return LogOffsetPosition(base, batch.position, batch.size)
            before, position = batch, batch.position + batch.size
        if before is None or before.last_offset < target:
            return None
        self._note_size(before)
        return LogOffsetPosition(self._base_offset(before), before.position, before.size)

    def _search_last_offsets(self, target: int, start: int) -> LogOffsetPosition | None:
        """Kafka: FileRecords.searchForOffsetWithSize (4.0)."""
        position, window = start, self._first_window
        while position < self.size:
            table = scan_batches(self.file, position, min(position + window, self.size))
            rows = table.rows
            reaching = np.flatnonzero(rows["last_offset"] >= target)
            if len(reaching):
                row = rows[int(reaching[0])]
                base, last = int(row["base_offset"]), int(row["last_offset"])
                return LogOffsetPosition(
                    base if base >= 0 else last, int(row["position"]), int(row["size"])
                )
            # a damaged batch ends the search only if no batch before it is the wanted one
            if table.stop.code == problems.BAD_SIZE and not self.skips_bad_tail:
                check_size(self.file, table.stop.position, self.size)
            if len(rows):
                position = int(rows[-1]["position"] + rows[-1]["size"])
            elif position + window >= self.size:
                return None
            window *= 2
        return None

    def search_for_timestamp(
        self, target: int, start: int, start_offset: int
    ) -> TimestampAndOffset | None:
        """Return the first record that is not older than ``target``; None if none is.

        Args:
            target: ms.
            start: byte position of a batch to start at.
            start_offset: records before it are ignored.

        Raises:
            CorruptRecordError: a batch on the way cannot be read.

        Kafka: FileRecords.searchForTimestamp (4.2)
        """
        position = start
        while True:
            found = search_record(
                self.file, position, self.size, target, start_offset, self._first_window
            )
            if found is None:
                return None
            batch, timestamp, offset = found
            self._note_size(batch)
            if offset is None:
                times = self._times(batch)
                is_wanted = (times.timestamps >= target) & (times.offsets >= start_offset)
                position = batch.position + batch.size
                if not is_wanted.any():
                    continue
                slot = int(is_wanted.argmax())
                timestamp, offset = int(times.timestamps[slot]), int(times.offsets[slot])
            return TimestampAndOffset(timestamp, offset, _epoch(batch.partition_leader_epoch))

    def _note_size(self, batch: SearchedHeader) -> None:
        """Let the next search read so much at first that it finds a batch of this size at once."""
        more = FIRST_WINDOW if batch.size < FIRST_WINDOW else _MORE
        self._first_window = min(2 * batch.size + more, LARGEST_WINDOW)

    def largest_timestamp_after(self, start: int = 0) -> TimestampAndOffset:
        """Return the largest timestamp of batches at or after ``start``, or (-1, -1, None).

        The offset is the last of the first batch that has it.

        Args:
            start: byte position of a batch.

        Raises:
            CorruptRecordError: the size of a batch cannot be right.

        Kafka: FileRecords.largestTimestampAfter (4.2)
        """
        rows = self.batches(start).rows
        if not len(rows) or int(rows["max_timestamp"].max()) < 0:
            return TimestampAndOffset(-1, -1, None)
        row = rows[int(rows["max_timestamp"].argmax())]
        return TimestampAndOffset(
            int(row["max_timestamp"]),
            int(row["last_offset"]),
            _epoch(row["partition_leader_epoch"]),
        )

    @property
    def largest_content(self) -> int:
        """The size in bytes to which one batch may decompress; see `record.limits`."""
        return LARGEST_CONTENT if self.fs.is_dry else MOST_CONTENT

    def _times(self, batch: SearchedHeader) -> BatchTimes:
        """Return offsets and timestamps of the records of a batch.

        Raises:
            CorruptRecordError: it cannot be read.
        """
        data = np.empty(batch.size, np.uint8)
        data = data[: self.file.read_into(data, batch.position)]
        try:
            return batch_times(data, self.largest_content)
        except CorruptRecordError as error:
            at = batch.position + (error.position or 0)
            raise CorruptRecordError(self.path, at, error.problem) from error

    def _base_offset(self, batch: SearchedHeader) -> int:
        """Return the base offset of a batch; a wrapper of magic 0 or 1 is decompressed for it.

        Kafka: FileChannelRecordBatch.baseOffset (4.2)
        """
        if batch.base_offset != UNKNOWN or batch.magic == 2:
            return batch.base_offset
        return int(self._times(batch).offsets[0])


def _epoch(number: Any) -> int | None:
    epoch = int(number)
    return None if epoch == -1 else epoch
