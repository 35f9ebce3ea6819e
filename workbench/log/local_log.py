"""The segments of one log and the operations on all of them: read, roll, flush, truncate.

It handles offsets and files; producers, epochs and high watermarks are the subject of `log`.

Kafka: LocalLog (4.2)
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple

from workbench.errors import CorruptLogError, OffsetOutOfRangeError, StorageError
from workbench.file_system.local import is_passing
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.files.names import segment_paths
from workbench.log.context import LogContext
from workbench.log.fetch import FetchData, LogOffsetMetadata
from workbench.log.segments.files import create_and_delete_segment, remove_and_delete_segments
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.lookup_steps import tell_segment_found, tell_segment_passed
from workbench.log.segments.segment import LogSegment
from workbench.runtime.steps import wants_details


class FlushedState(NamedTuple):
    """The state of a log when it was flushed.

    Attributes:
        cuts: number of times that its end had moved back.
        end_offset: its log end offset.
    """

    cuts: int
    end_offset: int


class LocalLog:
    """The segments of one log. Writers must hold the log's lock.

    Attributes:
        context: directory, configuration, file system, clock.
        segments: at least one, the last is the active one.
        recovery_point: first offset in the log that might not be on the disk yet.
        synced_to: all segments are on the disk up to here; less than the recovery point if the
            log start offset has raised that.
        end: the log end offset and its position.
        last_flushed_ms: when `recovery_point` last rose; ms.
        is_closed: whether writing is over; existing records can still be read.

    Kafka: LocalLog (4.2)
    """

    def __init__(
        self,
        context: LogContext,
        segments: LogSegments,
        recovery_point: int,
        end: LogOffsetMetadata,
    ) -> None:
        self.context = context
        self.segments = segments
        self.recovery_point = self.synced_to = recovery_point
        self.end = end
        self.last_flushed_ms = context.clock.now()
        self.is_closed = False
        self._cuts = 0  # how often the end has moved back

    def check_open(self) -> None:
        """Raise StorageError if the log is closed or deleted.

        Kafka: LocalLog.checkIfMemoryMappedBufferClosed (4.2)
        """
        if self.is_closed:
            context = self.context
            raise StorageError(
                context.log_directory, f"the log of {context.topic_partition} is closed"
            )

    @property
    def end_offset(self) -> int:
        """The log end offset: the offset of the next record."""
        return self.end.offset

    def update_end_offset(self, end_offset: int) -> None:
        """Set the offset of the next record; the recovery point is never after it.

        Kafka: LocalLog.updateLogEndOffset (4.2)
        """
        active = self.segments.active
        if end_offset < self.end.offset:
            self._cuts += 1
        self.end = LogOffsetMetadata(end_offset, active.base_offset, active.size)
        self.recovery_point = min(self.recovery_point, end_offset)
        self.synced_to = min(self.synced_to, end_offset)

    # --- reading -----------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        max_size: int,
        limit: LogOffsetMetadata,
        *,
        min_one_message: bool,
        with_aborted: bool,
    ) -> FetchData:
        """Return batches of one segment, starting with the one that holds ``start_offset``.

        Args:
            start_offset: first offset wanted.
            max_size: most bytes to return.
            limit: records at or after this offset are not returned.
            min_one_message: whether to return the first batch whole even if ``max_size`` is less.
            with_aborted: whether to add the transactions that a read_committed consumer must skip.

        Raises:
            OffsetOutOfRangeError: the offset is after the log end offset, or before its segments.

        Kafka: LocalLog.read (4.2)
        """
        end = self.end
        segment = self.segments.floor(start_offset)
        if start_offset > end.offset or segment is None:
            first = self.segments.first
            low = end.offset if first is None else first.base_offset
            where = str(self.context.topic_partition)
            raise OffsetOutOfRangeError(start_offset, low, end.offset, where)
        none_aborted: tuple[AbortedTxn, ...] | None = () if with_aborted else None
        if start_offset == limit.offset:
            return FetchData(limit, aborted_transactions=none_aborted)
        if start_offset > limit.offset:
            return FetchData(self.locate(start_offset), aborted_transactions=none_aborted)
        if wants_details(self.context.observer):
            above = self.segments.higher(segment.base_offset)
            next_base = None if above is None else above.base_offset
            tell_segment_found(
                self.context, segment.log, (segment.base_offset, next_base), start_offset
            )
        while segment is not None:
            base = segment.base_offset
            if base < limit.segment_base_offset:
                max_position: int | None = segment.size
            elif base == limit.segment_base_offset and not limit.is_offset_only:
                max_position = limit.position
            else:
                max_position = None
            found = segment.read(
                start_offset, max_size, max_position, min_one_message=min_one_message
            )
            if found is not None:
                return self._with_aborted(start_offset, segment, found) if with_aborted else found
            if wants_details(self.context.observer):
                tell_segment_passed(self.context, segment.log, start_offset)
            segment = self.segments.higher(base)
        return FetchData(self.end)  # the records there were deleted

    def locate(self, offset: int) -> LogOffsetMetadata:
        """Return the position of the batch that holds ``offset``.

        Raises:
            OffsetOutOfRangeError: the log does not have the offset.

        Kafka: LocalLog.convertToOffsetMetadataOrThrow (4.2)
        """
        found = self.read(offset, 1, self.end, min_one_message=False, with_aborted=False)
        return found.offset_metadata

    def _with_aborted(self, start_offset: int, segment: LogSegment, found: FetchData) -> FetchData:
        upper = segment.offset_index.fetch_upper_bound(found.offset_metadata.position, found.size)
        if upper is None:
            higher = self.segments.higher(segment.base_offset)
            upper_bound = self.end_offset if higher is None else higher.base_offset
        else:
            upper_bound = upper.offset
        aborted = self._aborted_from(segment, start_offset, upper_bound)
        return found._replace(aborted_transactions=tuple(aborted))

    def _aborted_from(
        self, segment: LogSegment, start_offset: int, upper_bound: int
    ) -> Iterator[AbortedTxn]:
        for each in (segment, *self.segments.all_higher(segment.base_offset)):
            found = each.transaction_index.collect_aborted(start_offset, upper_bound)
            yield from found.transactions
            if found.is_complete:
                return

    def collect_aborted(
        self, start_offset: int, base_offset: int, upper_bound: int
    ) -> list[AbortedTxn]:
        """Return the aborted transactions with records in [``start_offset``, ``upper_bound``).

        Args:
            start_offset: transactions that ended before are omitted.
            base_offset: the search begins with the segment that holds this offset.
            upper_bound: transactions that began here or later are omitted.

        Kafka: LocalLog.collectAbortedTransactions (4.2)
        """
        segment = self.segments.floor(base_offset)
        if segment is None:
            return []
        return list(self._aborted_from(segment, start_offset, upper_bound))

    # --- changing ----------------------------------------------------------------------------

    def roll(
        self, expected_next_offset: int = 0, reason: str = "a caller asked for it"
    ) -> LogSegment:
        """Create a new active segment at the log end offset and return it.

        Args:
            expected_next_offset: the new base offset if it is above the log end offset.
            reason: why, for the observer.

        Raises:
            CorruptLogError: a segment with records already begins there or after it.
            StorageError: files could not be created and the log directory is offline, or the log
                is closed; or the process has no memory or descriptors for them, for now.

        Kafka: LocalLog.roll (4.2)
        """
        self.check_open()
        with self.context.guard("roll"):
            base = max(expected_next_offset, self.end_offset)
            active = self.segments.active
            if base in self.segments:
                if active.base_offset != base or active.size:
                    problem = f"cannot roll to offset {base}: a segment already begins there"
                    raise CorruptLogError(self.context.directory, None, problem)
                reason += (
                    f"; the active segment begins there and is empty, with "
                    f"{active.offset_index.entries} index entries and "
                    f"{active.time_index.entries} time index entries"
                )
                segment = create_and_delete_segment(
                    self.context, self.segments, base, active, asynchronous=True, reason=reason
                )
            elif base < active.base_offset:
                problem = (
                    f"cannot roll to offset {base}: it is below the active segment's base offset "
                    f"{active.base_offset}"
                )
                raise CorruptLogError(self.context.directory, None, problem)
            else:
                segment = self._open_new(base)
            self.update_end_offset(self.end_offset)
            if self.context.observer is not None:
                self.context.tell(
                    "rolled",
                    segment.log.path,
                    reason,
                    base_offset=base,
                    previous_base_offset=active.base_offset,
                    previous_size=active.size,
                )
            return segment

    def _open_new(self, base_offset: int) -> LogSegment:
        for path in segment_paths(self.context.directory, base_offset):
            if self.context.fs.exists(path):
                self.context.tell(
                    "left over file removed", path, "a new segment needs the file's name"
                )
                self.context.fs.remove(path)
        last = self.segments.last
        try:
            if last is not None:
                last.on_become_inactive()
                if base_offset <= self.recovery_point:
                    last.flush()  # its indexes were trimmed, and no recovery will check them
            segment = LogSegment.open(self.context, base_offset)
        except OSError as error:
            if not is_passing(error):
                raise
            for path in segment_paths(self.context.directory, base_offset):
                if self.context.fs.exists(path):
                    self.context.fs.remove(path)
            raise self.context.nothing_written("roll", error) from error
        self.context.names_changed = True
        self.segments.add(segment)
        return segment

    def flush(self, offset: int) -> FlushedState:
        """Return when the records below ``offset``, and their files' names, are on the disk.

        This includes records before the log start offset: a crash may restore an older start, and
        if they were damaged then, recovery would truncate the log there. (Kafka leaves them out.)

        Returns:
            The state that `mark_flushed` needs.

        Raises:
            OSError: the operating system reports that they are not; they may be lost.

        Kafka: LocalLog.flush (4.2)
        """
        state = FlushedState(self._cuts, self.end.offset)  # in this order: see `mark_flushed`
        start = self.synced_to
        if start > offset:
            return state
        segments = self.segments.values(start, offset)
        for segment in segments:
            segment.flush()
        self.context.sync_names()  # Kafka: only if a segment begins after the recovery point
        return state

    def mark_flushed(self, offset: int, state: FlushedState) -> None:
        """Raise the recovery point to ``offset``, but not above what was flushed.

        Args:
            offset: the offset to which it was to be flushed; the log may now end before it.
            state: the result of `flush`; ignored if the log was truncated since.

        Kafka: LocalLog.markFlushed (4.2)
        """
        if state.cuts != self._cuts:
            return  # other records may now have these offsets
        offset = min(offset, state.end_offset)
        self.synced_to = max(self.synced_to, offset)
        if offset > self.recovery_point:
            self.recovery_point = offset
            self.last_flushed_ms = self.context.clock.now()

    def truncate_to(self, offset: int) -> list[LogSegment]:
        """Remove the records at and after ``offset``; return the removed segments.

        The removal is then on the disk: records that a crash restores would mix with those that
        are appended now. Kafka leaves that to the file system.

        Raises:
            OSError: files could not be changed.
            StorageError: the log is closed.

        Kafka: LocalLog.truncateTo (4.2)
        """
        self.check_open()
        doomed = [segment for segment in self.segments.all if segment.base_offset > offset]
        reason = f"the log is truncated to offset {offset}"
        # From the last to the first, so that a crash leaves no gap.
        remove_and_delete_segments(
            self.context, self.segments, doomed[::-1], asynchronous=True, reason=reason
        )
        self.context.sync_names()
        active = self.segments.active
        cut = active.truncate_to(offset)
        active.log.flush()
        self.update_end_offset(offset)
        if self.context.observer is not None:
            self.context.tell("truncated", active.log.path, reason, offset=offset, bytes_cut=cut)
        return doomed

    def truncate_fully_and_start_at(self, offset: int) -> list[LogSegment]:
        """Remove all records and restart at ``offset``; return the removed segments.

        Raises:
            StorageError: files could not be changed and the log directory is offline, or the log
                is closed.

        Kafka: LocalLog.truncateFullyAndStartAt (4.2)
        """
        self.check_open()
        with self.context.guard("truncate"):
            doomed = self.segments.all
            reason = f"the log is emptied and starts at offset {offset}"
            remove_and_delete_segments(
                self.context, self.segments, doomed[:-1], asynchronous=True, reason=reason
            )
            create_and_delete_segment(
                self.context, self.segments, offset, doomed[-1], asynchronous=True, reason=reason
            )
            self.context.sync_names()
            self.update_end_offset(offset)
            return doomed

    def remove_directory(self) -> None:
        """Remove the directory and its files; a delayed task may still write one there.

        Kafka: LocalLog.deleteEmptyDir (4.2)
        """
        fs, directory = self.context.fs, self.context.directory
        while True:
            for entry in fs.list(directory):
                if not entry.is_directory:
                    with suppress(FileNotFoundError):
                        fs.remove(self.context.path(entry.name))
            try:
                fs.remove_directory(directory)
            except OSError as error:
                is_refilled = error.errno == errno.ENOTEMPTY
                if is_refilled and not any(each.is_directory for each in fs.list(directory)):
                    continue
                raise
            return

    def rename_directory(self, name: str) -> bool:
        """Rename the directory within the same log directory; return whether the name changed.

        Kafka: LocalLog.renameDir (4.2)
        """
        renamed = os.path.join(self.context.log_directory, name)
        before = self.context.directory
        with ExitStack() as names_held:
            self.segments.hold_names(names_held)
            self.context.fs.rename(before, renamed)
            self.context.move_to(renamed)
            self.segments.update_directory(renamed)
        self.context.fs.sync_directory(self.context.log_directory)
        if renamed == before:
            return False
        self.context.tell(
            "folder renamed", renamed, f"the directory's name was {os.path.basename(before)}"
        )
        return True
