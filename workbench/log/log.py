"""The log of one partition, as a broker keeps it: append, read, roll, flush, truncate, retain.

Locks: `Log.lock` guards everything that changes the log. Appends, rolls, truncation, deletion,
renaming and what moves the high watermark or the log start hold it. Reading takes the segments and
the log's end as they are at its beginning and holds no lock, but for a moment where the place of
the high watermark or of an undecided transaction is not known yet; segments that are deleted
meanwhile can still be read from. Flushing syncs without the lock and takes it to raise the recovery
point, unless the log was truncated meanwhile. Below it, and never held by who waits for it, are the
lock of the leader epochs, that of each index (its entries in memory, its file's size) and
`File.naming` of each file (its name while it is opened or renamed), taken in this order.

Kafka: UnifiedLog (4.2)
"""

import errno
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from workbench.file_system.local import LOCAL, FileSystem
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.log.append_info import LogAppendInfo
from workbench.log.append_origin import AppendOrigin
from workbench.log.appending import append
from workbench.log.clock import Clock, SystemClock
from workbench.log.config import LogConfig
from workbench.log.context import LogContext
from workbench.log.failures import LogDirFailures
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.log.loader import LogLoader
from workbench.log.local_log import LocalLog
from workbench.log.log_changes import LogChanges
from workbench.log.log_reading import LogReading
from workbench.log.producer_state import ProducerStateConfig, ProducerStateManager
from workbench.log.scheduler import Scheduler, ThreadScheduler
from workbench.log.segment_files import remove_and_delete_segments
from workbench.log.segments import LogSegments
from workbench.log.steps import Observer
from workbench.record.memory_records import MemoryRecords, Pair

NO_CHECKPOINT = 0
LATEST_EPOCH = 2**31 - 1


class Log(LogReading, LogChanges):
    """The log of one partition; made by `Log.open`. Threads may share it.

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
    ) -> Self:
        """Load the log of a folder, made if it is not there, and recover it if that is due.

        Args:
            directory: path of the partition's folder, ``topic-partition``.
            config: of the topic; Kafka's defaults when None.
            log_start_offset: as checkpointed.
            recovery_point: as checkpointed.
            had_clean_shutdown: whether the log was closed in order when it was last used.
            fs: what is written through.
            clock: the machine's when None.
            scheduler: runs deletions and flushes; one thread of its own when None.
            failures: shared by the logs of a manager.
            producer_config: what producer states go by.
            rng: chooses the jitter of segments.
            observer: is told each step.
            remaining: is told how many segments are still to be recovered.

        Raises:
            ValueError: the folder's name is not one of a partition's.
            StorageError, OSError: files could not be read or changed.
            CorruptRecordError, UnsupportedFormatError: as `LogLoader.load`; a broker would not
                start.

        Kafka: UnifiedLog.create (4.2)
        """
        clock = clock or SystemClock()
        context = LogContext(
            directory,
            _topic_partition(directory),
            config or LogConfig.of({}),
            fs,
            clock,
            scheduler or ThreadScheduler(1),
            failures or LogDirFailures(),
            observer,
            rng or random.Random(),  # noqa: S311  # spreads rolls over time, keeps no secret
        )
        if not fs.exists(directory):
            fs.make_directory(directory)
        epochs = LeaderEpochCache(context)
        state = ProducerStateManager(
            context.topic_partition,
            directory,
            fs,
            producer_config or ProducerStateConfig(),
            clock,
            observer,
        )
        segments = LogSegments()
        loaded = LogLoader(
            context,
            segments,
            had_clean_shutdown=had_clean_shutdown,
            log_start_offset_checkpoint=log_start_offset,
            recovery_point_checkpoint=recovery_point,
            leader_epochs=epochs,
            producer_state=state,
            remaining=remaining,
        ).load()
        active = segments.active
        end = LogOffsetMetadata(loaded.next_offset, active.base_offset, active.size)
        local = LocalLog(context, segments, loaded.recovery_point, end)
        return cls(context, local, epochs, state, loaded.log_start_offset)

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
        """Append what a client or coordinator sent; the log gives the offsets, in place.

        Args:
            records: changed in place.
            leader_epoch: of this leader.
            origin: where they come from; those of the controller keep their offsets.
            transaction_version: as the transaction coordinator says with a marker.

        Raises:
            AppendError, CorruptRecordError: they may not be appended; nothing was written.
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.appendAsLeader (4.2)
        """
        keeps = origin is AppendOrigin.RAFT_LEADER
        return append(
            self,
            records,
            origin,
            leader_epoch,
            keeps_offsets=keeps,
            transaction_version=transaction_version,
        )

    def append_as_follower(
        self, records: MemoryRecords, leader_epoch: int = LATEST_EPOCH
    ) -> LogAppendInfo:
        """Append what a leader sent, byte for byte.

        Args:
            records: with their offsets.
            leader_epoch: that the follower knows; batches of a later one are left out.

        Raises:
            OffsetsOutOfOrderError, UnexpectedAppendOffsetError, CorruptRecordError: they may not
                be appended; nothing was written.
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.appendAsFollower (4.2)
        """
        origin = AppendOrigin.REPLICATION
        return append(self, records, origin, leader_epoch, keeps_offsets=True)

    def take_producer_snapshot(self) -> None:
        """Write the producer state at the log's end to a snapshot.

        Raises:
            StorageError: writing failed; the log directory is offline.

        Kafka: UnifiedLog.takeProducerSnapshot (4.2)
        """
        with self.lock, self.context.guard("write a producer snapshot of"):
            self.local.check_open()
            self.producer_state.take_snapshot()

    def rename_directory(self, name: str, *, reinitialize: bool = True) -> None:
        """Give the folder another name in the same log directory.

        Args:
            name: of the folder.
            reinitialize: the log is used on; False when it is about to be deleted.

        Raises:
            StorageError: it could not be renamed; the log directory is offline.

        Kafka: UnifiedLog.renameDir (4.2)
        """
        with self.lock, self.context.guard("rename the folder of"):
            if self.local.rename_directory(name):
                self.producer_state.update_directory(self.directory)
                if not reinitialize:
                    self.leader_epochs.clear()

    def close(self) -> None:
        """Write what a log is loaded from quickly, and close the files; again: nothing happens.

        Nothing more can be written to the log then; it can still be deleted.

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

    def close_handlers(self) -> None:
        """Close the files and write nothing more, after a failure of the disk."""
        with self.lock:
            self.local.is_closed = True
            self.expiry_task.cancel()
            self.local.segments.close_handlers()

    def delete(self) -> None:
        """Remove all files and the folder.

        Raises:
            StorageError: they could not be removed; the log directory is offline.

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
            self.delete_snapshots(doomed, asynchronous=False)
            self._remove_folder()

    def _remove_folder(self) -> None:
        """Remove the folder and what is in it; what was put off may still write a file there."""
        fs = self.context.fs
        while True:
            for entry in fs.list(self.directory):
                if not entry.is_directory:
                    with suppress(FileNotFoundError):
                        fs.remove(self.context.path(entry.name))
            try:
                fs.remove_directory(self.directory)
            except OSError as error:
                is_refilled = error.errno == errno.ENOTEMPTY
                if is_refilled and not any(e.is_directory for e in fs.list(self.directory)):
                    continue
                raise
            return


def _topic_partition(directory: str) -> TopicPartition:
    name = parse_directory_name(directory.rstrip("/").rpartition("/")[2])
    if name is None:
        raise ValueError(f"{directory} is not named after a topic and a partition")
    return TopicPartition(name.topic, name.partition)
