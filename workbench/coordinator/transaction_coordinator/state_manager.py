"""The states of the transactional ids that a coordinator serves, and their records.

A state changes when its record is in the log of `__transaction_state`, and not before. The manager
loads the partitions that it leads, forgets those that it no longer leads, and writes tombstones for
the transactional ids that expired.

Kafka: TransactionStateManager (4.2)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Final, NamedTuple

from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.runtime.log_loading import read_log
from workbench.coordinator.runtime.log_records import NO_PRODUCER, LogChunk, LogRecord
from workbench.coordinator.runtime.partitioning import partition_for
from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.listing import (
    ListedTransactions,
    TransactionFilter,
)
from workbench.coordinator.transactions.states import TransactionState
from workbench.coordinator.transactions.transaction_load import apply_record, newest_records
from workbench.coordinator.transactions.transaction_log import (
    key_to_bytes,
    value_to_bytes,
)
from workbench.coordinator.transactions.transaction_metadata import (
    NO_TIMEOUT_MS,
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.decoders.decoder import problem_of
from workbench.errors import (
    CoordinatorError,
    CorruptRecordError,
    UnsupportedFormatError,
    WorkbenchError,
)
from workbench.files.names import TopicPartition
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import records_in
from workbench.record.writing.builder import RecordsBuilder
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.runtime.scheduler import Scheduler
from workbench.runtime.steps import Observer, Reporter
from workbench.runtime.times import ms_text, time_text
from workbench.runtime.words import plural

GetLog = Callable[[TopicPartition], Log | None]

_TRANSLATED: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def answer_to(error: ErrorCode) -> ErrorCode:
    """Return what a producer is answered if its state could not be appended for this error.

    Kafka: TransactionStateManager.appendTransactionToLog (4.2)
    """
    return _TRANSLATED.get(error, error)


class EpochAndMetadata(NamedTuple):
    """A transactional id's state, and under which leader epoch of its partition it is served.

    Kafka: CoordinatorEpochAndTxnMetadata (4.2)
    """

    coordinator_epoch: int
    metadata: TransactionMetadata


@dataclass(slots=True)
class _CacheEntry:
    """The transactional ids of one partition.

    Kafka: TxnMetadataCacheEntry (4.2)
    """

    coordinator_epoch: int
    metadata: dict[str, TransactionMetadata] = field(default_factory=dict)


class TransactionStateManager(Reporter):
    """Keeps the transactional ids of the partitions that it leads. Threads may share it.

    Args:
        get_log: returns a partition's log; None if it is not here or its directory is offline.
        config: the configuration.
        clock: the time.
        scheduler: runs loads and the expiry of transactional ids.
        observer: receives each step, of `steps.TRANSACTION_KINDS`; for loads of
            `steps.LOAD_KINDS`.

    Attributes:
        lock: guards every state. Not held while records are appended.
        partitions: the number of partitions of `__transaction_state`.

    Kafka: TransactionStateManager (4.2)
    """

    def __init__(
        self,
        get_log: GetLog,
        config: TransactionConfig,
        clock: Clock,
        scheduler: Scheduler,
        observer: Observer | None = None,
    ) -> None:
        self.lock = RLock()
        self.partitions = config.num_partitions
        self._get_log = get_log
        self._config = config
        self._clock = clock
        self._scheduler = scheduler
        self.observer = observer
        self._cache: dict[int, _CacheEntry] = {}
        self._loading: set[tuple[int, int]] = set()
        self._leader_epochs: dict[int, int] = {}  # the newest of each partition
        self._is_open = True

    def tell_of(self, kind: str, transactional_id: str, reason: str = "", **numbers: Any) -> None:
        """Report a step about a transactional id."""
        if self.observer is not None:
            where = self.log_partition(transactional_id)
            self.tell(kind, where, reason, transactional_id=transactional_id, **numbers)

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that holds a transactional id.

        Kafka: TransactionStateManager.partitionFor (4.2)
        """
        return partition_for(transactional_id, self.partitions)

    def log_partition(self, transactional_id: str) -> TopicPartition:
        """Return the partition that holds a transactional id."""
        return TopicPartition(TRANSACTIONS_TOPIC, self.partition_for(transactional_id))

    # The states

    def get(self, transactional_id: str) -> EpochAndMetadata | None:
        """Return a transactional id's state; None if it is unknown.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.

        Kafka: TransactionStateManager.getTransactionState (4.2)
        """
        with self.lock:
            entry = self._entry(transactional_id)
            found = entry.metadata.get(transactional_id)
            return None if found is None else EpochAndMetadata(entry.coordinator_epoch, found)

    def put_if_not_exists(self, metadata: TransactionMetadata) -> EpochAndMetadata:
        """Keep the state of a new transactional id; return the one that it has.

        Raises:
            CoordinatorError: see `get`.

        Kafka: TransactionStateManager.putTransactionStateIfNotExists (4.2)
        """
        with self.lock:
            entry = self._entry(metadata.transactional_id)
            found = entry.metadata.setdefault(metadata.transactional_id, metadata)
            return EpochAndMetadata(entry.coordinator_epoch, found)

    def _entry(self, transactional_id: str) -> _CacheEntry:
        number = self.partition_for(transactional_id)
        if any(partition == number for partition, _ in self._loading):
            raise ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.error(
                f"{TRANSACTIONS_TOPIC}-{number} is being read"
            )
        entry = self._cache.get(number)
        if entry is None:
            raise ErrorCode.NOT_COORDINATOR.error(f"{TRANSACTIONS_TOPIC}-{number} is not led here")
        return entry

    def timed_out(self) -> list[TransactionMetadata]:
        """Return the states whose transaction is open for longer than its timeout.

        Kafka: TransactionStateManager.timedOutTransactions (4.2)
        """
        now = self._clock.now()
        with self.lock:
            return [
                each
                for each in self._all()
                if not each.is_pending
                and each.state is TransactionState.ONGOING
                and each.timeout_ms != NO_TIMEOUT_MS
                and each.start_timestamp + each.timeout_ms < now
            ]

    def _all(self) -> Iterator[TransactionMetadata]:
        for entry in self._cache.values():
            yield from entry.metadata.values()

    @property
    def owned(self) -> dict[int, tuple[int, tuple[TransactionMetadata, ...]]]:
        """The partitions that are served: number → coordinator epoch and states."""
        with self.lock:
            return {
                number: (entry.coordinator_epoch, tuple(entry.metadata.values()))
                for number, entry in self._cache.items()
            }

    def is_owned(self, number: int) -> bool:
        """Return whether a partition is served."""
        return number in self._cache

    def list(self, chosen: TransactionFilter) -> ListedTransactions:
        """Return the transactional ids that a filter lets pass, of all partitions led here.

        Kafka: TransactionStateManager.listTransactionStates (4.2)
        """
        with self.lock:
            if self._loading:
                return ListedTransactions(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [], [])
            return chosen.choose(self._all(), self._clock.now())

    # Records

    def append_transaction_to_log(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        transit: TxnTransitMetadata,
        *,
        retries: frozenset[ErrorCode] = frozenset(),
    ) -> ErrorCode:
        """Append the record of a prepared state; when it is in the log, take over the state.

        Args:
            transactional_id: whose state it is.
            coordinator_epoch: the leader epoch under which the transition was prepared.
            transit: the prepared state.
            retries: the answers after which the caller tries again: the state remains pending.

        Returns:
            NONE, or the answer to the producer: nothing changed, except that the state is no longer
            pending.

        Kafka: TransactionStateManager.appendTransactionToLog (4.2)
        """
        value = value_to_bytes(transit, self._config.transaction_version)
        where = self.log_partition(transactional_id)
        record = (self._clock.now(), key_to_bytes(transactional_id), value)
        try:
            found = self.get(transactional_id)
        except CoordinatorError as refused:
            return code_of(refused)
        if found is None or found.coordinator_epoch != coordinator_epoch:
            return ErrorCode.NOT_COORDINATOR
        offset, problem = self._append(where, MemoryRecords.of(record))
        answer = answer_to(problem)
        if answer is ErrorCode.NONE:
            self.tell_of(
                "transition appended", transactional_id, f"{where} at offset {offset}",
                state=str(transit.state), offset=offset,
            )  # fmt: skip
            return self._complete(transactional_id, coordinator_epoch, transit)
        self.tell_of(
            "transition failed", transactional_id, f"{problem.name}, answered as {answer.name}"
        )
        with self.lock:
            found = self._found(transactional_id)
            is_same = found is not None and found.coordinator_epoch == coordinator_epoch
            if found is not None and is_same and answer not in retries:
                found.metadata.pending_state = None
        return answer

    def _found(self, transactional_id: str) -> EpochAndMetadata | None:
        try:
            return self.get(transactional_id)
        except CoordinatorError:
            return None

    def _append(self, where: TopicPartition, records: MemoryRecords) -> tuple[int, ErrorCode]:
        """Append to a log; return the first offset and NONE, or -1 and the append's error."""
        log = self._get_log(where)
        if log is None:
            return -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        leader_epoch = self._leader_epochs[where.partition]
        try:
            info = log.append_as_leader(records, leader_epoch, AppendOrigin.COORDINATOR)
        except WorkbenchError as error:
            return -1, code_of(error)
        return info.first_offset, ErrorCode.NONE

    def _complete(
        self, transactional_id: str, coordinator_epoch: int, transit: TxnTransitMetadata
    ) -> ErrorCode:
        with self.lock:
            try:
                found = self.get(transactional_id)
            except CoordinatorError as refused:
                return code_of(refused)
            if found is None or found.coordinator_epoch != coordinator_epoch:
                return ErrorCode.NOT_COORDINATOR
            before = found.metadata.state
            found.metadata.complete_transition_to(transit)
        self.tell_of(
            "transition completed", transactional_id, f"{before} → {transit.state}",
            producer_id=transit.producer_id, producer_epoch=transit.producer_epoch,
        )  # fmt: skip
        return ErrorCode.NONE

    # Loading and unloading

    def load(
        self,
        number: int,
        coordinator_epoch: int,
        complete: Callable[[EpochAndMetadata], None],
        *,
        waits: bool = False,
    ) -> None:
        """Begin to load a partition that is led from now on.

        Requests about it are refused with COORDINATOR_LOAD_IN_PROGRESS until it is loaded. After
        `clear` nothing is loaded before `open`.

        Args:
            number: the partition of `__transaction_state`.
            coordinator_epoch: its leader epoch.
            complete: called after the load for each transactional id whose end is prepared, without
                the lock.
            waits: load now, and not by a task of the scheduler.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition (4.2)
        """
        with self.lock:
            if not self._is_open:
                return
            self._loading.add((number, coordinator_epoch))
            self._leader_epochs[number] = coordinator_epoch

        def run() -> None:
            self._load_now(number, coordinator_epoch, complete)

        if waits:
            run()
            return
        name = f"load-txns-for-partition-{TRANSACTIONS_TOPIC}-{number}"
        self._scheduler.schedule(name, run)

    def _load_now(
        self, number: int, coordinator_epoch: int, complete: Callable[[EpochAndMetadata], None]
    ) -> None:
        where = TopicPartition(TRANSACTIONS_TOPIC, number)
        loaded = self._read(where, coordinator_epoch)
        with self.lock:
            if (number, coordinator_epoch) not in self._loading:
                return
            self._cache[number] = _CacheEntry(coordinator_epoch, loaded)
            self._loading.remove((number, coordinator_epoch))
            prepared = [each for each in loaded.values() if each.state.is_prepared]
        self.tell(
            "partition loaded", where, f"{plural(len(prepared), 'transaction')} to complete",
            coordinator_epoch=coordinator_epoch, transactional_ids=len(loaded),
        )  # fmt: skip
        for each in prepared:
            complete(EpochAndMetadata(coordinator_epoch, each))

    def _read(
        self, where: TopicPartition, coordinator_epoch: int
    ) -> dict[str, TransactionMetadata]:
        """Return the newest state of each transactional id; up to the first unreadable record.

        Kafka: TransactionStateManager.loadTransactionMetadata (4.2)
        """
        states: dict[str, TransactionMetadata] = {}
        log = self._get_log(where)
        self.tell("load started", where)
        problem = ""
        try:
            for record in () if log is None else self._records(log, coordinator_epoch):
                kind, reason = apply_record(states, where.partition, record)
                self.tell(kind, where, reason, at=record.offset, time=record.timestamp)
        except (CorruptRecordError, UnsupportedFormatError) as error:
            problem = problem_of(error)
            self.tell("record unreadable", where, problem)
        self.tell("load finished", where, problem, transactions=len(states))
        return states

    def _records(self, log: Log, coordinator_epoch: int) -> Iterator[LogRecord]:
        """Yield the records while the partition is to be loaded; all that precede damage count."""
        number, next_offset = log.topic_partition.partition, log.log_start_offset

        def chunks() -> Iterator[LogChunk]:
            nonlocal next_offset
            for chunk in read_log(log):
                if (number, coordinator_epoch) not in self._loading:
                    return
                yield chunk
                next_offset = int(chunk.columns.offsets[-1]) + 1

        try:
            for record in newest_records(chunks(), every=self.observer is not None):
                if isinstance(record, LogRecord):
                    yield record
        except CorruptRecordError:
            yield from self._one_by_one(log, next_offset)

    def _one_by_one(self, log: Log, offset: int) -> Iterator[LogRecord]:
        """Yield the records of one batch after the other.

        Raises:
            CorruptRecordError: a batch cannot be read.
        """
        while offset < log.log_end_offset:
            batches = log.read(offset, self._config.load_buffer_size, "log_end").records
            rows = batches.batches().rows
            if not len(rows):
                return
            for at in range(len(rows)):
                for record in records_in(batches.buffer, rows[at : at + 1]):
                    if record.offset >= offset:
                        yield LogRecord(
                            record.offset, record.timestamp, record.key, record.value, NO_PRODUCER
                        )
            offset = int(rows["last_offset"][-1]) + 1

    def unload(self, number: int, coordinator_epoch: int | None = None) -> None:
        """Forget a partition that is no longer led here.

        Args:
            number: the partition of `__transaction_state`.
            coordinator_epoch: the new leader's epoch: a load with this or a later epoch continues.
                None: the partition was deleted.

        Kafka: TransactionStateManager.removeTransactionsForTxnTopicPartition (4.2)
        """
        with self.lock:
            self._loading -= {
                (partition, epoch)
                for partition, epoch in self._loading
                if partition == number and (coordinator_epoch is None or epoch < coordinator_epoch)
            }
            entry = self._cache.pop(number, None)
        known = 0 if entry is None else len(entry.metadata)
        where = TopicPartition(TRANSACTIONS_TOPIC, number)
        self.tell("partition unloaded", where, transactional_ids=known)

    def open(self) -> None:
        """Load partitions again after `clear`."""
        self._is_open = True

    def clear(self) -> None:
        """Forget everything, at shutdown; a load in another thread ends between two chunks.

        Kafka: TransactionStateManager.shutdown (4.2)
        """
        with self.lock:
            self._is_open = False
            self._loading.clear()
            self._cache.clear()

    # Expiry

    def remove_expired_transactional_ids(self) -> None:
        """Write a tombstone for each transactional id that was not used for a long time.

        Those of a partition share batches as large as its log takes them. A transactional id is
        forgotten when its tombstone is in the log.

        Kafka: TransactionStateManager.removeExpiredTransactionalIds (4.2)
        """
        with self.lock:
            numbers = list(self._cache)
        for number in numbers:
            self._expire(TopicPartition(TRANSACTIONS_TOPIC, number))

    def _expire(self, where: TopicPartition) -> None:
        log = self._get_log(where)
        if log is None:
            return
        now, limit = self._clock.now(), log.config.max_message_bytes
        builder = RecordsBuilder(write_limit=limit)
        expired: list[TransactionMetadata] = []
        with self.lock:
            entry = self._cache.get(where.partition)
            if entry is None:
                return
            oldest = now - self._config.transactional_id_expiration_ms
            due = [
                each
                for _, each in sorted(entry.metadata.items())
                if each.pending_state is None
                and each.state.is_at_rest
                and each.last_update_timestamp <= oldest
            ]
            for each in due:
                each.prepare_dead()
        for each in due:
            key = key_to_bytes(each.transactional_id)
            if not builder.has_room_for(now, key, None):
                self._write_tombstones(where, entry, expired, builder.build())
                builder, expired = RecordsBuilder(write_limit=limit), []
            builder.append(now, key, None)
            expired.append(each)
        if expired:
            self._write_tombstones(where, entry, expired, builder.build())

    def _write_tombstones(
        self,
        where: TopicPartition,
        entry: _CacheEntry,
        expired: Sequence[TransactionMetadata],
        records: MemoryRecords,
    ) -> None:
        """Kafka: TransactionStateManager.writeTombstonesForExpiredTransactionalIds (4.2)."""
        offset, problem = self._append(where, records)
        with self.lock:
            is_gone = problem is ErrorCode.NONE and self._cache.get(where.partition) is entry
            for each in expired:
                if is_gone and each.pending_state is TransactionState.DEAD:
                    del entry.metadata[each.transactional_id]
                else:
                    each.pending_state = None
        for at, each in enumerate(expired):
            if is_gone:
                self.tell_of(
                    "transactional id expired", each.transactional_id,
                    f"last used at {time_text(each.last_update_timestamp)}, more than "
                    f"{ms_text(self._config.transactional_id_expiration_ms, ' ms')} ago; "
                    f"its tombstone is in {where} at offset {offset + at}", offset=offset + at,
                )  # fmt: skip
            else:
                self.tell_of("transition failed", each.transactional_id, problem.name)
