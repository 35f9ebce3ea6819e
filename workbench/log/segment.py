"""One segment of a log: a `.log` file and its sparse indexes.

Kafka: LogSegment (4.2)
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from workbench.errors import OffsetOverflowError
from workbench.files.file_records import FileRecords
from workbench.files.names import FileKind, file_name
from workbench.files.time_index import TimestampOffset
from workbench.files.transaction_index import AbortedTransaction
from workbench.files.writable_index import WritableOffsetIndex, WritableTimeIndex
from workbench.files.writable_transaction_index import WritableTransactionIndex
from workbench.log.context import LogContext
from workbench.log.due_entries import DueEntries, due_entries
from workbench.log.producer_entry import CompletedTransaction
from workbench.log.segment_reading import SegmentReading, all_fit
from workbench.record.memory_records import MemoryRecords
from workbench.record.validation import LogBatch

_COPY_SIZE: Final = 1 << 20  # bytes that `append_from_file` moves at a time


class LogSegment(SegmentReading):
    """A `.log` file with its offset, time and transaction index.

    Appending, truncating and recovering need the log's lock; reading does not.

    Attributes:
        base_offset: no record has a lower one.
        log: the batches.
        offset_index, time_index, transaction_index: read from the disk when they are first used.
        context: of the log.
        roll_jitter_ms: rolls that much earlier than `segment.ms`.
        index_interval_bytes: at least so many lie between two batches with index entries.

    Kafka: LogSegment (4.2)
    """

    def __init__(
        self,
        context: LogContext,
        base_offset: int,
        log: FileRecords,
        indexes: tuple[WritableOffsetIndex, WritableTimeIndex, WritableTransactionIndex],
    ) -> None:
        super().__init__(context, base_offset, log, indexes)
        self.roll_jitter_ms = context.config.random_segment_jitter(context.rng)
        self.index_interval_bytes = context.config.index_interval_bytes
        self._created = context.clock.now()
        self._bytes_since_entry = 0
        self._rolling_timestamp: int | None = None

    @classmethod
    def open(
        cls,
        context: LogContext,
        base_offset: int,
        *,
        file_exists: bool = False,
        suffix: str = "",
    ) -> "LogSegment":
        """Return the segment of these files; the `.log` is made unless it is there.

        Raises:
            OSError: the file cannot be made or found.

        Kafka: LogSegment.open (4.2)
        """
        fs, config = context.fs, context.config

        def path(kind: FileKind) -> str:
            return context.path(file_name(kind, base_offset, suffix))

        preallocate = 0 if file_exists else config.init_file_size
        log = FileRecords.open(fs, path("log"), exists=file_exists, preallocate_size=preallocate)
        size = config.segment_index_bytes
        indexes = (
            WritableOffsetIndex(fs, path("index"), base_offset, size),
            WritableTimeIndex(fs, path("timeindex"), base_offset, size),
            WritableTransactionIndex(fs, path("txnindex"), base_offset),
        )
        return cls(context, base_offset, log, indexes)

    def __repr__(self) -> str:
        return f"LogSegment(base_offset={self.base_offset}, size={self.size})"

    # --- appending ---------------------------------------------------------------------------

    def append(
        self,
        largest_offset: int,
        records: MemoryRecords,
        batches: Sequence[LogBatch] | None = None,
    ) -> None:
        """Append batches that have their offsets, and index entries where they are due.

        An entry is due for a batch when more than `index.interval.bytes` were appended since the
        last one.

        Args:
            largest_offset: of the records.
            records: whole batches.
            batches: what is known of them already; walked over when None.

        Raises:
            OffsetOverflowError: ``largest_offset`` is too far from the base offset.
            OSError: writing failed; the file may hold a part.

        Kafka: LogSegment.append (4.2)
        """
        if not len(records.buffer):
            return
        log = self.log
        position = log.size
        if not self.offset_index.can_append_offset(largest_offset):
            raise OffsetOverflowError(largest_offset, self.base_offset, log.path)
        log.append(records)
        if batches is None:
            self._add_entries(records, position)
        else:
            self._add_known_entries(batches, position)

    def _add_known_entries(self, batches: Sequence[LogBatch], position: int) -> None:
        """Append the index entries of a few batches, of which nothing has to be read."""
        largest = self.max_timestamp_so_far
        since, interval = self._bytes_since_entry, self.index_interval_bytes
        observer = self.context.observer
        due: list[tuple[int, int, TimestampOffset]] = []
        for batch in batches:
            size, last_offset, max_timestamp = batch.size, batch.last_offset, batch.max_timestamp
            if max_timestamp > largest.timestamp:
                largest = TimestampOffset(max_timestamp, last_offset)
            is_due = since > interval
            if observer is not None:
                self.tell_entry(last_offset, position, since, is_due)
            if is_due:
                due.append((last_offset, position, largest))
                since = 0
            position += size
            since += size
        self._max_timestamp = largest
        if len(due) == 1:
            offset, position, at = due[0]
            self.offset_index.append(offset, position)
            self.time_index.maybe_append(at.timestamp, at.offset)
        elif due:
            offsets, positions, times = (np.array(column) for column in zip(*due, strict=True))
            self.offset_index.append_many(offsets, positions)
            self.time_index.append_many(times[:, 0], times[:, 1])
        if due and observer is not None:  # who is told of an entry finds it in the file
            self.write_out()
        self._bytes_since_entry = since

    def _add_entries(self, records: MemoryRecords, start: int) -> None:
        """Append the index entries of batches at a position of the file, all at once."""
        rows = records.batches().rows
        if not len(rows):
            return
        rows["position"] += start
        last_entry = start - self._bytes_since_entry
        largest = self.max_timestamp_so_far
        due = due_entries(rows, last_entry, self.index_interval_bytes, largest)
        if self.context.observer is not None:
            chosen = set(due.chosen.tolist())
            for slot, row in enumerate(rows):
                position = int(row["position"])
                is_due = slot in chosen
                self.tell_entry(int(row["last_offset"]), position, position - last_entry, is_due)
                last_entry = position if is_due else last_entry
        self._max_timestamp = due.largest
        self.append_entries(due)
        self._bytes_since_entry = int(rows[-1]["position"] + rows[-1]["size"]) - due.last_entry

    def append_entries(self, due: DueEntries) -> None:
        """Append index entries of batches."""
        self.offset_index.append_many(due.offsets, due.positions)
        self.time_index.append_many(due.timestamps, due.time_offsets)

    def append_from_file(self, source: FileRecords, start: int) -> int:
        """Append batches of another file until its end or one that does not fit; return bytes.

        Args:
            source: the file.
            start: byte position of a batch in it.

        Kafka: LogSegment.appendFromFile (4.2)
        """
        position = start
        while position < source.size:
            rows = source.batches(position, min(source.size, position + _COPY_SIZE)).rows
            if not len(rows):  # larger than what is moved at a time
                rows = source.batches(position).rows[:1]
            too_far = np.flatnonzero(~all_fit(rows["last_offset"], self.base_offset))
            rows = rows[: int(too_far[0])] if len(too_far) else rows
            if not len(rows):
                break
            size = int(rows["size"].sum())
            self.append(int(rows["last_offset"][-1]), source.read(position, size))
            position += size
        return position - start

    def tell_entry(self, offset: int, position: int, since: int, is_due: bool) -> None:  # noqa: FBT001  # as decided
        """Tell the observer why a batch got an index entry, or why not.

        Args:
            offset: last of the batch.
            position: of the batch.
            since: bytes between the batch with the last entry and this one.
            is_due: whether it got one.
        """
        self.context.tell(
            "index entry added" if is_due else "index entry skipped",
            f"{since} bytes since the last entry, {'' if is_due else 'not '}more than "
            f"index.interval.bytes = {self.index_interval_bytes}",
            self.log.path,
            offset=offset,
            position=position,
            bytes_since_entry=since,
        )

    def update_transaction_index(
        self, completed: CompletedTransaction, last_stable_offset: int
    ) -> None:
        """Note a transaction that ended in the transaction index, if it was aborted.

        Kafka: LogSegment.updateTxnIndex (4.2)
        """
        if completed.is_aborted:
            self.transaction_index.append(
                AbortedTransaction(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    last_stable_offset,
                )
            )

    # --- rolling -----------------------------------------------------------------------------

    def time_waited_for_roll(self, now: int, max_timestamp: int) -> int:
        """Return how many ms of records the segment holds, up to records of ``max_timestamp``.

        Without timestamps, how long it has been there.

        Kafka: LogSegment.timeWaitedForRoll (4.2)
        """
        first = self._rolling_timestamp
        if first is None:
            first = self._first_timestamp()
        return max_timestamp - first if first is not None and first >= 0 else now - self._created

    @property
    def first_batch_timestamp(self) -> int | None:
        """Largest timestamp of the first batch, ms; None if it has none, or there is no batch.

        Kafka: LogSegment.getFirstBatchTimestamp (4.2)
        """
        first = self._first_timestamp()
        return None if first is None or first < 0 else first

    def _first_timestamp(self) -> int | None:
        if self._rolling_timestamp is None:
            first = self.log.first_batch()
            if first is not None:
                self._rolling_timestamp = int(first["max_timestamp"])
        return self._rolling_timestamp

    def on_become_inactive(self) -> None:
        """Finish the indexes and cut what was allocated ahead: nothing more is appended.

        Kafka: LogSegment.onBecomeInactiveSegment (4.2)
        """
        self._append_last_time_entry()
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self.log.trim()

    def _append_last_time_entry(self) -> None:
        largest = self.max_timestamp_so_far
        self.time_index.maybe_append(largest.timestamp, largest.offset, skip_full_check=True)

    # --- changing ----------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> int:
        """Remove the records from ``offset`` on, and the batch that holds it; return bytes cut.

        Kafka: LogSegment.truncateTo (4.2)
        """
        found = self.translate_offset(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.resize_indexes()
        cut = 0 if found is None else self.log.truncate_to(found.position)
        if self.log.size == 0:
            self._created = self.context.clock.now()
            self._rolling_timestamp = None
        self._bytes_since_entry = 0
        if self.max_timestamp_so_far.timestamp >= 0:
            self._max_timestamp = self._read_largest_timestamp()
        return cut

    def reset_indexes(self) -> None:
        """Make every index empty, to be built anew from the batches."""
        self.offset_index.reset()
        self.time_index.reset()
        self.transaction_index.reset()
        self._max_timestamp = None

    def finish_recovery(self, valid_size: int, largest: TimestampOffset) -> int:
        """Cut the batches behind ``valid_size`` and finish the indexes; return bytes cut."""
        self._max_timestamp = largest
        cut = self.log.size - valid_size
        self.log.truncate_to(valid_size)
        self.offset_index.trim_to_valid_size()
        self._append_last_time_entry()
        self.time_index.trim_to_valid_size()
        return cut

    def resize_indexes(self, size: int | None = None) -> None:
        """Allocate the offset and time index ahead; ``size`` bytes, or what they may have at most.

        Kafka: LogSegment.resizeIndexes (4.2)
        """
        self.offset_index.resize(size)
        self.time_index.resize(size)

    def sanity_check(self, *, time_index_is_new: bool) -> None:
        """Look at the indexes as a loading broker does.

        Raises:
            FileNotFoundError: there is no offset index.
            CorruptIndexError: the transaction index is wrong.
            UnsupportedFormatError: it has entries of a version that is not known.

        Kafka: LogSegment.sanityCheck (4.2)
        """
        if not self.context.fs.exists(self.offset_index.path):
            raise FileNotFoundError(f"{self.offset_index.path}: the offset index is not there")
        if time_index_is_new:
            self.time_index.resize(0)
        self.transaction_index.sanity_check()

    def close(self) -> None:
        """Finish the indexes as they are and close the files.

        A time index that does not take its last entry, since it was damaged, stays as it is.

        Raises:
            OSError: a file could not be written; those before it are closed.

        Kafka: LogSegment.close (4.2)
        """
        if self._max_timestamp is not None:
            try:
                self._append_last_time_entry()
            except (ValueError, OffsetOverflowError) as error:
                self.context.tell("time index not finished", str(error), self.time_index.path)
        super().close()
