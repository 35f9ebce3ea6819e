"""What makes a log shorter, or its segments others: retention, truncation, replacement.

Kafka: UnifiedLog.deleteOldSegments, truncateTo, replaceSegments (4.2)
"""

from collections.abc import Sequence

from workbench.log.log_base import LogBase
from workbench.log.producer_rebuild import rebuild_producer_state
from workbench.log.retention import LogState, RetentionVerdict, Rule, rules_for
from workbench.log.segment import LogSegment
from workbench.log.segment_files import (
    delete_producer_snapshots,
    remove_and_delete_segments,
    replace_segments,
    split_overflowed_segment,
)


class LogChanges(LogBase):
    """What removes or replaces segments of a log; see `Log`."""

    def delete_old_segments(self) -> list[RetentionVerdict]:
        """Delete what retention says; return what each rule said of each segment it came to.

        Raises:
            StorageError: files could not be changed; the log directory is offline.

        Kafka: UnifiedLog.deleteOldSegments (4.2)
        """
        verdicts = []
        for rule in rules_for(self.config):
            verdicts += self._delete_by(rule)
        return verdicts

    def _delete_by(self, rule: Rule) -> list[RetentionVerdict]:
        with self.lock, self.context.guard("delete segments of"):
            verdicts = rule(self.retention_state())
            for verdict in verdicts:
                self._tell_verdict(verdict)
            doomed = [verdict.segment for verdict in verdicts if verdict.is_deleted]
            if doomed:
                self._delete_segments(doomed, verdicts[0].rule)
            return verdicts

    def retention_state(self) -> LogState:
        """Return what the rules of retention ask for, as it is now."""
        return LogState(
            self.segments,
            self.log_start_offset,
            self.log_end_offset,
            self.high_watermark,
            self.config,
            self.context.clock.now(),
        )

    def _tell_verdict(self, verdict: RetentionVerdict) -> None:
        if self.context.observer is not None:
            self.context.tell(
                "segment deletable" if verdict.is_deleted else "segment kept",
                verdict.reason,
                verdict.segment.log.path,
                rule=verdict.rule,
                base_offset=verdict.segment.base_offset,
                value=verdict.value,
                threshold=verdict.threshold,
            )

    def _delete_segments(self, doomed: list[LogSegment], rule: str) -> None:
        if len(self.local.segments) == len(doomed):
            self.roll(reason="every segment is to be deleted, and one must stay")
        following = self.local.segments.higher(doomed[-1].base_offset)
        assert following is not None
        self.maybe_increment_log_start_offset(following.base_offset, f"segments deleted by {rule}")
        remove_and_delete_segments(
            self.context, self.local.segments, doomed, asynchronous=True, reason=rule
        )
        self.delete_snapshots(doomed, asynchronous=True)
        if self.local.synced_to < self.local.recovery_point:
            self.context.sync_names()  # not flushed, and no recovery would look at them

    def delete_snapshots(self, segments: Sequence[LogSegment], *, asynchronous: bool) -> None:
        """Remove the producer snapshots at the base offsets of segments that are gone."""
        delete_producer_snapshots(
            self.context, self.producer_state, segments, asynchronous=asynchronous
        )

    def truncate_to(self, offset: int) -> bool:
        """Remove the records from ``offset`` on; return whether there were any.

        A batch that straddles the offset goes whole, so a gap may stay before it.

        Raises:
            ValueError: the offset is negative.
            StorageError: files could not be changed; the log directory is offline.

        Kafka: UnifiedLog.truncateTo (4.2)
        """
        if offset < 0:
            raise ValueError(f"{self.topic_partition} cannot be truncated to offset {offset}")
        with self.lock, self.context.guard("truncate"):
            if offset >= self.log_end_offset:
                self.leader_epochs.truncate_from_end_async_flush(self.log_end_offset)
                return False
            if self.segments[0].base_offset > offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self.delete_snapshots(self.local.truncate_to(offset), asynchronous=True)
            self.leader_epochs.truncate_from_end_async_flush(offset)
            self.watermarks.log_start_offset = min(offset, self.log_start_offset)
            self._rebuild_producer_state(offset)
            self.context.sync_names()  # snapshots that came back would tell of other batches
            self.watermarks.follow_end()
            return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove all records and begin anew.

        Args:
            offset: that the next record gets.
            log_start_offset: ``offset`` when None.

        Raises:
            StorageError: files could not be changed; the log directory is offline.

        Kafka: UnifiedLog.truncateFullyAndStartAt (4.2)
        """
        with self.lock, self.context.guard("truncate"):
            self.local.truncate_fully_and_start_at(offset)
            self.leader_epochs.clear_and_flush()
            self.producer_state.truncate_fully_and_start_at(offset)
            start = offset if log_start_offset is None else log_start_offset
            self.watermarks.log_start_offset = start
            self._rebuild_producer_state(offset)
            self.watermarks.update(self.local.end)

    def _rebuild_producer_state(self, last_offset: int) -> None:
        rebuild_producer_state(
            self.producer_state,
            self.local.segments,
            self.log_start_offset,
            last_offset,
            self.context.clock.now(),
            reload_from_clean_shutdown=False,
            observer=self.context.observer,
        )

    def replace_segments(
        self, new_segments: Sequence[LogSegment], old_segments: Sequence[LogSegment], reason: str
    ) -> None:
        """Put `.cleaned` segments in the place of others so that a crash leaves all or none.

        Raises:
            StorageError: files could not be renamed; the log directory is offline.

        Kafka: UnifiedLog.replaceSegments (4.2)
        """
        with self.lock, self.context.guard("replace segments of"):
            self.local.check_open()
            deleted = replace_segments(
                self.context, self.local.segments, new_segments, old_segments, reason=reason
            )
            self.delete_snapshots(deleted, asynchronous=True)

    def split_overflowed_segment(self, segment: LogSegment) -> list[LogSegment]:
        """Split a segment whose offsets lie too far from its base; return the parts.

        Raises:
            StorageError: files could not be written; the log directory is offline.

        Kafka: UnifiedLog.splitOverflowedSegment (4.2)
        """
        with self.lock, self.context.guard("split a segment of"):
            self.local.check_open()
            result = split_overflowed_segment(self.context, self.local.segments, segment)
            self.delete_snapshots(result.deleted, asynchronous=True)
            return result.new
