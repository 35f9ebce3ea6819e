"""The log of one partition, as in a broker: append, read, roll, flush, truncate, apply retention.

Locks: `Log.lock` guards everything that changes the log. Appends, rolls, truncation, deletion,
renaming and moves of the high watermark or the log start offset hold it. A read uses the segments
and the log end offset as they are at its beginning. It holds no lock, except for a moment if the
position of the high watermark or of an undecided transaction is still unknown; segments that are
deleted meanwhile can still be read. Flushing syncs without the lock and takes it to raise the
recovery point, unless the log was truncated meanwhile. Below it, and never held while waiting for
it, are the lock of the leader epochs, that of each index (its entries in memory, its file's size)
and `File.naming` of each file (its name while it is opened or renamed), taken in this order.

Kafka: UnifiedLog (4.2)
"""

import random
from collections.abc import Callable, Sequence
from typing import Final, Literal, Self
from uuid import UUID

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.log_config import LogConfig
from workbench.config.producer_state_config import ProducerStateConfig
from workbench.errors import InconsistentTopicIdError, LogDirectoryError, OffsetOutOfRangeError
from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.file_records import TimestampAndOffset
from workbench.files.indexes.transaction_index import AbortedTxn
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.layout.integers import INT32_MAX
from workbench.log.append.append_info import LogAppendInfo
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.appending import append
from workbench.log.base_log import BaseLog, read_topic_id, write_topic_id
from workbench.log.context import LogContext
from workbench.log.fetch import FetchData, LogOffsetMetadata
from workbench.log.flushing import flush, flush_up_to, roll
from workbench.log.loading.load_parts import load_parts
from workbench.log.producers.state import delete_producer_snapshots
from workbench.log.retention import LogState, RetentionVerdict
from workbench.log.segments.files import remove_and_delete_segments
from workbench.log.segments.replacing import replace_segments
from workbench.log.segments.segment import LogSegment
from workbench.log.segments.splitting import split_overflowed_segment
from workbench.log.shortening import (
    delete_old_segments,
    maybe_increment_log_start_offset,
    retention_state,
    truncate_fully_and_start_at,
    truncate_to,
)
from workbench.log.timestamp_search import find_offset
from workbench.record.memory_records import MemoryRecords, Pair
from workbench.runtime.clock import Clock, SystemClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.metrics import LogMetrics
from workbench.runtime.scheduler import Scheduler, ThreadScheduler
from workbench.runtime.steps import Observer

NO_CHECKPOINT = 0
LATEST_EPOCH = INT32_MAX
PRODUCER_EXPIRY_INTERVAL_MS: Final = 600_000

Isolation = Literal["log_end", "high_watermark", "read_committed"]


class Log(BaseLog):
    """The log of one partition; made by `Log.open`. Threads may share it.

    `BaseLog` has its parts, such as the segments, and its offsets.

    Attributes:
        topic_id: the topic's id; None if `partition.metadata` does not have it.
        commits_appends: whether the log is the only replica, so that records that a leader appends
            are committed: the high watermark follows the log end offset.
        expiry_task: removes producers that wrote nothing for a long time, every ten minutes.

    Kafka: UnifiedLog (4.2)
    """

    @classmethod
    def open(
        cls,
        directory: str,
        config: LogConfig | None = None,
        *,
        log_start_offset: int = NO_CHECKPOINT,
        recovery_point: int = NO_CHECKPOINT,
        had_clean_shutdown: bool = True,
        fs: FileSystem = LOCAL,
        clock: Clock | None = None,
        scheduler: Scheduler | None = None,
        failures: LogDirFailures | None = None,
        producer_config: ProducerStateConfig | None = None,
        rng: random.Random | None = None,
        observer: Observer | None = None,
        remaining: Callable[[int], None] | None = None,
        metrics: LogMetrics | None = None,
        rules: BrokerRules = MODELED_RULES,
    ) -> Self:
        """Load the log in a folder, creating it if missing, and recover it if necessary.

        Args:
            directory: path of the partition directory, ``topic-partition``.
            config: the topic's configuration; Kafka's defaults if None.
            log_start_offset: the checkpointed log start offset.
            recovery_point: the checkpointed recovery point.
            had_clean_shutdown: whether the log was closed cleanly when it was last used.
            fs: the file system that is written through.
            clock: the clock; the machine's if None.
            scheduler: runs deletions and flushes; one thread of its own, until the log is closed,
                if None.
            failures: the offline directories, shared by the logs of a manager.
            producer_config: the configuration of producer states.
            rng: source of the jitter of segments.
            observer: receives each step.
            remaining: receives the number of segments left to recover.
            metrics: the metrics, shared by the logs of a manager; its own if None.
            rules: how brokers of the version that is assumed behave.

        Raises:
            LogDirectoryError: the folder's name is not that of a partition directory, or it cannot
                be written to.
            StorageError, OSError: files could not be read or changed.
            CorruptFileError, UnsupportedFormatError: see `LogLoader.load`; a broker would not
                start.

        Kafka: UnifiedLog.create (4.2)
        """
        fs.require_writable(directory)
        own = ThreadScheduler(1)
        context = LogContext(
            directory,
            _topic_partition(directory),
            config or LogConfig.of({}),
            fs,
            clock or SystemClock(),
            scheduler or own,
            failures or LogDirFailures(),
            observer,
            rng or random.Random(),  # noqa: S311  # spreads rolls over time, keeps no secret
            metrics=metrics or LogMetrics(),
            rules=rules,
        )
        parts = load_parts(
            context,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            had_clean_shutdown=had_clean_shutdown,
            producer_config=producer_config or ProducerStateConfig(),
            remaining=remaining,
        )
        log = cls(context, *parts)
        log._own_scheduler = own
        return log

    def __post_init__(self) -> None:
        super().__post_init__()
        self.topic_id = read_topic_id(self.context)
        self.commits_appends = False
        self._own_scheduler: ThreadScheduler | None = None
        self.expiry_task = self.context.scheduler.schedule(
            "PeriodicProducerExpirationCheck",
            self._remove_expired_producers,
            PRODUCER_EXPIRY_INTERVAL_MS,
            PRODUCER_EXPIRY_INTERVAL_MS,
        )

    def __repr__(self) -> str:
        return (
            f"Log({self.topic_partition}, log_start_offset={self.log_start_offset}, "
            f"log_end_offset={self.log_end_offset}, segments={len(self.local.segments)})"
        )

    def take_as_copied(self) -> None:
        """Assume that the remote tier has each segment that a broker would have copied by now.

        Those are the segments before the active one, up to the last stable offset. Nothing changes
        if the topic is not in a remote tier.

        Kafka: RemoteLogManager.RLMCopyTask.candidateLogSegments (4.2)
        """
        if self.config.copies_to_remote and self.context.rules.has_remote_tier:
            end = min(self.local.segments.active.base_offset, self.last_stable_offset)
            bases = [
                each.base_offset for each in self.local.segments.all if each.base_offset <= end
            ]
            self.highest_remote_offset = max(bases, default=0) - 1

    def update_config(self, config: LogConfig) -> LogConfig:
        """Replace the configuration; return the one before."""
        return self.context.update_config(config)

    def append(
        self, records: Sequence[Pair | tuple[int, bytes | None, bytes | None]]
    ) -> LogAppendInfo:
        """Append one batch of (key, value), or (timestamp in ms, key, value), as a leader does.

        Raises:
            AppendError, StorageError: see `append_as_leader`.
        """
        batch = MemoryRecords.of(*records, timestamp=self.context.clock.now())
        return self.append_as_leader(batch)

    def append_as_leader(
        self,
        records: MemoryRecords,
        leader_epoch: int = 0,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
    ) -> LogAppendInfo:
        """Append a client's or coordinator's records; the log assigns the offsets, in place.

        Args:
            records: changed in place.
            leader_epoch: this leader's epoch.
            origin: the source of the records; those of the controller keep their offsets.
            transaction_version: version that the transaction coordinator sends with a marker.

        Raises:
            AppendError, CorruptRecordError: the records cannot be appended; nothing was written.
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.appendAsLeader (4.2)
        """
        keeps = origin is AppendOrigin.RAFT_LEADER
        info = append(
            self,
            records,
            origin,
            leader_epoch,
            keeps_offsets=keeps,
            transaction_version=transaction_version,
        )
        if self.commits_appends:
            self.watermarks.commit()
        return info

    def append_as_follower(
        self, records: MemoryRecords, leader_epoch: int = LATEST_EPOCH
    ) -> LogAppendInfo:
        """Append a leader's records, byte for byte.

        Args:
            records: batches with their offsets.
            leader_epoch: the epoch that the follower knows; batches of a later one are skipped.

        Raises:
            InvalidRecordError: a batch of magic 2 has no partition leader epoch: no leader sent it;
                nothing was written.
            OffsetsOutOfOrderError, UnexpectedAppendOffsetError, CorruptRecordError: they cannot
                be appended; nothing was written.
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.appendAsFollower (4.2)
        """
        origin = AppendOrigin.REPLICATION
        return append(self, records, origin, leader_epoch, keeps_offsets=True)

    def read(
        self,
        start_offset: int,
        max_bytes: int = 1 << 20,
        isolation: Isolation = "log_end",
        *,
        min_one_message: bool = True,
    ) -> FetchData:
        """Return batches of one segment, starting with the one that holds ``start_offset``.

        Args:
            start_offset: first offset wanted; the batch may begin before it.
            max_bytes: most bytes to return; the last batch may be incomplete.
            isolation: the limit: the log end offset, the high watermark, or the last stable offset,
                which adds the transactions to skip.
            min_one_message: whether to return the first batch whole, even if it is larger.

        Raises:
            OffsetOutOfRangeError: the log does not have the offset.
            StorageError: reading failed; the log directory is offline.
            OSError: the process lacks memory or descriptors.

        Kafka: UnifiedLog.read (4.2)
        """
        if start_offset < self.log_start_offset:
            where = str(self.topic_partition)
            start, end = self.log_start_offset, self.log_end_offset
            raise OffsetOutOfRangeError(start_offset, start, end, where)
        with self.context.guard("read from", changes_nothing=True):
            return self.local.read(
                start_offset,
                max_bytes,
                self.limit(isolation),
                min_one_message=min_one_message,
                with_aborted=isolation == "read_committed",
            )

    def limit(self, isolation: Isolation) -> LogOffsetMetadata:
        """Return the offset where a read of an isolation ends, and its position.

        Kafka: UnifiedLog.fetchOffsetSnapshot (4.2)
        """
        if isolation == "log_end":
            return self.local.end
        if isolation == "high_watermark":
            return self.watermarks.high_metadata()
        return self.watermarks.stable_metadata()

    def collect_aborted_transactions(self, start_offset: int, upper_bound: int) -> list[AbortedTxn]:
        """Return the aborted transactions that began before ``upper_bound``.

        Those that ended before the segment that holds ``start_offset`` are omitted. This is for the
        cleaner: what a consumer must skip is in the result of `read`.

        Kafka: UnifiedLog.collectAbortedTransactions (4.2)
        """
        return self.local.collect_aborted(self.log_start_offset, start_offset, upper_bound)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record at or after a time in ms, or a special one; see `find_offset`.

        Kafka: UnifiedLog.fetchOffsetByTimestamp (4.2)
        """
        with self.context.guard("look up an offset of", changes_nothing=True):
            return find_offset(self.local, self.leader_epochs, self.log_start_offset, timestamp)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest leader epoch up to ``epoch`` and its end offset; None if unknown.

        Kafka: UnifiedLog.endOffsetForEpoch (4.2)
        """
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    def roll(
        self, expected_next_offset: int = 0, reason: str = "a caller asked for it"
    ) -> LogSegment:
        """Create a new active segment and return it; the scheduler flushes the old one.

        Args:
            expected_next_offset: base offset of the new one if it is above the log end offset.
            reason: why, for the observer.

        Raises:
            ValueError: a segment with records already begins there or after it.
            StorageError: files could not be created; the log directory is offline.

        Kafka: UnifiedLog.roll (4.2)
        """
        return roll(self, expected_next_offset, reason)

    def flush(self, *, force_active_segment: bool = False) -> None:
        """Return when all records are on the disk.

        Args:
            force_active_segment: whether to flush the active segment even if it has no records.

        Raises:
            StorageError: they might not be; the log directory is offline.

        Kafka: UnifiedLog.flush (4.2)
        """
        flush(self, force_active_segment=force_active_segment)

    def flush_up_to(self, offset: int) -> None:
        """Return when the records below ``offset`` are on the disk; for errors see `flush`."""
        flush_up_to(self, offset)

    def commit(self) -> None:
        """Raise the high watermark to the log end offset; see `Watermarks.commit`."""
        self.watermarks.commit()

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, limited to log start offset and log end offset; return it.

        Kafka: UnifiedLog.updateHighWatermark (4.2)
        """
        return self.watermarks.update(LogOffsetMetadata(offset))

    def maybe_increment_high_watermark(self, offset: LogOffsetMetadata) -> bool:
        """Raise the high watermark; return whether it rose. See `Watermarks.increase`.

        Raises:
            ValueError: it would be above the log end offset.

        Kafka: UnifiedLog.maybeIncrementHighWatermark (4.2)
        """
        return self.watermarks.increase(offset) is not None

    def maybe_increment_log_start_offset(self, offset: int, reason: str) -> bool:
        """Raise the log start offset; return whether it rose. It never falls.

        Raises:
            OffsetOutOfRangeError: it would be above the high watermark.
            StorageError: the log directory is offline.

        Kafka: UnifiedLog.maybeIncrementLogStartOffset (4.2)
        """
        return maybe_increment_log_start_offset(self, offset, reason)

    def delete_records(self, before_offset: int) -> int:
        """Raise the log start offset to ``before_offset``; return the new log start offset.

        The next run of retention deletes the files.

        Raises:
            OffsetOutOfRangeError: it is above the high watermark.

        Kafka: Partition.deleteRecordsOnLeader (4.2)
        """
        self.maybe_increment_log_start_offset(before_offset, "a client deleted records")
        return self.log_start_offset

    def delete_old_segments(self) -> list[RetentionVerdict]:
        """Apply retention; return the verdict of each rule on each segment that it checked.

        Raises:
            StorageError: files could not be changed; the log directory is offline.

        Kafka: UnifiedLog.deleteOldSegments (4.2)
        """
        return delete_old_segments(self)

    def retention_state(self) -> LogState:
        """Return the current state that the retention rules check."""
        return retention_state(self)

    def truncate_to(self, offset: int) -> bool:
        """Remove the records at and after ``offset``; return whether there were any.

        A batch that straddles the offset is removed whole, which may leave a gap before it.

        Raises:
            ValueError: the offset is negative.
            StorageError: files could not be changed; the log directory is offline.

        Kafka: UnifiedLog.truncateTo (4.2)
        """
        return truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove all records and restart at an offset.

        Args:
            offset: the next record's offset.
            log_start_offset: the new log start offset; ``offset`` if None.

        Raises:
            StorageError: files could not be changed; the log directory is offline.

        Kafka: UnifiedLog.truncateFullyAndStartAt (4.2)
        """
        truncate_fully_and_start_at(self, offset, log_start_offset)

    def replace_segments(
        self, new_segments: Sequence[LogSegment], old_segments: Sequence[LogSegment], reason: str
    ) -> None:
        """Replace segments with `.cleaned` ones so that a crash leaves all old or all new ones.

        Raises:
            StorageError: files could not be renamed; the log directory is offline.

        Kafka: UnifiedLog.replaceSegments (4.2)
        """
        with self.lock, self.context.guard("replace segments of"):
            self.local.check_open()
            deleted = replace_segments(
                self.context, self.local.segments, new_segments, old_segments, reason=reason
            )
            delete_producer_snapshots(self.context, self.producer_state, deleted, asynchronous=True)

    def split_overflowed_segment(self, segment: LogSegment) -> list[LogSegment]:
        """Split a segment whose offsets are too far from its base offset; return the parts.

        Raises:
            StorageError: files could not be written; the log directory is offline.

        Kafka: UnifiedLog.splitOverflowedSegment (4.2)
        """
        with self.lock, self.context.guard("split a segment of"):
            self.local.check_open()
            result = split_overflowed_segment(self.context, self.local.segments, segment)
            delete_producer_snapshots(
                self.context, self.producer_state, result.deleted, asynchronous=True
            )
            return result.new

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Write the topic's id to `partition.metadata`; it cannot be changed later.

        Raises:
            InconsistentTopicIdError: the log has another id.
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.assignTopicId (4.2)
        """
        if self.topic_id == topic_id:
            return
        if self.topic_id is not None:
            raise InconsistentTopicIdError(
                f"{self.topic_partition} has topic id {self.topic_id}, it cannot become {topic_id}"
            )
        with self.lock:
            write_topic_id(self.context, topic_id)
            self.topic_id = topic_id

    def take_producer_snapshot(self) -> None:
        """Write the producer state at the log end offset to a snapshot.

        Raises:
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.takeProducerSnapshot (4.2)
        """
        with (
            self.lock,
            self.context.guard("write a producer snapshot of", changes_nothing=True),
        ):
            self.local.check_open()
            self.producer_state.take_snapshot()

    def rename_directory(self, name: str, *, reinitialize: bool = True) -> None:
        """Rename the partition directory within the same log directory.

        Args:
            name: the new name of the directory.
            reinitialize: whether the log stays in use; False if it is about to be deleted.

        Raises:
            StorageError: the directory could not be renamed; the log directory is offline.

        Kafka: UnifiedLog.renameDir (4.2)
        """
        with self.lock, self.context.guard("rename the folder of"):
            if self.local.rename_directory(name):
                self.producer_state.update_directory(self.directory)
                if not reinitialize:
                    self.leader_epochs.clear()

    def close(self) -> None:
        """Write what makes the next load quick, and close the files; a second call does nothing.

        Afterwards the log cannot be written to, but it can be deleted.

        Raises:
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.close (4.2)
        """
        with self.lock, self.context.guard("close"):
            if self.local.is_closed:
                return
            self.local.is_closed = True
            self.expiry_task.cancel()
            self.producer_state.take_snapshot()
            self.local.segments.close()
            self.context.fs.sync_directory(self.directory)  # the snapshot's name
        self._end_own_scheduler()

    def close_handlers(self) -> None:
        """Close the files without writing, after a failure of the disk."""
        with self.lock:
            self.local.is_closed = True
            self.expiry_task.cancel()
            self.local.segments.close_handlers()
        self._end_own_scheduler()

    def delete(self) -> None:
        """Remove all files and the partition directory.

        Raises:
            StorageError: the files could not be removed; the log directory is offline.

        Kafka: UnifiedLog.delete (4.2)
        """
        with self.lock, self.context.guard("delete"):
            self.local.is_closed = True
            self.expiry_task.cancel()
            self.leader_epochs.clear()
            doomed = self.segments
            remove_and_delete_segments(
                self.context,
                self.local.segments,
                doomed,
                asynchronous=False,
                reason="the log is deleted",
            )
            delete_producer_snapshots(self.context, self.producer_state, doomed, asynchronous=False)
            self.local.remove_directory()
        self._end_own_scheduler()

    def _end_own_scheduler(self) -> None:
        if self._own_scheduler is not None:
            self._own_scheduler.shutdown(wait=False)

    def _remove_expired_producers(self) -> None:
        with self.lock:
            self.producer_state.remove_expired(self.context.clock.now())


def _topic_partition(directory: str) -> TopicPartition:
    name = parse_directory_name(directory.rstrip("/").rpartition("/")[2])
    if name is None:
        raise LogDirectoryError(directory, "the folder is not named after a topic and a partition")
    return TopicPartition(name.topic, name.partition)
