"""Recovering a log: read what may not have reached the disk, batch by batch, and cut what is wrong.

Kafka: LogLoader.recoverLog, recoverSegment (4.2)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from workbench.errors import InvalidOffsetError, OffsetOverflowError
from workbench.files.names import MAX_OFFSET
from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.producer_rebuild import rebuild_producer_state
from workbench.log.producer_state import ProducerStateManager
from workbench.log.recovery_snapshots import RecoverySnapshots
from workbench.log.segment import LogSegment
from workbench.log.segment_files import (
    delete_producer_snapshots,
    remove_and_delete_segments,
    split_overflowed_segment,
)
from workbench.log.segment_recovery import recover_segment
from workbench.log.segments import LogSegments

T = TypeVar("T")

Progress = Callable[[int], None]


class RecoveryOffsets(NamedTuple):
    """Where a log ends, and from where on it may not be on the disk.

    Kafka: LogLoader.RecoveryOffsets (4.2)
    """

    recovery_point: int
    next_offset: int


@dataclass(slots=True)
class LogRecovery:
    """What recovering one log works on.

    Attributes:
        context: of the log.
        segments: of the log.
        had_clean_shutdown: whether everything had reached the disk.
        log_start_offset: as checkpointed.
        recovery_point: as checkpointed: what comes before it has reached the disk.
        leader_epochs: get the epochs that recovered batches begin.
        producer_state: of the log; recovering uses others, and deletes snapshots through it.
        remaining: is told how many segments are still to be recovered.
        recovering: the segment at hand.
        snapshots: as recovering sees them; None before it begins.
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
        """Return what ``action`` gives; split segments whose offsets do not fit until it does.

        Raises:
            ValueError: an offset lies before its segment's base offset: that cannot be split.

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
        """Recover one segment, with the producer state of what comes before it.

        Args:
            segment: need not be in `segments`.
            reason: why, for the observer.

        Returns:
            Bytes cut from its end.

        Raises:
            OffsetOverflowError: the segment must be split.
            InvalidOffsetError: offsets fall, so that no index can be built.
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
        state.take_snapshot()  # so that recovering the next segment need not read this one again
        if context.observer is not None:
            numbers = {"base_offset": segment.base_offset, "size": size, "cut": cut}
            context.tell("segment recovered", reason, segment.log.path, **numbers)
        return cut

    def recover_log(self) -> RecoveryOffsets:
        """Recover the segments that may not have reached the disk; there is one afterwards.

        An error of the disk is raised. (Kafka empties the segment then, as if its offsets fell.)

        Raises:
            OffsetOverflowError: a segment must be split.
            CorruptRecordError: the last segment cannot be read to its end, or one before those
                recovered not for its producers.

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
                reason = f"the segment before, with base offset {segment.base_offset}, was cut"
                self._remove(unflushed[done + 1 :], reason)
                break
        if self.remaining is not None:
            self.remaining(0)

    def _cut(self, segment: LogSegment) -> int:
        reason = f"the stop was not clean and the recovery point is {self.recovery_point}"
        try:
            return self.recover_segment(segment, reason)
        except InvalidOffsetError as error:
            cut = segment.truncate_to(segment.base_offset)
            path = segment.log.path
            self.context.tell("segment emptied", f"its offsets fall: {error}", path, cut=cut)
            return cut

    def _log_end_unless_below_start(self) -> int | None:
        """Return the log's end; None, with nothing left, where it would lie before the start.

        Kafka: LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd (4.2)
        """
        if not self.segments:
            return None
        log_end = self.segments.active.read_next_offset()
        if log_end >= self.log_start_offset:
            return log_end
        reason = f"the log ends at {log_end}, before its start {self.log_start_offset}"
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
        self.context.sync_names()  # if they came back, then behind what is appended from now on

    def remove_stale_snapshots(self) -> None:
        """Remove the snapshots that recovering has left behind; `RecoverySnapshots` keeps them."""
        if self.snapshots is not None:
            self.snapshots.remove_stale()
