"""Transaction markers: written into every partition of a transaction, until it is complete.

They are written by a task of the scheduler, after the producer has its answer. When each partition
has its marker, the complete state is appended. What cannot be written now is tried again later,
without end; only a newer epoch stops it.

Kafka: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler,
KafkaApis.handleWriteTxnMarkersRequest (4.2)
"""

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Final, NamedTuple, Protocol

from workbench.config.internal_topics import OFFSETS_TOPIC
from workbench.coordinator.transaction_coordinator.state_manager import (
    EpochAndMetadata,
    GetLog,
    TransactionStateManager,
)
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.errors import CoordinatorError, WorkbenchError
from workbench.files.names import TopicPartition
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.log import Log
from workbench.record.writing.builder import end_transaction_marker
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.runtime.scheduler import Scheduler

RETRY_BACKOFF_MS: Final = 100
"""Kafka's sender tries again at once; here that would keep the processor busy."""


class TxnMarker(NamedTuple):
    """What ends a producer's transaction in a partition.

    Attributes:
        producer_id, producer_epoch: the producer.
        coordinator_epoch: the leader epoch of the transactional id's partition.
        commits: whether the transaction commits; False: it aborts.
        transaction_version: what the producer uses.

    Kafka: WriteTxnMarkersRequest.TxnMarkerEntry (4.2)
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commits: bool
    transaction_version: TransactionVersion


class CompletesOffsets(Protocol):
    """The group coordinator: it writes the markers of `__consumer_offsets` itself."""

    def complete_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        is_commit: bool,
        transaction_version: int = 0,
    ) -> int:
        """Append the marker, commit or drop the transaction's offsets, return the marker's offset.

        Raises:
            CoordinatorError: the marker was not appended.

        Kafka: GroupCoordinator.completeTransaction (4.2)
        """
        ...


class MarkerWriter:
    """Appends transaction markers to the partitions that are led here.

    Args:
        get_log: returns a partition's log; None if it is not here or its directory is offline.
        clock: the time.
        offsets: the group coordinator; None: a marker of `__consumer_offsets` is appended like any.

    Kafka: KafkaApis.handleWriteTxnMarkersRequest (4.2)
    """

    def __init__(
        self, get_log: GetLog, clock: Clock, offsets: CompletesOffsets | None = None
    ) -> None:
        self._get_log = get_log
        self._clock = clock
        self._offsets = offsets

    def write(self, marker: TxnMarker, where: TopicPartition) -> tuple[ErrorCode, int]:
        """Append a marker to a partition; return NONE and its offset, or the error and -1.

        A marker without a producer or an epoch, which no coordinator writes, is INVALID_REQUEST.
        """
        if marker.producer_id < 0 or marker.producer_epoch < 0:
            return ErrorCode.INVALID_REQUEST, -1
        log = self._get_log(where)
        if log is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1
        try:
            if where.topic == OFFSETS_TOPIC and self._offsets is not None:
                return ErrorCode.NONE, self._offsets.complete_transaction(
                    where.partition,
                    marker.producer_id,
                    marker.producer_epoch,
                    marker.coordinator_epoch,
                    is_commit=marker.commits,
                    transaction_version=marker.transaction_version,
                )
            return ErrorCode.NONE, self._append(marker, log)
        except CoordinatorError as error:
            code = code_of(error)
            return _OF_GROUPS.get(code, code), -1
        except WorkbenchError as error:
            return code_of(error), -1

    def _append(self, marker: TxnMarker, log: Log) -> int:
        records = end_transaction_marker(
            0, self._clock.now(), marker.producer_id, marker.producer_epoch,
            commit=marker.commits, coordinator_epoch=marker.coordinator_epoch,
        )  # fmt: skip
        latest = log.leader_epochs.latest
        epoch = 0 if latest is None else latest.epoch
        origin, version = AppendOrigin.COORDINATOR, marker.transaction_version
        return log.append_as_leader(records, epoch, origin, version).first_offset


_OF_GROUPS: Final = dict.fromkeys(
    [
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    ],
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""What the transaction coordinator gets where the group coordinator is not ready."""

_RETRIED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_GIVEN_UP: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)
_NOT_NEEDED: Final = frozenset(
    {ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION}
)


class _Pending(NamedTuple):
    """A transaction whose markers are being written.

    Kafka: PendingCompleteTxn (4.2)
    """

    transactional_id: str
    coordinator_epoch: int
    metadata: TransactionMetadata
    complete: TxnTransitMetadata


class TransactionMarkers:
    """Ends transactions whose end is prepared. Threads may share it.

    Args:
        states: the states.
        writer: writes the markers.
        is_unknown: whether no broker leads a partition, because it was deleted: it needs no marker.
        scheduler: runs the writing.

    Kafka: TransactionMarkerChannelManager (4.2)
    """

    def __init__(
        self,
        states: TransactionStateManager,
        writer: MarkerWriter,
        is_unknown: Callable[[TopicPartition], bool],
        scheduler: Scheduler,
    ) -> None:
        self._states = states
        self._writer = writer
        self._is_unknown = is_unknown
        self._scheduler = scheduler
        self._pending: dict[str, _Pending] = {}
        self._sending = RLock()

    @property
    def pending(self) -> list[str]:
        """The transactional ids whose transactions wait for markers or for their last record."""
        return list(self._pending)

    def add(self, found: EpochAndMetadata, complete: TxnTransitMetadata) -> None:
        """Begin to write the markers of a transaction.

        Args:
            found: the prepared state and the leader epoch under which it is served.
            complete: the state that follows, prepared by `prepare_complete`.

        Kafka: TransactionMarkerChannelManager.addTxnMarkersToSend (4.2)
        """
        metadata = found.metadata
        name = metadata.transactional_id
        pending = _Pending(name, found.coordinator_epoch, metadata, complete)
        with self._states.lock:
            self._pending[name] = pending
        self._skip_unknown(pending)
        if metadata.partitions or not self._write_completion(pending):
            self._later(pending, 0)

    def remove_partition(self, number: int) -> None:
        """Stop ending the transactions of a partition of `__transaction_state`.

        Kafka: TransactionMarkerChannelManager.removeMarkersForTxnTopicPartition (4.2)
        """
        with self._states.lock:
            for name in [n for n in self._pending if self._states.partition_for(n) == number]:
                del self._pending[name]

    def send_all(self) -> None:
        """Try now to end every transaction that waits for it."""
        with self._states.lock:
            waiting = list(self._pending.values())
        for pending in waiting:
            self._send(pending)

    def _later(self, pending: _Pending, delay_ms: int) -> None:
        name = f"TxnMarkerSender-{pending.transactional_id}"
        self._scheduler.schedule(name, lambda: self._send(pending), delay_ms)

    def _is_current(self, pending: _Pending) -> bool:
        """Return whether a transaction is still to be ended, under the same leader epoch."""
        with self._states.lock:
            if self._pending.get(pending.transactional_id) is not pending:
                return False
            try:
                found = self._states.get(pending.transactional_id)
            except CoordinatorError:
                found = None
            if found is None or found.coordinator_epoch != pending.coordinator_epoch:
                del self._pending[pending.transactional_id]
                return False
            return True

    def _send(self, pending: _Pending) -> None:
        """Write the markers that are still missing; then append the complete state.

        Kafka: TransactionMarkerRequestCompletionHandler.onComplete (4.2)
        """
        with self._sending:
            goes_on = True
            for where in sorted(pending.metadata.partitions):
                if not self._is_current(pending):
                    return
                goes_on &= self._send_one(pending, where)
            if not self._is_current(pending):
                return
            if not goes_on:
                with self._states.lock:
                    self._pending.pop(pending.transactional_id, None)
                return
            self._skip_unknown(pending)
            if pending.metadata.partitions or not self._write_completion(pending):
                self._later(pending, RETRY_BACKOFF_MS)

    def _send_one(self, pending: _Pending, where: TopicPartition) -> bool:
        """Write one marker; return False if a newer epoch is known, so that this is in vain."""
        metadata = pending.metadata
        marker = TxnMarker(
            metadata.producer_id, metadata.producer_epoch, pending.coordinator_epoch,
            metadata.state is TransactionState.PREPARE_COMMIT, metadata.client_transaction_version,
        )  # fmt: skip

        tell = partial(
            self._states.tell, where=where, transactional_id=pending.transactional_id,
            producer_id=marker.producer_id, producer_epoch=marker.producer_epoch, offset=-1,
        )  # fmt: skip
        error, offset = self._writer.write(marker, where)
        if error is ErrorCode.NONE:
            end = "COMMIT" if marker.commits else "ABORT"
            tell("marker appended", reason=end, offset=offset)
        elif error in _NOT_NEEDED:
            tell("marker not needed", reason=error.name)
        elif error in _GIVEN_UP:
            tell("marker given up", reason=f"{error.name}: the state remains {metadata.state}")
            return False
        elif error in _RETRIED:
            tell("marker retried", reason=error.name)
            return True
        else:
            raise WorkbenchError(
                f"{where}: the transaction marker of {pending.transactional_id!r} was refused "
                f"(found {error.name})"
            )
        self._remove(pending, where)
        return True

    def _skip_unknown(self, pending: _Pending) -> None:
        """Skip the markers of partitions that no broker leads."""
        for where in sorted(pending.metadata.partitions):
            if self._is_unknown(where):
                self._states.tell(
                    "marker not needed", where, "the partition was deleted",
                    transactional_id=pending.transactional_id,
                )  # fmt: skip
                self._remove(pending, where)

    def _remove(self, pending: _Pending, where: TopicPartition) -> None:
        with self._states.lock:
            if self._pending.get(pending.transactional_id) is pending:
                pending.metadata.remove_partition(where)

    def _write_completion(self, pending: _Pending) -> bool:
        """Append the complete state; return False if that has to be tried again.

        Kafka: TransactionMarkerChannelManager.writeTxnCompletion, tryAppendToLog (4.2)
        """
        name = pending.transactional_id
        error = self._states.append_transaction_to_log(
            name,
            pending.coordinator_epoch,
            pending.complete,
            retries=frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE}),
        )
        if error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            return False
        with self._states.lock:
            if self._pending.get(name) is pending:
                del self._pending[name]
        if error in (
            ErrorCode.NONE,
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ):
            return True
        raise WorkbenchError(
            f"{self._states.log_partition(name)}: the complete state of {name!r} was refused "
            f"(found {error.name})"
        )
