"""The state of one transactional id, as a record or a coordinator makes it, and its transitions.

A transition has two halves. `prepare_…` checks it, remembers the next state as pending and returns
everything the next state will hold. The coordinator appends that to the log. Only when it is there,
`complete_transition_to` takes it over. While a state is pending, no other transition can begin.

Kafka: TransactionMetadata, TxnTransitMetadata (4.2)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.decoders.records import TransactionLogValue
from workbench.errors import CorruptRecordError, InvalidTransitionError
from workbench.files.names import TopicPartition
from workbench.layout.attributes import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.runtime.error_codes import ErrorCode

LARGEST_EPOCH: Final = 2**15 - 1
NO_TIMEOUT_MS: Final = INT32_MAX
"""The timeout of a transaction with two-phase commit, which never times out."""
ID_EXPIRATION_MS: Final = 604_800_000
"""`transactional.id.expiration.ms` unless configured."""

_PHASES: Final = {
    TransactionState.EMPTY: "empty",
    TransactionState.ONGOING: "open",
    TransactionState.PREPARE_COMMIT: "prepared",
    TransactionState.PREPARE_ABORT: "prepared",
    TransactionState.COMPLETE_COMMIT: "complete",
    TransactionState.COMPLETE_ABORT: "complete",
}


def is_epoch_exhausted(epoch: int) -> bool:
    """Return whether a client cannot get a higher epoch: the largest is kept for fencing.

    Kafka: TransactionMetadata.isEpochExhausted (4.2)
    """
    return epoch >= LARGEST_EPOCH - 1


class TxnTransitMetadata(NamedTuple):
    """What the next state of a transactional id will hold: one record.

    Attributes:
        producer_id, producer_epoch: the producer that may use the id.
        previous_producer_id: the producer id before the transition.
        next_producer_id: the one that follows when the transaction is complete; -1: the same.
        last_producer_epoch: the epoch that a retried request may still have; -1: none.
        timeout_ms: of a transaction, ms.
        state: the next state.
        partitions: those that wait for a transaction marker.
        start_timestamp: when the transaction began, ms; -1: no transaction.
        last_update_timestamp: the time of the transition, ms.
        client_transaction_version: what the client uses.

    Kafka: TxnTransitMetadata (4.2)
    """

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    start_timestamp: int
    last_update_timestamp: int
    client_transaction_version: TransactionVersion


@dataclass(slots=True)
class TransactionMetadata:
    """The state of one transactional id; the attributes are those of `TxnTransitMetadata`.

    Not thread-safe: the state manager's lock guards it.

    Attributes:
        log_partition, record_offset, version: the partition and the offset of the record that it
            was read from, and the version of its value; -1: it was not read.
        pending_state: the state it is about to take; None: no transition has begun.
        has_failed_epoch_fence: whether a bump of the epoch is in memory only, because its record
            could not be appended. Then fencing does not bump it again.

    Kafka: TransactionMetadata (4.2)
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    last_update_timestamp: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_timestamp: int = NO_TIMESTAMP
    client_transaction_version: TransactionVersion = TransactionVersion.TV_0
    pending_state: TransactionState | None = field(default=None, compare=False)
    has_failed_epoch_fence: bool = field(default=False, compare=False)
    log_partition: int = field(default=-1, compare=False)
    record_offset: int = field(default=-1, compare=False)
    version: int = field(default=-1, compare=False)

    @classmethod
    def of_record(
        cls,
        transactional_id: str,
        fields: TransactionLogValue,
        version: int,
        log_partition: int,
        offset: int,
    ) -> "TransactionMetadata":
        """Return the state in a record.

        Args:
            transactional_id: its name.
            fields, version: those of the value.
            log_partition, offset: those of the record.

        Raises:
            CorruptRecordError: its state or its client's transaction version is not known.

        Kafka: TransactionLog.readTxnRecordValue (4.2)
        """
        status, client = fields["transactionStatus"], fields.get("clientTransactionVersion", 0)
        try:
            state = TransactionState.of(status)
        except KeyError:
            raise CorruptRecordError(None, None, f"unknown transaction state {status}") from None
        try:
            client_version = TransactionVersion(client)
        except ValueError:
            raise CorruptRecordError(None, None, f"unknown transaction version {client}") from None
        listed = () if state is TransactionState.EMPTY else fields["transactionPartitions"] or ()
        return cls(
            transactional_id,
            fields["producerId"],
            fields["transactionTimeoutMs"],
            fields["transactionLastUpdateTimestampMs"],
            fields.get("previousProducerId", NO_PRODUCER_ID),
            fields.get("nextProducerId", NO_PRODUCER_ID),
            fields["producerEpoch"],
            state=state,
            partitions=frozenset(
                TopicPartition(topic["topic"], number)
                for topic in listed
                for number in topic["partitionIds"]
            ),
            start_timestamp=fields["transactionStartTimestampMs"],
            client_transaction_version=client_version,
            log_partition=log_partition,
            record_offset=offset,
            version=version,
        )

    @property
    def phase(self) -> str:
        """The phase of the state: empty, open, prepared, complete or dead."""
        return _PHASES.get(self.state, "dead")

    @property
    def times_out_at(self) -> int | None:
        """When a coordinator aborts the transaction, ms; None: none is ongoing, or unknown."""
        if self.state is not TransactionState.ONGOING or self.start_timestamp < 0:
            return None
        return _time(self.start_timestamp + self.timeout_ms)

    def expires_after(self, expiration_ms: int = ID_EXPIRATION_MS) -> int | None:
        """Return when a coordinator with this expiration removes the id, ms; None: never.

        Open and prepared transactions never expire.

        Args:
            expiration_ms: `transactional.id.expiration.ms`.
        """
        if not self.state.is_at_rest:
            return None
        return _time(self.last_update_timestamp + expiration_ms)

    def waits_for(self, where: TopicPartition) -> bool:
        """Return whether a partition still waits for a transaction marker."""
        return self.phase in {"open", "prepared"} and where in self.partitions

    @property
    def is_pending(self) -> bool:
        """Whether a transition has begun that is not complete."""
        return self.pending_state is not None

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the client cannot get a higher epoch of this producer id."""
        return is_epoch_exhausted(self.producer_epoch)

    def remove_partition(self, where: TopicPartition) -> None:
        """Note that a partition no longer waits for a transaction marker.

        Raises:
            InvalidTransitionError: no end was prepared.

        Kafka: TransactionMetadata.removePartition (4.2)
        """
        if not self.state.is_prepared:
            raise self._illegal(f"remove {where}, whose marker was written,", "in a Prepare state")
        self.partitions = self.partitions - {where}

    # The first half of a transition

    def prepare_fence_producer_epoch(self) -> TxnTransitMetadata:
        """Begin to fence the producer: the open transaction will be aborted with a higher epoch.

        Raises:
            InvalidTransitionError: the epoch is the largest, or the transition is not allowed.

        Kafka: TransactionMetadata.prepareFenceProducerEpoch (4.2)
        """
        if self.producer_epoch == LARGEST_EPOCH:
            raise self._illegal("bump the epoch", f"below the largest epoch, {LARGEST_EPOCH}")
        bump = 0 if self.has_failed_epoch_fence else 1
        return self._prepare(
            TransactionState.PREPARE_EPOCH_FENCE, producer_epoch=self.producer_epoch + bump
        )

    def prepare_increment_producer_epoch(
        self, timeout_ms: int, expected_epoch: int | None, now: int
    ) -> TxnTransitMetadata:
        """Begin to give the next epoch to a producer that initializes.

        Args:
            timeout_ms: the timeout of its transactions, ms.
            expected_epoch: the epoch that the producer has (KIP-360); None: it has none.
            now: the time, ms.

        Raises:
            CoordinatorError: PRODUCER_FENCED: the expected epoch is neither the current one nor the
                one before, which a retried request has.
            InvalidTransitionError: the epochs are exhausted, or the transition is not allowed.

        Kafka: TransactionMetadata.prepareIncrementProducerEpoch (4.2)
        """
        if self.is_epoch_exhausted:
            raise self._illegal("bump the epoch", f"below epoch {LARGEST_EPOCH - 1}")
        epoch, last = self.producer_epoch + 1, NO_PRODUCER_EPOCH
        if expected_epoch is not None:
            if self.producer_epoch in (expected_epoch, NO_PRODUCER_EPOCH):
                last = self.producer_epoch
            elif expected_epoch == self.last_producer_epoch:
                epoch, last = self.producer_epoch, self.last_producer_epoch
            else:
                raise ErrorCode.PRODUCER_FENCED.error(
                    f"the producer has epoch {expected_epoch}, the transactional id has epoch "
                    f"{self.producer_epoch} and before that {self.last_producer_epoch}",
                )
        return self._prepare_empty(timeout_ms, now, producer_epoch=epoch, last_producer_epoch=last)

    def prepare_producer_id_rotation(
        self, producer_id: int, timeout_ms: int, now: int, *, records_last_epoch: bool
    ) -> TxnTransitMetadata:
        """Begin to give a new producer id with epoch 0, because the epochs are exhausted.

        Args:
            producer_id: the new one.
            timeout_ms: the timeout of transactions, ms.
            now: the time, ms.
            records_last_epoch: whether a retry with the epoch before is accepted.

        Raises:
            InvalidTransitionError: a transaction is open.

        Kafka: TransactionMetadata.prepareProducerIdRotation (4.2)
        """
        if not self.state.is_at_rest and self.state < TransactionState.DEAD:
            raise self._illegal("get a new producer id", "without an open transaction")
        last = self.producer_epoch if records_last_epoch else NO_PRODUCER_EPOCH
        return self._prepare_empty(
            timeout_ms, now, producer_id=producer_id, producer_epoch=0, last_producer_epoch=last
        )

    def prepare_add_partitions(
        self, partitions: Iterable[TopicPartition], now: int, version: TransactionVersion
    ) -> TxnTransitMetadata:
        """Begin to add partitions; the first ones open the transaction.

        Raises:
            InvalidTransitionError: the transition is not allowed.

        Kafka: TransactionMetadata.prepareAddPartitions (4.2)
        """
        return self._prepare(
            TransactionState.ONGOING,
            partitions=self.partitions | frozenset(partitions),
            start_timestamp=now if self.state.is_at_rest else self.start_timestamp,
            last_update_timestamp=now,
            client_transaction_version=version,
        )

    def prepare_abort_or_commit(
        self,
        state: TransactionState,
        version: TransactionVersion,
        next_producer_id: int,
        now: int,
        *,
        is_without_partitions: bool = False,
    ) -> TxnTransitMetadata:
        """Begin to end the transaction; from version 2 on with the next epoch.

        Args:
            state: PREPARE_COMMIT or PREPARE_ABORT.
            version: what the client uses.
            next_producer_id: the one that follows if the epochs are exhausted; -1: the same.
            now: the time, ms.
            is_without_partitions: whether no transaction was open: version 2 may abort then.

        Raises:
            InvalidTransitionError: the transition is not allowed.

        Kafka: TransactionMetadata.prepareAbortOrCommit (4.2)
        """
        epoch, last = self.producer_epoch, self.last_producer_epoch
        if version.supports_epoch_bump:
            epoch, last = self.producer_epoch + 1, self.producer_epoch
        return self._prepare(
            state,
            producer_epoch=epoch,
            last_producer_epoch=last,
            start_timestamp=now if is_without_partitions else self.start_timestamp,
            next_producer_id=next_producer_id,
            last_update_timestamp=now,
            client_transaction_version=version,
        )

    def prepare_complete(self, now: int) -> TxnTransitMetadata:
        """Begin to complete the transaction, whose end is prepared.

        Raises:
            InvalidTransitionError: no end was prepared.

        Kafka: TransactionMetadata.prepareComplete (4.2)
        """
        self.has_failed_epoch_fence = False
        commits = self.state is TransactionState.PREPARE_COMMIT
        producer, epoch = self.producer_id, self.producer_epoch
        if (
            self.client_transaction_version.supports_epoch_bump
            and self.next_producer_id != NO_PRODUCER_ID
        ):
            producer, epoch = self.next_producer_id, 0
        return self._prepare(
            TransactionState.COMPLETE_COMMIT if commits else TransactionState.COMPLETE_ABORT,
            producer_id=producer,
            producer_epoch=epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            last_update_timestamp=now,
        )

    def prepare_dead(self) -> TxnTransitMetadata:
        """Begin to remove the transactional id, which has expired.

        Raises:
            InvalidTransitionError: a transaction is open.

        Kafka: TransactionMetadata.prepareDead (4.2)
        """
        return self._prepare(TransactionState.DEAD, partitions=frozenset())

    def _prepare_empty(self, timeout_ms: int, now: int, **changes: Any) -> TxnTransitMetadata:
        return self._prepare(
            TransactionState.EMPTY,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_timestamp=NO_TIMESTAMP,
            last_update_timestamp=now,
            **changes,
        )

    def _prepare(self, state: TransactionState, **changes: Any) -> TxnTransitMetadata:
        if self.pending_state is not None:
            raise self._illegal(f"go to {state}", "without a pending state")
        transit = TxnTransitMetadata(
            self.producer_id, self.producer_id, self.next_producer_id, self.producer_epoch,
            self.last_producer_epoch, self.timeout_ms, state, self.partitions,
            self.start_timestamp, self.last_update_timestamp, self.client_transaction_version,
        )._replace(**changes)  # fmt: skip
        if transit.producer_id < 0:
            raise ValueError(f"{transit.producer_id} is not a producer id")
        is_epoch = 0 <= transit.producer_epoch <= LARGEST_EPOCH
        if state is not TransactionState.DEAD and not is_epoch:
            raise ValueError(f"{transit.producer_epoch} is not a producer epoch")
        if not state.can_follow(self.state):
            raise self._illegal(f"go to {state}", "in a state that may go there")
        self.pending_state = state
        return transit

    # The second half

    def complete_transition_to(self, transit: TxnTransitMetadata) -> None:
        """Take over what was prepared, after its record was appended.

        Raises:
            InvalidTransitionError: that is not what is pending, or does not fit to the state.

        Kafka: TransactionMetadata.completeTransitionTo (4.2)
        """
        if self.pending_state is not transit.state or not self._fits(transit):
            raise self._illegal(f"complete the transition to {transit}", "about to do so")
        self.producer_id = transit.producer_id
        self.previous_producer_id = transit.previous_producer_id
        self.next_producer_id = transit.next_producer_id
        self.producer_epoch = transit.producer_epoch
        self.last_producer_epoch = transit.last_producer_epoch
        self.timeout_ms = transit.timeout_ms
        self.partitions = transit.partitions
        self.start_timestamp = transit.start_timestamp
        self.last_update_timestamp = transit.last_update_timestamp
        self.client_transaction_version = transit.client_transaction_version
        self.pending_state = None
        self.state = transit.state

    def _fits(self, transit: TxnTransitMetadata) -> bool:
        """Return whether a transition changes only what it may."""
        state = transit.state
        if state is TransactionState.EMPTY:
            return (
                (transit.producer_epoch == self.producer_epoch or self._is_bump(transit))
                and not transit.partitions
                and transit.start_timestamp == NO_TIMESTAMP
            )
        if state in (TransactionState.PREPARE_EPOCH_FENCE, TransactionState.DEAD):
            return False  # the first becomes PrepareAbort, the second is removed
        if transit.timeout_ms != self.timeout_ms or not self._has_right_epoch(transit):
            return False
        if state is TransactionState.ONGOING:
            return transit.partitions >= self.partitions
        if not state.is_prepared:
            return transit.start_timestamp != NO_TIMESTAMP
        aborts_nothing = (
            state is TransactionState.PREPARE_ABORT
            and transit.client_transaction_version.supports_epoch_bump
            and self.state.is_at_rest
        )
        return transit.partitions == self.partitions and (
            transit.start_timestamp == self.start_timestamp or aborts_nothing
        )

    def _is_bump(self, transit: TxnTransitMetadata) -> bool:
        """Kafka: TransactionMetadata.validProducerEpochBump (4.2)."""
        is_new = transit.producer_epoch == 0 and transit.producer_id != self.producer_id
        return transit.producer_epoch == self.producer_epoch + 1 or is_new

    def _has_right_epoch(self, transit: TxnTransitMetadata) -> bool:
        """Kafka: TransactionMetadata.validProducerEpoch (4.2)."""
        is_same_producer = transit.producer_id == self.producer_id
        if transit.client_transaction_version.supports_epoch_bump:
            if transit.state.is_prepared:
                return transit.last_producer_epoch == self.producer_epoch and is_same_producer
            if transit.state is not TransactionState.ONGOING and transit.producer_epoch == 0:
                return (
                    transit.last_producer_epoch == self.last_producer_epoch
                    and transit.previous_producer_id == self.producer_id
                )
        return transit.producer_epoch == self.producer_epoch and is_same_producer

    def _illegal(self, what: str, wanted: str) -> InvalidTransitionError:
        pending = "" if self.pending_state is None else f", {self.pending_state} pending"
        return InvalidTransitionError(
            f"transactional id {self.transactional_id!r} cannot {what} (found state {self.state}"
            f"{pending}, producer {self.producer_id}, epoch {self.producer_epoch}; "
            f"expected {wanted})"
        )


def _time(moment: int) -> int | None:
    return moment if moment <= INT64_MAX else None
