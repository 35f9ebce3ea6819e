"""One segment of a log: a `.log` file and its indexes.

Kafka: LogSegment (4.2)
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import OffsetOverflowError
from workbench.files.file_records import FileRecords, LogOffsetPosition, TimestampAndOffset
from workbench.files.indexes.entry_run import MAX_RELATIVE_OFFSET
from workbench.files.indexes.offset_index import WritableOffsetIndex
from workbench.files.indexes.time_index import TimestampOffset, WritableTimeIndex
from workbench.files.indexes.transaction_index import AbortedTxn, WritableTransactionIndex
from workbench.files.names import CLEANED
from workbench.layout.integers import INT64_MAX
from workbench.log.context import LogContext
from workbench.log.fetch import FetchData, LogOffsetMetadata
from workbench.log.producers.producer import CompletedTransaction
from workbench.log.segments.due_entries import DueEntries, due_entries
from workbench.log.segments.lookup_steps import (
    tell_batches_passed,
    tell_offset_probes,
    tell_slice,
    tell_time_probes,
)
from workbench.log.segments.segment_files import SegmentFiles
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch
from workbench.runtime.steps import wants_details
from workbench.runtime.times import ms_text

TO_THE_END: Final = INT64_MAX
_COPY_SIZE: Final = 1 << 20  # bytes that `append_from_file` moves at a time


def fits(offset: int, base_offset: int) -> bool:
    """Return whether an index of a segment can store an offset as a relative offset."""
    return 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET


def all_fit(offsets: npt.NDArray[np.int64], base_offset: int) -> npt.NDArray[np.bool_]:
    """Return bool[n]: whether an index can store each of int64[n] as a relative offset."""
    return (offsets >= base_offset) & (offsets - base_offset <= MAX_RELATIVE_OFFSET)


class LogSegment(SegmentFiles):
    """One segment of a log, which follows what is appended to it.

    Appending, truncating and recovering need the log's lock; reading does not.

    Attributes:
        roll_jitter_ms: ms by which it rolls earlier than `segment.ms`.
        index_interval_bytes: least bytes between two batches with index entries.

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
        self._max_timestamp: TimestampOffset | None = None  # None: that of the index's last entry
        self.roll_jitter_ms = context.config.random_segment_jitter(context.rng)
        self.index_interval_bytes = context.config.index_interval_bytes
        self._created = context.clock.now()
        self._bytes_since_entry = 0
        self._rolling_timestamp: int | None = None

    def __repr__(self) -> str:
        return f"LogSegment(base_offset={self.base_offset}, size={self.size})"

    @property
    def size(self) -> int:
        """Size of the batches in bytes."""
        return self.log.size

    # --- appending ---------------------------------------------------------------------------

    def append(
        self,
        largest_offset: int,
        records: MemoryRecords,
        batches: Sequence[CheckedBatch] | None = None,
    ) -> None:
        """Append batches that have their offsets, and the index entries that are due.

        An entry is due for a batch when more than `index.interval.bytes` were appended since the
        last one; before 3.9, only for the first batch of those that are appended together.

        Args:
            largest_offset: the records' largest offset.
            records: complete batches.
            batches: what is already known about them; None walks over them.

        Raises:
            OffsetOverflowError: ``largest_offset`` is too far from the base offset.
            OSError: writing failed; the file may hold a part of the records.

        Kafka: LogSegment.append (4.2)
        """
        if not len(records.buffer):
            return
        log = self.log
        position = log.size
        if not self.offset_index.can_append_offset(largest_offset):
            raise OffsetOverflowError(largest_offset, self.base_offset, log.path)
        log.append(records)
        if not self.context.rules.indexes_each_batch:
            self._add_one_entry(largest_offset, records, position)
        elif batches is None:
            self._add_entries(records, position)
        else:
            self._add_known_entries(batches, position)

    def _add_known_entries(self, batches: Sequence[CheckedBatch], position: int) -> None:
        """Append the index entries of a few batches, without reading them."""
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
        if due and observer is not None:  # an observer of the entry then finds it in the file
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

    def _add_one_entry(self, largest_offset: int, records: MemoryRecords, position: int) -> None:
        """Append the index entry that is due for batches which are appended together.

        Kafka: LogSegment.append (0.8.2 to 3.8)
        """
        rows = records.batches().rows
        if not len(rows):
            return
        latest = rows[int(rows["max_timestamp"].argmax())]
        if latest["max_timestamp"] > self.max_timestamp_so_far.timestamp:
            self._max_timestamp = TimestampOffset(
                int(latest["max_timestamp"]), int(latest["last_offset"])
            )
        since = self._bytes_since_entry
        is_due = since > self.index_interval_bytes
        if not self.context.rules.indexes_last_offset:
            largest_offset = int(rows[0]["base_offset"])
        if self.context.observer is not None:
            self.tell_entry(largest_offset, position, since, is_due)
        if is_due:
            at = self.max_timestamp_so_far
            self.offset_index.append(largest_offset, position)
            self.time_index.maybe_append(at.timestamp, at.offset)
            since = 0
        self._bytes_since_entry = since + len(records.buffer)

    def append_entries(self, due: DueEntries) -> None:
        """Append index entries of batches."""
        self.offset_index.append_many(due.offsets, due.positions)
        self.time_index.append_many(due.timestamps, due.time_offsets)

    def append_from_file(self, source: FileRecords, start: int) -> int:
        """Append batches of another file up to its end or one that does not fit; return bytes.

        Args:
            source: the other file.
            start: byte position of a batch in it.

        Kafka: LogSegment.appendFromFile (4.2)
        """
        position = start
        while position < source.size:
            rows = source.batches(position, min(source.size, position + _COPY_SIZE)).rows
            if not len(rows):  # larger than what is copied at a time
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
        """Report to the observer why a batch got an index entry, or why not.

        Args:
            offset: the batch's last offset.
            position: the batch's position.
            since: bytes between the batch with the last entry and this one.
            is_due: whether it got an entry.
        """
        self.context.tell(
            "index entry added" if is_due else "index entry skipped",
            self.log.path,
            f"{since} bytes since the last entry, {'' if is_due else 'not '}more than "
            f"index.interval.bytes = {self.index_interval_bytes}",
            offset=offset,
            position=position,
            bytes_since_entry=since,
        )

    def update_transaction_index(
        self, completed: CompletedTransaction, last_stable_offset: int
    ) -> None:
        """Add a transaction that ended to the transaction index, if it was aborted.

        Kafka: LogSegment.updateTxnIndex (4.2)
        """
        if completed.is_aborted:
            self.transaction_index.append(
                AbortedTxn(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    last_stable_offset,
                )
            )

    # --- rolling -----------------------------------------------------------------------------

    def why_roll(self, added: int, max_timestamp: int, max_offset: int, now: int) -> str | None:
        """Return why records must go to a new segment; None if this one can take them.

        Args:
            added: size of the records in bytes.
            max_timestamp: their largest timestamp, ms.
            max_offset: their last offset.
            now: ms.

        Kafka: LogSegment.shouldRoll (4.2)
        """
        size, config = self.log.size, self.context.config
        limit, longest = config.segment_bytes, config.max_segment_ms
        if size > limit - added:
            return f"{size} + {added} bytes are more than segment.bytes = {limit}"
        if size > 0:
            waited, jitter = self.time_waited_for_roll(now, max_timestamp), self.roll_jitter_ms
            if waited > longest - jitter:
                less = f": {ms_text(longest, ' ms')} less a jitter of {ms_text(jitter, ' ms')}"
                return (
                    f"{ms_text(waited, ' ms')} passed since the segment's first batch, "
                    f"more than {ms_text(longest - jitter, ' ms')}{less if jitter else ''}"
                )
        if self.offset_index.is_full:
            return f"the offset index is full with {self.offset_index.entries} entries"
        if self.time_index.is_full:
            return f"the time index is full with {self.time_index.entries} entries"
        if not fits(max_offset, self.base_offset):
            return f"offset {max_offset} is too far from base offset {self.base_offset}"
        return None

    def time_waited_for_roll(self, now: int, max_timestamp: int) -> int:
        """Return the time span of the segment's records up to ``max_timestamp``, ms.

        Without timestamps, the age of the segment.

        Kafka: LogSegment.timeWaitedForRoll (4.2)
        """
        first = self._rolling_timestamp
        if first is None and not self.context.rules.rolls_by_creation:
            first = self._first_timestamp()
        return max_timestamp - first if first is not None and first >= 0 else now - self._created

    @property
    def first_batch_timestamp(self) -> int | None:
        """Largest timestamp of the first batch, ms; None if it or the batch is missing.

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
        """Finish the indexes and trim preallocated space: nothing more is appended.

        Kafka: LogSegment.onBecomeInactiveSegment (4.2)
        """
        self._append_last_time_entry()
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self.log.trim()

    def _append_last_time_entry(self) -> None:
        largest = self.max_timestamp_so_far
        self.time_index.maybe_append(largest.timestamp, largest.offset, skip_full_check=True)

    # --- reading: needs no lock ----------------------------------------------------------------

    def translate_offset(self, offset: int, start: int = 0) -> LogOffsetPosition | None:
        """Return the first batch that reaches ``offset``; None if none does.

        Args:
            offset: a record's offset.
            start: a position at or before that batch.

        Kafka: LogSegment.translateOffset (4.2)
        """
        entry = self.offset_index.lookup(offset)
        found = self.log.search_for_offset(offset, max(entry.position, start))
        if wants_details(self.context.observer):
            tell_offset_probes(self.context, self.offset_index, offset)
            position = max(entry.position, start)
            tell_batches_passed(self.context, self.log, position, offset, found)
        return found

    def read(
        self,
        start_offset: int,
        max_size: int,
        max_position: int | None = TO_THE_END,
        *,
        min_one_message: bool = False,
    ) -> FetchData | None:
        """Return batches starting with that of ``start_offset``; None if no batch reaches it.

        Args:
            start_offset: first offset wanted.
            max_size: most bytes to return.
            max_position: limit for the bytes returned; default the segment's size. None: the limit
                is not known, so only the position is returned.
            min_one_message: whether to return the first batch whole even if ``max_size`` is less.

        Raises:
            ValueError: ``max_size`` is negative.

        Kafka: LogSegment.read (4.2); the `maxOffset` of 0.10 was removed, a position is the bound.
        """
        if max_size < 0:
            raise ValueError(f"max_size is {max_size}, but it must not be negative")
        found = self.translate_offset(start_offset)
        if found is None:
            return None
        where = LogOffsetMetadata(found.offset, self.base_offset, found.position)
        allowed = max(max_size, found.size) if min_one_message else max_size
        if allowed == 0 or max_position is None:
            return FetchData(where)
        max_position = min(max_position, self.size)
        size = min(max_position - found.position, allowed)
        if wants_details(self.context.observer):
            tell_slice(
                self.context,
                self.log,
                found,
                size,
                max_size=max_size,
                max_position=max_position,
                min_one_message=min_one_message,
            )
        return FetchData(where, self.log, found.position, size, allowed < found.size)

    def read_next_offset(self) -> int:
        """Return the offset after the last batch; the base offset if there is none.

        Trusts the last entry of the offset index.

        Raises:
            CorruptRecordError: a batch's size is invalid.

        Kafka: LogSegment.readNextOffset (4.2)
        """
        last_offset = self.offset_index.last_offset
        start = max(self.offset_index.lookup(last_offset).position, 0)
        found = self.log.search_for_offset(last_offset, start)
        last = None if found is None else self.log.last_batch(found.position)
        return self.base_offset if last is None else int(last["last_offset"]) + 1

    @property
    def has_overflow(self) -> bool:
        """Whether offsets are too far from the base offset, as old brokers could write them.

        Kafka: LogSegment.hasOverflow (4.2)
        """
        next_offset = self.read_next_offset()
        return next_offset > self.base_offset and not fits(next_offset - 1, self.base_offset)

    def find_offset_by_timestamp(
        self, timestamp: int, starting_offset: int | None = None
    ) -> TimestampAndOffset | None:
        """Return the first record at or after ``starting_offset`` that is not older; None if none.

        Args:
            timestamp: ms.
            starting_offset: first offset to search; the base offset if None.

        Kafka: LogSegment.findOffsetByTimestamp (4.2)
        """
        start = self.base_offset if starting_offset is None else starting_offset
        entry = self.time_index.lookup(timestamp)
        position = self.offset_index.lookup(max(entry.offset, start)).position
        found = self.log.search_for_timestamp(timestamp, position, start)
        if wants_details(self.context.observer):
            tell_time_probes(self.context, self.time_index, timestamp)
            tell_offset_probes(self.context, self.offset_index, max(entry.offset, start))
            if found is not None:
                batch = self.log.search_for_offset(found.offset, position)
                tell_batches_passed(self.context, self.log, position, found.offset, batch)
        return found

    @property
    def max_timestamp_so_far(self) -> TimestampOffset:
        """Largest timestamp in ms and the last offset of the first batch that has it; -1: none.

        Kafka: LogSegment.maxTimestampSoFar, shallowOffsetOfMaxTimestampSoFar (4.2)
        """
        # Not cached: an append may have set a larger one since the entry was read.
        return self._max_timestamp or self.time_index.last_entry

    @property
    def largest_timestamp(self) -> int:
        """The time that retention uses: largest timestamp, or the file's time without one; ms.

        Kafka: LogSegment.largestTimestamp (4.2)
        """
        largest = self.max_timestamp_so_far.timestamp
        by_file = largest < 0 or self.context.rules.retains_by_file_time
        return self.last_modified if by_file else largest

    @property
    def goes_by_file_time(self) -> bool:
        """Whether retention uses the file's time: records have none, or the version uses none."""
        by_rule = self.context.rules.retains_by_file_time
        return by_rule or self.max_timestamp_so_far.timestamp < 0

    def _read_largest_timestamp(self) -> TimestampOffset:
        entry = self.time_index.last_entry
        behind = self.log.largest_timestamp_after(self.offset_index.lookup(entry.offset).position)
        if behind.timestamp > entry.timestamp:
            return TimestampOffset(behind.timestamp, behind.offset)
        return entry

    # --- changing ----------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> int:
        """Remove the records after ``offset``, and the batch that holds it; return bytes removed.

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
        """Empty every index, to be rebuilt from the batches."""
        self.offset_index.reset()
        self.time_index.reset()
        self.transaction_index.reset()
        self._max_timestamp = None

    def finish_recovery(self, valid_size: int, largest: TimestampOffset) -> int:
        """Truncate at ``valid_size`` bytes and finish the indexes; return bytes removed."""
        self._max_timestamp = largest
        cut = self.log.size - valid_size
        self.log.truncate_to(valid_size)
        self.offset_index.trim_to_valid_size()
        self._append_last_time_entry()
        self.time_index.trim_to_valid_size()
        return cut

    def sanity_check(self, *, time_index_is_new: bool) -> None:
        """Check the indexes as a loading broker does.

        Raises:
            FileNotFoundError: there is no offset index.
            CorruptIndexError: the transaction index is invalid.
            UnsupportedFormatError: the transaction index has an unknown version.

        Kafka: LogSegment.sanityCheck (4.2)
        """
        if not self.context.fs.exists(self.offset_index.path):
            raise FileNotFoundError(f"{self.offset_index.path}: the offset index is missing")
        if time_index_is_new:
            self.time_index.resize(0)
        self.transaction_index.sanity_check()

    def close(self) -> None:
        """Finish the indexes as they are and close the files.

        A time index that does not accept its last entry, because it was damaged, is left alone.

        Raises:
            OSError: a file could not be written; those before it are closed.

        Kafka: LogSegment.close (4.2)
        """
        if self._max_timestamp is not None:
            try:
                self._append_last_time_entry()
            except (ValueError, OffsetOverflowError) as error:
                self.context.tell("time index not finished", self.time_index.path, str(error))
        for part in self._parts():
            part.close()


def create_new_cleaned_segment(context: LogContext, base_offset: int) -> LogSegment:
    """Create an empty `.cleaned` segment, replacing one that an earlier attempt left.

    Raises:
        OSError: an old file cannot be removed, or the new one not created.

    Kafka: LocalLog.createNewCleanedSegment (4.2)
    """
    return LogSegment.open(context, base_offset, suffix=CLEANED, is_new=True)
