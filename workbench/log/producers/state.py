"""The producers of one partition: their last batches and open transactions.

The state follows the log batch by batch and is kept in snapshots, one at each segment's start, so
loading a log reads only the batches after the newest one. The state gives the first unstable
offset, where read_committed consumers must stop.

Kafka: ProducerStateManager, ProducerStateManagerConfig (4.2)
"""

from bisect import insort
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from workbench.config.producer_state_config import ProducerStateConfig
from workbench.errors import CorruptSnapshotError
from workbench.file_system.local import FileSystem
from workbench.files.names import TopicPartition
from workbench.files.producer_snapshot import ProducerEntry
from workbench.layout.integers import INT64_MAX
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.context import LogContext
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.producer import (
    CompletedTransaction,
    ProducerAppendInfo,
    ProducerStateEntry,
    TxnMetadata,
)
from workbench.log.producers.snapshots import (
    FIRST_BUCKETS,
    LOAD_FACTOR,
    SnapshotFiles,
    in_hash_order,
)
from workbench.log.producers.verification import Verifications
from workbench.log.segments.segment import LogSegment
from workbench.runtime.clock import Clock
from workbench.runtime.steps import Observer, Reporter
from workbench.runtime.times import ms_text

LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60 * 1000
"""Time after its timeout when a transaction is late."""


class UnstableTransactions:
    """The transactions that are not stable: open, or ended and not replicated. Not thread-safe.

    Kafka: ProducerStateManager.ongoingTxns, unreplicatedTxns (4.2)
    """

    def __init__(self) -> None:
        self._open: dict[int, TxnMetadata] = {}
        self._offsets: list[int] = []  # of the transactions, ascending
        self._ended: dict[int, tuple[TxnMetadata, int]] = {}  # with the marker's offset

    @property
    def first_open(self) -> TxnMetadata | None:
        """The open transaction that began first; None if none is open."""
        return self._open[self._offsets[0]] if self._offsets else None

    @property
    def has_ended(self) -> bool:
        """Whether a transaction waits for the high watermark."""
        return bool(self._ended)

    @property
    def first_offset(self) -> LogOffsetMetadata | None:
        """Start of the first of all transactions; None if there is none.

        Kafka: ProducerStateManager.firstUnstableOffset (4.2)
        """
        undecided = self.first_open
        if not self._ended:
            return None if undecided is None else undecided.first_offset
        ended = self._ended[min(self._ended)][0].first_offset
        if undecided is not None and undecided.first_offset.offset < ended.offset:
            return undecided.first_offset
        return ended

    def begin(self, transaction: TxnMetadata) -> None:
        """Add a transaction that has begun."""
        offset = transaction.first_offset.offset
        if offset not in self._open:
            insort(self._offsets, offset)
        self._open[offset] = transaction

    def end(self, completed: CompletedTransaction) -> bool:
        """Let an open transaction wait for the high watermark; return whether it was open.

        Kafka: ProducerStateManager.completeTxn (4.2)
        """
        transaction = self._open.pop(completed.first_offset, None)
        if transaction is None:
            return False
        self._offsets.remove(completed.first_offset)
        self._ended[completed.first_offset] = (transaction, completed.last_offset)
        return True

    def stable_offset_after(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset after a transaction, still open here, is replicated.

        Kafka: ProducerStateManager.lastStableOffset (4.2)
        """
        for offset in self._offsets:
            if self._open[offset].producer_id != completed.producer_id:
                return offset
        return completed.last_offset + 1

    def forget_before(self, offset: int) -> None:
        """Remove the ended transactions whose markers are before ``offset``.

        Kafka: ProducerStateManager.removeUnreplicatedTransactions (4.2)
        """
        for first, (_, marker) in tuple(self._ended.items()):
            if marker < offset:
                del self._ended[first]

    def clear(self) -> None:
        """Remove all."""
        self._open.clear()
        self._offsets.clear()
        self._ended.clear()


class ProducerStateManager(Reporter):
    """The state of all producers of one partition at `map_end_offset`.

    Not thread-safe, except for removing snapshots and `has_late_transaction`.

    Attributes:
        topic_partition: the producers' partition.
        config: the configuration; may change.
        map_end_offset: offset up to which (exclusive) the log was applied.
        snapshots: the snapshot files.
        verifications: verifications of transactions whose batches have not come yet.

    Args:
        topic_partition: the partition, named in errors and steps.
        directory: path of the partition directory, which holds the snapshots.
        fs: the file system that is written through.
        config: the configuration; may change; shared by all logs.
        clock: the time, for the start of verifications.
        observer: receives steps about snapshots and transactions.
        snapshots: the files, if they are already known; None lists the directory.

    Raises:
        OSError: the directory cannot be listed.

    Kafka: ProducerStateManager (4.2)
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        directory: str,
        fs: FileSystem,
        config: ProducerStateConfig,
        clock: Clock,
        observer: Observer | None = None,
        *,
        snapshots: SnapshotFiles | None = None,
    ) -> None:
        self.config = config
        self.map_end_offset = 0
        self.topic_partition = topic_partition
        self.observer = observer
        self._producers: dict[int, ProducerStateEntry] = {}
        self._buckets = FIRST_BUCKETS
        self.verifications = Verifications(clock)
        self._transactions = UnstableTransactions()
        self._oldest_timestamp: int | None = None
        self._snapshot_offset = 0
        self.snapshots = snapshots or SnapshotFiles(directory, fs, observer)

    # Reading.

    @property
    def producers(self) -> Mapping[int, ProducerStateEntry]:
        """The entries by producer id, to be read only.

        Kafka: ProducerStateManager.activeProducers (4.2)
        """
        return MappingProxyType(self._producers)

    @property
    def is_empty(self) -> bool:
        """Whether it has no producers and no transactions that wait for the high watermark."""
        return not self._producers and not self._transactions.has_ended

    def active_producers(self) -> list[ProducerEntry]:
        """Return what a snapshot would hold now, in its order.

        Kafka: UnifiedLog.activeProducers (4.2)
        """
        return [entry.stored() for entry in in_hash_order(self._producers.values(), self._buckets)]

    def last_entry(self, producer_id: int) -> ProducerStateEntry | None:
        """Return the entry of a producer; None if there is none."""
        return self._producers.get(producer_id)

    @property
    def first_unstable_offset(self) -> LogOffsetMetadata | None:
        """Start of the oldest transaction that is open or ended above the high watermark.

        None if there is none. Segment and position are those of its start.
        """
        return self._transactions.first_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """Start of the oldest open transaction; None if none is open."""
        first = self._transactions.first_open
        return None if first is None else first.first_offset.offset

    def has_late_transaction(self, now: int) -> bool:
        """Return whether the oldest open transaction should have been aborted long ago."""
        oldest = self._oldest_timestamp
        if oldest is None or oldest <= 0:
            return False
        return now - oldest > self.config.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS

    # Appends.

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppendInfo:
        """Begin an append of a producer; nothing changes until `update`."""
        current = self._producers.get(producer_id) or ProducerStateEntry(producer_id)
        verification = self.verifications.get(producer_id)
        return ProducerAppendInfo(
            self.topic_partition, current, origin, verification, self.observer
        )

    def begin_verification(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool
    ) -> bool:
        """Return whether a transactional batch needs its coordinator's word before it is appended.

        It does unless the producer has an open transaction of that epoch here. Until such a batch
        is appended, none with a higher sequence is.

        Kafka: UnifiedLog.maybeStartTransactionVerification, hasOngoingTransaction (4.2)
        """
        entry = self._producers.get(producer_id)
        if (
            entry is not None
            and entry.producer_epoch == epoch
            and entry.current_transaction_first_offset is not None
        ):
            return False
        self.verifications.begin(
            producer_id, sequence, epoch, supports_epoch_bump=supports_epoch_bump
        )
        return True

    def update(self, append: ProducerAppendInfo) -> None:
        """Apply an append to its producer's state; call it once per append.

        Raises:
            ValueError: the append has no producer id.
        """
        updated = append.updated
        if updated.producer_id < 0:
            raise ValueError(
                f"{self.topic_partition}: producer id {updated.producer_id} is not valid"
            )
        current = self._producers.get(updated.producer_id)
        if current is None:
            self._add(updated)
        else:
            current.update(updated)
        for transaction in append.started:
            self._transactions.begin(transaction)
        self._find_oldest_timestamp()

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset after a transaction completes, for the transaction index.

        Call it before `complete_transaction`.
        """
        return self._transactions.stable_offset_after(completed)

    def complete_transaction(self, completed: CompletedTransaction) -> None:
        """Record the end of a transaction; it is unstable until the high watermark passes it.

        Raises:
            ValueError: no transaction begins there.

        Kafka: ProducerStateManager.completeTxn (4.2)
        """
        if not self._transactions.end(completed):
            raise ValueError(
                f"{self.topic_partition}: no transaction began at {completed.first_offset}, of "
                f"producer {completed.producer_id} or another"
            )
        self._find_oldest_timestamp()
        if self.observer is not None:
            end = "aborted" if completed.is_aborted else "committed"
            numbers = completed._asdict()
            self.tell("transaction completed", reason=end, **numbers)

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Remove the ended transactions whose markers are below the high watermark."""
        if self._transactions.has_ended:
            self._transactions.forget_before(high_watermark)

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """Follow the log start offset: transactions that ended before it are stable."""
        self._transactions.forget_before(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        latest = self.snapshots.latest
        self._snapshot_offset = log_start_offset if latest is None else latest

    @property
    def subject(self) -> object:
        """The partition."""
        return self.topic_partition

    def remove_expired(self, now: int) -> None:
        """Remove the producers that wrote nothing for a long time, and old verifications.

        Kafka: ProducerStateManager.removeExpiredProducers (4.2)
        """
        expired = [one for one in self._producers.values() if self._is_expired(now, one)]
        for entry in expired:
            del self._producers[entry.producer_id]
        self.verifications.forget_until(now - self.config.producer_id_expiration_ms)
        if expired and self.observer is not None:
            reason = f"no batch came for {ms_text(self.config.producer_id_expiration_ms, ' ms')}"
            numbers = {"producer_ids": [entry.producer_id for entry in expired], "now": now}
            self.tell("producers expired", reason=reason, **numbers)

    def update_map_end_offset(self, offset: int) -> None:
        """Record up to which offset (exclusive) the log was applied."""
        self.map_end_offset = offset

    # Snapshots, and going back to one.

    @property
    def latest_snapshot_offset(self) -> int | None:
        """Offset that the newest snapshot reaches up to (exclusive); None if there is none."""
        return self.snapshots.latest

    def take_snapshot(self, *, sync: bool = True) -> str | None:
        """Write a snapshot at `map_end_offset`, unless there is one there or later.

        Args:
            sync: whether to wait until it is on the disk.

        Returns:
            Its path; None if nothing was written.
        """
        if self.map_end_offset <= self._snapshot_offset:
            return None
        path = self.snapshots.write(self.map_end_offset, self.active_producers(), sync=sync)
        self._snapshot_offset = self.map_end_offset
        return path

    def flush_snapshot(self, path: str) -> None:
        """Return when a snapshot that was written without a sync is on the disk, if it exists.

        Kafka: UnifiedLog.flushProducerStateSnapshot (4.2)
        """
        self.snapshots.flush(path)

    def update_directory(self, directory: str) -> None:
        """Follow the partition directory to its new path.

        Kafka: ProducerStateManager.updateParentDir (4.2)
        """
        self.snapshots.update_directory(directory)

    def remove_stray_snapshots(self, base_offsets: Collection[int]) -> None:
        """Remove the snapshots that no segment begins at; see `SnapshotFiles.remove_strays`."""
        self.snapshots.remove_strays(base_offsets)

    def delete_snapshots_before(self, offset: int) -> None:
        """Remove the snapshots that reach up to less than ``offset``."""
        self.snapshots.remove_outside(
            offset, INT64_MAX, f"the snapshot is older than offset {offset}"
        )

    def remove_and_mark_snapshot_for_deletion(self, offset: int) -> str | None:
        """Append `.deleted` to a snapshot's name; see `SnapshotFiles.mark_for_deletion`."""
        return self.snapshots.mark_for_deletion(offset)

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now: int) -> None:
        """Go back to the newest snapshot of a log that was truncated to [log start, log end).

        Snapshots outside are removed. The state is kept if it is that of the log end offset.
        Otherwise producers that have expired by ``now`` are omitted, and batches after the snapshot
        must be read from the log. The log end offset must not be above the high watermark.

        Args:
            log_start_offset: inclusive.
            log_end_offset: exclusive.
            now: ms.
        """
        self.snapshots.remove_outside(
            log_start_offset + 1,
            log_end_offset,
            f"the snapshot is outside ({log_start_offset}, {log_end_offset}]",
            sync=(self.snapshots.latest or 0) > log_end_offset,
        )
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
            return
        self._clear()
        self._load(log_start_offset, now)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Remove all entries and snapshots, and restart at ``offset``."""
        self._clear()
        self.snapshots.remove_outside(1, 0, f"the log restarts at offset {offset}", sync=True)
        self._snapshot_offset = 0
        self.map_end_offset = offset

    def load_entries(self, entries: Iterable[ProducerStateEntry]) -> None:
        """Add entries, with their open transactions.

        Kafka: ProducerStateManager.loadProducerEntry (4.2)
        """
        for entry in entries:
            self._add(entry)
            first = entry.current_transaction_first_offset
            if first is not None:
                began = TxnMetadata(entry.producer_id, LogOffsetMetadata(first))
                self._transactions.begin(began)

    # Internals.

    def _add(self, entry: ProducerStateEntry) -> None:
        self._producers[entry.producer_id] = entry
        if len(self._producers) > self._buckets * LOAD_FACTOR:
            self._buckets *= 2

    def _clear(self) -> None:
        # A HashMap keeps its buckets when it is cleared.
        self._producers.clear()
        self._transactions.clear()
        self._oldest_timestamp = None

    def _load(self, log_start_offset: int, now: int) -> None:
        """Load the newest valid snapshot; invalid ones are removed."""
        while (offset := self.snapshots.latest) is not None:
            try:
                stored = self.snapshots.read(offset)
            except CorruptSnapshotError as error:
                self.snapshots.remove(offset, str(error))
                continue
            entries = (ProducerStateEntry.of(one) for one in stored)
            self.load_entries(one for one in entries if not self._is_expired(now, one))
            self._snapshot_offset = self.map_end_offset = offset
            self._find_oldest_timestamp()
            if self.observer is not None:
                path, count = self.snapshots.path(offset), len(self._producers)
                self.tell("producer snapshot loaded", path, offset=offset, count=count)
            return
        self._snapshot_offset = self.map_end_offset = log_start_offset

    def _is_expired(self, now: int, entry: ProducerStateEntry) -> bool:
        if entry.current_transaction_first_offset is not None:
            return False
        written = -1 if entry.last_timestamp is None else entry.last_timestamp
        return now - written >= self.config.producer_id_expiration_ms

    def _find_oldest_timestamp(self) -> None:
        first = self._transactions.first_open
        entry = None if first is None else self._producers.get(first.producer_id)
        self._oldest_timestamp = None if entry is None else entry.last_timestamp


def delete_producer_snapshots(
    context: LogContext,
    producer_state: ProducerStateManager,
    segments: Iterable[LogSegment],
    *,
    asynchronous: bool,
) -> None:
    """Rename the producer snapshots at the base offsets of segments to `.deleted`; remove them.

    Args:
        context: the log's context.
        producer_state: the log's, which forgets the snapshots.
        segments: segments that were removed from the log.
        asynchronous: whether to remove the files `file.delete.delay.ms` from now.

    Raises:
        OSError: a file cannot be renamed.
        StorageError: a file cannot be removed (even in the scheduled task); the log directory
            is offline.

    Kafka: UnifiedLog.deleteProducerSnapshots (4.2)
    """
    marked = [
        path
        for segment in segments
        if (path := producer_state.remove_and_mark_snapshot_for_deletion(segment.base_offset))
    ]
    if not marked:
        return
    context.names_changed = True
    log_directory = context.log_directory

    def remove() -> None:
        with context.failures.guard(
            log_directory, f"delete producer snapshots of {context.topic_partition}"
        ):
            for path in marked:
                with suppress(FileNotFoundError):  # its directory was renamed
                    context.fs.remove(path)
                    context.tell("snapshot removed", path, "the snapshot's segment was deleted")

    if asynchronous:
        context.scheduler.schedule(
            "delete-producer-snapshot", remove, context.config.file_delete_delay_ms
        )
    else:
        remove()
