"""Recovery of a log: read unflushed segments batch by batch, and truncate at the first invalid one.

Kafka: LogLoader.recoverLog, recoverSegment (4.2)
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from workbench.errors import InvalidOffsetError, OffsetOverflowError
from workbench.files.names import MAX_OFFSET
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loading.segment_recovery import recover_segment
from workbench.log.producers.rebuild import rebuild_producer_state
from workbench.log.producers.snapshots import SnapshotFiles
from workbench.log.producers.state import ProducerStateManager, delete_producer_snapshots
from workbench.log.segments.files import remove_and_delete_segments
from workbench.log.segments.log_segments import LogSegments
from workbench.log.segments.segment import LogSegment
from workbench.log.segments.splitting import split_overflowed_segment


# The recovery of a segment starts from the producer state before it. Later snapshots are then
# invalid, but most are soon made again with the same bytes. So their files are kept until then, or
# until the recovery ends. A crash meanwhile leaves them to the next recovery. Kafka removes them at
# once and writes all again.
class RecoverySnapshots(SnapshotFiles):
    """The snapshots of a log that is being recovered."""

    def __init__(self, context: LogContext) -> None:
        self._stale: set[int] = set()
        super().__init__(context.directory, context.fs, context.observer)

    def remove_outside(self, first: int, last: int, reason: str, *, sync: bool = False) -> None:
        """Forget the snapshots whose offsets are outside [first, last]; their files are kept."""
        del sync  # nothing is removed yet
        stale = self._outside(first, last)
        self._stale.update(stale)
        for offset in stale:
            self._forget(offset)
            self.tell("producer snapshot forgotten", self.path(offset), reason, offset=offset)

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        """Write a snapshot and return its path; a file with the same bytes is only synced."""
        if offset not in self._stale:
            return super().write(offset, entries, sync=sync)
        self._stale.discard(offset)
        kept = tuple(entries)
        path = self.path(offset)
        encoded = ProducerSnapshot(kept).encode()
        if self._fs.read(path, len(encoded) + 1) != encoded:
            return super().write(offset, kept, sync=sync)
        if sync:
            self.flush(path)
        self._add(offset)
        self.tell(
            "producer snapshot kept", path, "the snapshot file has the same bytes", offset=offset
        )
        return path

    def remove_stale(self) -> None:
        """Remove the files of forgotten snapshots that were not written again.

        One after the log end offset must not come back: other batches will get its offset.
        """
        is_behind = bool(self._stale) and max(self._stale) > (self.latest or -1)
        for offset in sorted(self._stale):
            with suppress(FileNotFoundError):
                self._fs.remove(self.path(offset))
            self.tell("producer snapshot removed", self.path(offset), offset=offset)
        self._stale.clear()
        if is_behind:
            self._fs.sync_directory(self._directory)


T = TypeVar("T")

Progress = Callable[[int], None]


class RecoveryOffsets(NamedTuple):
    """A log's end, and the offset from which it might not be on the disk.

    Kafka: LogLoader.RecoveryOffsets (4.2)
    """

    recovery_point: int
    next_offset: int


@dataclass(slots=True)
class LogRecovery:
    """The recovery of one log.

    Attributes:
        context: the log's context.
        segments: the log's segments.
        had_clean_shutdown: whether everything was flushed at shutdown.
        log_start_offset: the checkpointed log start offset.
        recovery_point: the checkpointed one: records before it are on the disk.
        leader_epochs: the log's cache; gets the epochs that recovered batches begin.
        producer_state: the log's state; recovery uses others, and removes snapshots through it.
        remaining: receives the number of segments left to recover.
        recovering: the current segment.
        snapshots: the snapshots as recovery sees them; None before it begins.
    """

    context: LogContext
    segments: LogSegments
    had_clean_shutdown: bool
    log_start_offset: int
    recovery_point: int
    leader_epochs: LeaderEpochCache
    producer_state: ProducerStateManager
    remaining: Progress | None = None
    recovering: LogSegment | None = None
    snapshots: RecoverySnapshots | None = None

    def retry_on_overflow(self, action: Callable[[], T]) -> T:
        """Return the result of ``action``, splitting segments whose offsets do not fit until then.

        Raises:
            CorruptLogError: an offset is before its segment's base offset: splitting does not
                help.

        Kafka: LogLoader.retryOnOffsetOverflow (4.2)
        """
        while True:
            try:
                return action()
            except OffsetOverflowError as error:
                segment = self.recovering
                if segment is None or segment.base_offset != error.base_offset:
                    raise
                result = split_overflowed_segment(self.context, self.segments, segment)
                delete_producer_snapshots(
                    self.context, self.producer_state, result.deleted, asynchronous=True
                )

    def recover_segment(self, segment: LogSegment, reason: str) -> int:
        """Recover one segment, with the producer state before it.

        Args:
            segment: the segment, which need not be in `segments`.
            reason: why, for the observer.

        Returns:
            Bytes truncated from its end.

        Raises:
            OffsetOverflowError: the segment must be split.
            InvalidOffsetError: offsets do not ascend, so no index can be built.
            CorruptRecordError: a segment before it, read for its producers, is damaged.

        Kafka: LogLoader.recoverSegment (4.2)
        """
        context = self.context
        self.recovering = segment
        if self.snapshots is None:
            self.snapshots = RecoverySnapshots(context)
        state = ProducerStateManager(
            context.topic_partition,
            context.directory,
            context.fs,
            self.producer_state.config,
            context.clock,
            context.observer,
            snapshots=self.snapshots,
        )
        rebuild_producer_state(
            state,
            self.segments,
            self.log_start_offset,
            segment.base_offset,
            context.clock.now(),
            reload_from_clean_shutdown=False,
            observer=context.observer,
        )
        size = segment.size
        cut = recover_segment(segment, state, self.leader_epochs)
        state.take_snapshot()  # so that the recovery of the next segment need not read this one
        if context.observer is not None:
            numbers = {"base_offset": segment.base_offset, "size": size, "cut": cut}
            context.tell("segment recovered", segment.log.path, reason, **numbers)
        return cut

    def recover_log(self) -> RecoveryOffsets:
        """Recover the segments that might not be flushed; at least one exists afterwards.

        An error of the disk is raised. (Kafka then empties the segment, as for offsets that fall.)

        Raises:
            OffsetOverflowError: a segment must be split.
            CorruptRecordError: the last segment cannot be read to its end, or an earlier one cannot
                be read for its producers.

        Kafka: LogLoader.recoverLog (4.2)
        """
        if not self.had_clean_shutdown:
            self._recover_unflushed()
        log_end = self._log_end_unless_below_start()
        if not self.segments:
            self.segments.add(LogSegment.open(self.context, self.log_start_offset))
        if log_end is None:
            log_end = self.segments.active.read_next_offset()
            return RecoveryOffsets(min(self.recovery_point, log_end), log_end)
        if self.had_clean_shutdown:
            return RecoveryOffsets(log_end, log_end)
        return RecoveryOffsets(min(self.recovery_point, log_end), log_end)

    def _recover_unflushed(self) -> None:
        unflushed = list(self.segments.values(self.recovery_point, MAX_OFFSET))
        for done, segment in enumerate(unflushed):
            if self.remaining is not None:
                self.remaining(len(unflushed) - done)
            if self._cut(segment):
                reason = (
                    f"the previous segment, with base offset {segment.base_offset}, was truncated"
                )
                self._remove(unflushed[done + 1 :], reason)
                break
        if self.remaining is not None:
            self.remaining(0)

    def _cut(self, segment: LogSegment) -> int:
        reason = f"the shutdown was unclean and the recovery point is {self.recovery_point}"
        try:
            return self.recover_segment(segment, reason)
        except InvalidOffsetError as error:
            cut = segment.truncate_to(segment.base_offset)
            path = segment.log.path
            self.context.tell(
                "segment emptied", path, f"the segment's offsets do not ascend: {error}", cut=cut
            )
            return cut

    def _log_end_unless_below_start(self) -> int | None:
        """Return the log end offset; below the log start offset, remove all segments, return None.

        Kafka: LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd (4.2)
        """
        if not self.segments:
            return None
        log_end = self.segments.active.read_next_offset()
        if log_end >= self.log_start_offset or not self.context.rules.empties_below_start:
            return log_end
        reason = (
            f"the log end offset {log_end} is below the log start offset {self.log_start_offset}"
        )
        self._remove(self.segments.all, reason)
        self.leader_epochs.clear_and_flush()
        self.producer_state.truncate_fully_and_start_at(self.log_start_offset)
        return None

    def _remove(self, doomed: Sequence[LogSegment], reason: str) -> None:
        """Kafka: LogLoader.removeAndDeleteSegmentsAsync (4.2)."""
        if not doomed:
            return
        self.remove_stale_snapshots()
        remove_and_delete_segments(
            self.context, self.segments, doomed, asynchronous=True, reason=reason
        )
        delete_producer_snapshots(self.context, self.producer_state, doomed, asynchronous=True)
        self.context.sync_names()  # otherwise they could come back after later appends

    def remove_stale_snapshots(self) -> None:
        """Remove the snapshot files that `RecoverySnapshots` has kept and recovery did not need."""
        if self.snapshots is not None:
            self.snapshots.remove_stale()
