"""What a log is made of, and what all that changes it builds on: watermarks, rolling, flushing.

Kafka: UnifiedLog (4.2)
"""

import threading
from typing import Final
from uuid import UUID

from workbench.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from workbench.files.names import PARTITION_METADATA, TopicPartition
from workbench.files.partition_metadata import PartitionMetadata
from workbench.log.config import LogConfig
from workbench.log.context import LogContext
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.local_log import LocalLog
from workbench.log.producer_state import ProducerStateManager
from workbench.log.segment import LogSegment
from workbench.log.watermarks import Watermarks

PRODUCER_EXPIRY_INTERVAL_MS: Final = 600_000


class LogBase:
    """The parts of a log and what they share; see `Log`.

    Attributes:
        context: folder, configuration, file system, clock.
        local: the segments.
        leader_epochs: where each leader's time began.
        producer_state: who has written what.
        watermarks: up to where consumers may read.
        topic_id: of the topic; None if `partition.metadata` does not tell.
        lock: held by whatever changes the log.
        expiry_task: forgets producers that have been silent for long, every ten minutes.

    Kafka: UnifiedLog (4.2)
    """

    def __init__(
        self,
        context: LogContext,
        local: LocalLog,
        leader_epochs: LeaderEpochCache,
        producer_state: ProducerStateManager,
        log_start_offset: int,
        producer_expiry_interval_ms: int = PRODUCER_EXPIRY_INTERVAL_MS,
    ) -> None:
        self.context = context
        self.local = local
        self.leader_epochs = leader_epochs
        self.producer_state = producer_state
        self.lock = threading.RLock()
        first = local.segments.first
        start = max(log_start_offset, 0 if first is None else first.base_offset)
        self.watermarks = Watermarks(local, producer_state, start, self.lock)
        self.watermarks.raise_log_start(start)  # the recovery point is not before it
        self.topic_id = self._read_topic_id()
        self.expiry_task = context.scheduler.schedule(
            "PeriodicProducerExpirationCheck",
            self._remove_expired_producers,
            producer_expiry_interval_ms,
            producer_expiry_interval_ms,
        )

    def _remove_expired_producers(self) -> None:
        with self.lock:
            self.producer_state.remove_expired(self.context.clock.now())

    def __repr__(self) -> str:
        return (
            f"Log({self.topic_partition}, log_start_offset={self.log_start_offset}, "
            f"log_end_offset={self.log_end_offset}, segments={len(self.local.segments)})"
        )

    @property
    def topic_partition(self) -> TopicPartition:
        """Whose log it is."""
        return self.context.topic_partition

    @property
    def directory(self) -> str:
        """Path of the partition's folder."""
        return self.context.directory

    @property
    def parent_directory(self) -> str:
        """Path of the log directory."""
        return self.context.log_directory

    @property
    def is_future(self) -> bool:
        """Whether it is a copy that moves in from another log directory."""
        return self.context.kind == "future"

    @property
    def config(self) -> LogConfig:
        """Of the topic."""
        return self.context.config

    def update_config(self, config: LogConfig) -> LogConfig:
        """Replace the configuration; return the one before."""
        before, self.context.config = self.context.config, config
        return before

    @property
    def segments(self) -> list[LogSegment]:
        """The segments as they are now, ascending."""
        return self.local.segments.all

    @property
    def active_segment(self) -> LogSegment:
        """The one that is appended to."""
        return self.local.segments.active

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.local.segments.size

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read."""
        return self.watermarks.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.local.end_offset

    @property
    def high_watermark(self) -> int:
        """Records before it are on every replica in sync."""
        return self.watermarks.high

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the oldest transaction that is not decided; None if there is none."""
        return self.watermarks.first_unstable

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed consumers must stop."""
        return self.watermarks.last_stable

    @property
    def recovery_point(self) -> int:
        """The first offset that may not be on the disk yet."""
        return self.local.recovery_point

    @property
    def last_flush_time(self) -> int:
        """When the recovery point last rose; ms."""
        return self.local.last_flushed_ms

    def _read_topic_id(self) -> UUID | None:
        path = self.context.path(PARTITION_METADATA)
        if not self.context.fs.exists(path):
            return None
        with self.context.guard("read the topic id of"):
            return PartitionMetadata.decode(self.context.fs.read(path), path).topic_id

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Note the topic's id in `partition.metadata`; once noted it stays.

        Raises:
            InconsistentTopicIdError: the log has another.
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.assignTopicId (4.2)
        """
        if self.topic_id == topic_id:
            return
        if self.topic_id is not None:
            raise InconsistentTopicIdError(
                f"{self.topic_partition} has topic id {self.topic_id}, it cannot become {topic_id}"
            )
        path = self.context.path(PARTITION_METADATA)
        with self.lock, self.context.guard("write the topic id of"):
            self.context.fs.write_atomically(path, PartitionMetadata(topic_id=topic_id).encode())
            self.topic_id = topic_id

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, within log start and log end; return what it is now.

        Kafka: UnifiedLog.updateHighWatermark (4.2)
        """
        return self.watermarks.update(LogOffsetMetadata(offset))

    def maybe_increment_log_start_offset(self, offset: int, reason: str) -> bool:
        """Raise the log start offset; return whether it was lower. It never falls.

        Raises:
            OffsetOutOfRangeError: it would be above the high watermark.
            StorageError: the log directory is offline.

        Kafka: UnifiedLog.maybeIncrementLogStartOffset (4.2)
        """
        with self.lock, self.context.guard("raise the log start of"):
            if offset > self.high_watermark:
                where = f"{self.topic_partition} up to its high watermark"
                start = self.log_start_offset
                raise OffsetOutOfRangeError(offset, start, self.high_watermark + 1, where)
            if offset <= self.log_start_offset:
                return False
            self.local.check_open()
            before = self.log_start_offset
            self.watermarks.raise_log_start(offset)
            self.leader_epochs.truncate_from_start_async_flush(offset)
            self.producer_state.on_log_start_offset_incremented(offset)
            self.watermarks.update_first_unstable()
            self.context.tell("log start offset raised", reason, before=before, after=offset)
            return True

    def delete_records(self, before_offset: int) -> int:
        """Let the log start at ``before_offset``; return where it starts now.

        The files go when retention next runs.

        Raises:
            OffsetOutOfRangeError: it is above the high watermark, where records are not safe yet.

        Kafka: Partition.deleteRecordsOnLeader (4.2)
        """
        self.maybe_increment_log_start_offset(before_offset, "a client deleted records")
        return self.log_start_offset

    def roll(self, expected_next_offset: int = 0, reason: str = "asked for") -> LogSegment:
        """Make a new active segment and return it; the old one is flushed by the scheduler.

        Args:
            expected_next_offset: base offset of the new one where it is above the log's end.
            reason: why, for the observer.

        Raises:
            ValueError: a segment with records begins there already, or behind it.
            StorageError: files could not be made; the log directory is offline.

        Kafka: UnifiedLog.roll (4.2)
        """
        with self.lock, self.context.guard("roll"):
            segment = self.local.roll(expected_next_offset, reason)
            self.producer_state.update_map_end_offset(segment.base_offset)
            snapshot = self.producer_state.take_snapshot(sync=False)
            self.watermarks.follow_end()

        def flush_rolled() -> None:
            with self.context.guard("flush the snapshot of"):
                if snapshot is not None:
                    self.producer_state.flush_snapshot(snapshot)
            self.flush_up_to(segment.base_offset)

        self.context.scheduler.schedule("flush-log", flush_rolled)
        return segment

    def flush(self, *, force_active_segment: bool = False) -> None:
        """Return when all records are on the disk.

        Args:
            force_active_segment: also the active segment that has no records.

        Raises:
            StorageError: they may not be; the log directory is offline.

        Kafka: UnifiedLog.flush (4.2)
        """
        end = self.log_end_offset
        self._flush(end, end + 1 if force_active_segment else end)

    def flush_up_to(self, offset: int) -> None:
        """Return when the records below ``offset`` are on the disk; errors as `flush`."""
        self._flush(offset, offset)

    def _flush(self, offset: int, flush_offset: int) -> None:
        with self.context.guard("flush"):
            if flush_offset <= self.local.recovery_point:
                return
            before = self.local.recovery_point
            try:
                state = self.local.flush(flush_offset)
            except FileNotFoundError:  # a segment was deleted, or the folder renamed, meanwhile
                with self.lock:
                    if self.local.is_closed:
                        return
                    state = self.local.flush(flush_offset)
            with self.lock:
                self.local.mark_flushed(offset, state)
            self.context.tell("flushed", "", recovery_point=offset, before=before)
