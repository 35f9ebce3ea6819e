"""One producer of a partition: its state, and whether it may append its next batches.

The state has the producer's epoch, its last five batches and its open transaction. With it a broker
detects duplicate batches, gaps in the sequence numbers, and producers that were replaced. A
snapshot keeps only the newest batch.

A batch is compared with the last one of its producer before anything is written: the epoch must
not be older, and the sequence must follow. The log's producer state changes only when the append
is passed to `ProducerStateManager.update`, so an append that fails leaves no trace.

Kafka: ProducerStateEntry, BatchMetadata, TxnMetadata, CompletedTxn, ProducerAppendInfo (4.2)
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn, Self

from workbench.errors import (
    AppendError,
    CoordinatorFencedError,
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
)
from workbench.files.names import TopicPartition
from workbench.files.producer_snapshot import SEQUENCES, ProducerEntry
from workbench.layout.integers import INT32_MAX
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.batches import ProducerBatch, TransactionMarker
from workbench.log.producers.verification import VerificationStateEntry
from workbench.record.writing.batch_checks import CheckedBatch
from workbench.runtime.steps import Observer, Step

TRANSACTION_VERSION_2: Final = 2
"""From this version, a marker has a higher epoch than its transaction's batches."""

_LAST_SEQUENCE: Final = INT32_MAX  # the next one is 0
_NO_EPOCH: Final = (None, -1)  # a producer's epoch: none is known, or it sent none
_NONE: Final = -1  # value of a batch for none

BATCHES_KEPT: Final = 5
"""Number of kept batches per producer: a client has no more of them in flight."""


class BatchMetadata(NamedTuple):
    """One batch of a producer.

    Attributes:
        last_sequence: its last record's sequence; None for a coordinator's batch, which has none.
        last_offset: inclusive.
        offset_delta: last offset minus first.
        timestamp: ms; the batch's largest timestamp.
    """

    last_sequence: int | None
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int | None:
        """Sequence of the first record; sequences wrap around at 2**31."""
        if self.last_sequence is None:
            return None
        return (self.last_sequence - self.offset_delta) % SEQUENCES

    @property
    def first_offset(self) -> int:
        """Offset of the first record."""
        return self.last_offset - self.offset_delta


class TxnMetadata(NamedTuple):
    """An open transaction and its position.

    Kafka: TxnMetadata (4.2)
    """

    producer_id: int
    first_offset: LogOffsetMetadata


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended.

    Attributes:
        first_offset: its first record's offset.
        last_offset: the marker's offset.
        is_aborted: whether the marker was an abort.

    Kafka: CompletedTxn (4.2)
    """

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStateEntry:
    """The state of one producer id; changed in place as it writes.

    Attributes:
        producer_id: the producer's id.
        producer_epoch: the newest known epoch; None before the first batch or marker.
        coordinator_epoch: the newest transaction marker's epoch; None if there was none.
        last_timestamp: ms; timestamp of the newest batch or marker; None if there was none.
        current_transaction_first_offset: start of the open transaction; None if none is open.
        batches: at most `BATCHES_KEPT`, oldest first, all of `producer_epoch`.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_transaction_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int | None = None,
        coordinator_epoch: int | None = None,
        last_timestamp: int | None = None,
        current_transaction_first_offset: int | None = None,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_transaction_first_offset = current_transaction_first_offset
        self.batches = deque(batches, BATCHES_KEPT)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"ProducerStateEntry({values})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProducerStateEntry):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @classmethod
    def of(cls, stored: ProducerEntry) -> Self:
        """Return the entry that a snapshot holds.

        Kafka: ProducerStateManager.readSnapshot (4.2)
        """
        first = stored.current_transaction_first_offset
        batch = None
        if stored.last_offset is not None and stored.last_offset >= 0:
            batch = BatchMetadata(
                stored.last_sequence, stored.last_offset, stored.offset_delta, stored.timestamp
            )
        return cls(
            stored.producer_id,
            None if stored.producer_epoch == -1 else stored.producer_epoch,
            stored.coordinator_epoch,
            None if stored.timestamp == -1 else stored.timestamp,
            None if first is None or first < 0 else first,
            () if batch is None else (batch,),
        )

    def stored(self) -> ProducerEntry:
        """Return the entry for a snapshot.

        Kafka: ProducerStateManager.writeSnapshot (4.2)
        """
        last = self.batches[-1] if self.batches else None
        return ProducerEntry(
            self.producer_id,
            -1 if self.producer_epoch is None else self.producer_epoch,
            None if last is None else last.last_sequence,
            None if last is None else last.last_offset,
            0 if last is None else last.offset_delta,
            -1 if self.last_timestamp is None else self.last_timestamp,
            self.coordinator_epoch,
            self.current_transaction_first_offset,
        )

    @property
    def first_sequence(self) -> int | None:
        """First sequence of the oldest known batch; None if none is known."""
        return self.batches[0].first_sequence if self.batches else None

    @property
    def last_sequence(self) -> int | None:
        """Last sequence of the newest batch; None if none is known."""
        return self.batches[-1].last_sequence if self.batches else None

    @property
    def last_data_offset(self) -> int | None:
        """Last offset of the newest batch; None if none is known."""
        return self.batches[-1].last_offset if self.batches else None

    @property
    def last_offset_delta(self) -> int:
        """Last offset minus first of the newest batch; 0 if none is known."""
        return self.batches[-1].offset_delta if self.batches else 0

    def successor(self) -> "ProducerStateEntry":
        """Return an entry with the same epochs, time and transaction, and no batches.

        Kafka: ProducerStateEntry.withProducerIdAndBatchMetadata (4.2)
        """
        return ProducerStateEntry(
            self.producer_id,
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.current_transaction_first_offset,
        )

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Add a batch; those of another epoch are removed."""
        self.set_epoch(producer_epoch)
        self.batches.append(batch)
        self.last_timestamp = batch.timestamp

    def set_epoch(self, producer_epoch: int | None) -> bool:
        """Set the epoch and return whether it changed.

        Kafka: ProducerStateEntry.maybeUpdateProducerEpoch (4.2)
        """
        if self.producer_epoch == producer_epoch:
            return False
        self.batches.clear()
        self.producer_epoch = producer_epoch
        return True

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        """Apply a transaction marker; afterwards no transaction is open."""
        self.set_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.current_transaction_first_offset = None
        self.last_timestamp = timestamp

    def update(self, newer: "ProducerStateEntry") -> None:
        """Copy the state that an append gave a `successor` of this entry.

        Kafka: ProducerStateEntry.update (4.2)
        """
        self.set_epoch(newer.producer_epoch)
        self.batches.extend(newer.batches)
        self.coordinator_epoch = newer.coordinator_epoch
        self.current_transaction_first_offset = newer.current_transaction_first_offset
        self.last_timestamp = newer.last_timestamp

    def find_duplicate(
        self, producer_epoch: int, first_sequence: int, last_sequence: int
    ) -> BatchMetadata | None:
        """Return the known batch of this epoch with exactly these sequences; None if there is none.

        Kafka: ProducerStateEntry.findDuplicateBatch (4.2)
        """
        if producer_epoch != self.producer_epoch:
            return None
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                return batch
        return None


class ProducerAppendInfo:
    """One append of one producer: checks each batch, and keeps the state that would result.

    Args:
        topic_partition: the partition, named in errors.
        current: the producer's current state; not changed.
        origin: the sender; a client's batches are checked in full, a coordinator's for their epoch;
            problems in a leader's batches are only reported, because the leader checked them.
        verification: verification of the producer's transaction, if one is in progress.
        observer: receives problems that are accepted from a leader but not from a client.

    Kafka: ProducerAppendInfo (4.2)
    """

    __slots__ = (
        "_current",
        "_observer",
        "_origin",
        "_verification",
        "_where",
        "started",
        "updated",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        current: ProducerStateEntry,
        origin: AppendOrigin,
        verification: VerificationStateEntry | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._where = topic_partition
        self._current = current
        self._origin = origin
        self._verification = verification
        self._observer = observer
        self.updated = current.successor()
        self.started: list[TxnMetadata] = []

    @property
    def producer_id(self) -> int:
        """The producer's id."""
        return self.updated.producer_id

    def find_duplicate(self, batch: ProducerBatch | CheckedBatch) -> BatchMetadata | None:
        """Return the same batch as the producer sent it before; None if it did not."""
        return self._current.find_duplicate(
            batch.producer_epoch, batch.base_sequence, batch.last_sequence
        )

    def append(
        self,
        batch: ProducerBatch | CheckedBatch,
        marker: TransactionMarker | None = None,
        first_offset: LogOffsetMetadata | None = None,
        transaction_version: int | None = None,
    ) -> CompletedTransaction | None:
        """Check a batch and apply it to the state.

        Args:
            batch: the batch, data or control.
            marker: the record of a control batch; None if compaction has removed it, in which case
                nothing changes.
            first_offset: first offset of the batch, if that is known.
            transaction_version: see `end_transaction`.

        Returns:
            The transaction that the batch ends, if any.

        Raises:
            InvalidProducerEpochError: the epoch is older than a known one.
            OutOfOrderSequenceError: the sequence does not follow the last one.
            InvalidTransactionStateError: a batch without a transaction is inside an open one.
            CoordinatorFencedError: a marker comes from a coordinator that was replaced.
        """
        if not batch.is_control:
            self.append_data(batch, first_offset)
            return None
        if marker is None:
            return None
        return self.end_transaction(
            marker, batch.producer_epoch, batch.base_offset, transaction_version
        )

    def append_data(
        self, batch: ProducerBatch | CheckedBatch, first_offset: LogOffsetMetadata | None = None
    ) -> None:
        """Check a batch of data and apply it to the state; for errors see `append`.

        Kafka: ProducerAppendInfo.appendDataBatch (4.2)
        """
        updated, epoch, offset = self.updated, batch.producer_epoch, batch.base_offset
        if first_offset is not None:
            offset = first_offset.offset
        if updated.producer_epoch is not None and epoch < updated.producer_epoch:
            self._refuse_epoch(epoch, offset, 0)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(epoch, batch.base_sequence, offset)
        last_sequence = None if batch.last_sequence == _NONE else batch.last_sequence
        updated.add_batch(
            epoch,
            BatchMetadata(
                last_sequence, batch.last_offset, batch.last_offset - offset, batch.max_timestamp
            ),
        )
        if batch.is_transactional:
            if updated.current_transaction_first_offset is None:
                updated.current_transaction_first_offset = offset
                began = first_offset or LogOffsetMetadata(offset)
                self.started.append(TxnMetadata(updated.producer_id, began))
        elif updated.current_transaction_first_offset is not None:
            raise InvalidTransactionStateError(
                f"{self._place(offset)}: expected a transactional batch, because the "
                f"transaction that began at {updated.current_transaction_first_offset} is open"
            )

    def end_transaction(
        self,
        marker: TransactionMarker,
        producer_epoch: int,
        offset: int,
        transaction_version: int | None = None,
    ) -> CompletedTransaction | None:
        """Check a transaction marker and apply it to the state.

        Args:
            marker: the marker, commit or abort.
            producer_epoch: the epoch of its batch.
            offset: the marker's offset.
            transaction_version: 0, 1 or 2, as the coordinator sends with the marker; it is not
                stored, so None for records from a leader or the log.

        Returns:
            The transaction that it ends; None if the producer wrote nothing in it.

        Raises:
            InvalidProducerEpochError: the epoch is older than a known one, or, since version 2,
                not newer; sending the marker of an ended transaction again is allowed.
            CoordinatorFencedError: a newer coordinator has already written.
            ValueError: the version is missing and the marker does not come from a leader.

        Kafka: ProducerAppendInfo.appendEndTxnMarker (4.2)
        """
        if transaction_version is None:
            if self._origin is not AppendOrigin.REPLICATION:
                raise ValueError(f"a marker from {self._origin.name} needs a transaction version")
            transaction_version = 0
        self._check_marker_epoch(producer_epoch, offset, transaction_version)
        updated = self.updated
        newest = updated.coordinator_epoch
        if newest is not None and newest > marker.coordinator_epoch:
            self._refuse(
                CoordinatorFencedError,
                f"{self._place(offset)}: coordinator epoch {marker.coordinator_epoch} is older "
                f"than {newest}, the newest known",
            )
        first = updated.current_transaction_first_offset
        completed = None
        if first is not None:
            completed = CompletedTransaction(updated.producer_id, first, offset, marker.is_abort)
        updated.end_transaction(producer_epoch, marker.coordinator_epoch, marker.timestamp)
        return completed

    def _check_marker_epoch(self, epoch: int, offset: int, version: int) -> None:
        known = self.updated.producer_epoch
        if known is None:
            # The lowest epoch is 0; version 2 requires one above "none", which is -1.
            return
        if version < TRANSACTION_VERSION_2:
            if epoch < known:
                self._refuse_epoch(epoch, offset, version)
        elif epoch < known or (
            epoch == known and self.updated.current_transaction_first_offset is not None
        ):
            self._refuse_epoch(epoch, offset, version)

    def _check_sequence(self, epoch: int, first_sequence: int, offset: int) -> None:
        """Raise OutOfOrderSequenceError if a client's batch does not follow its last one."""
        updated, current, verification = self.updated, self._current, self._verification
        if verification is not None:
            if verification.supports_epoch_bump and first_sequence and not current.batches:
                self._refuse_sequence(first_sequence, offset, "0, the first of a new producer")
            if first_sequence > verification.lowest_sequence:
                expected = (
                    f"{verification.lowest_sequence} or less, the earliest sequence to be verified"
                )
                self._refuse_sequence(first_sequence, offset, expected)
        if epoch != updated.producer_epoch:
            if first_sequence and updated.producer_epoch not in _NO_EPOCH:
                expected = f"0, because epoch {epoch} is newer than {updated.producer_epoch}"
                self._refuse_sequence(first_sequence, offset, expected)
            return
        if current.producer_epoch in _NO_EPOCH:
            return  # the log has none of its batches left: any sequence may come
        if updated.batches:
            last = updated.batches[-1].last_sequence
        else:
            last = current.last_sequence if epoch == current.producer_epoch else None
        wanted = 0 if last is None or last == _LAST_SEQUENCE else last + 1
        if first_sequence != wanted:
            self._refuse_sequence(first_sequence, offset, f"{wanted}, after {last}")

    def _place(self, offset: int) -> str:
        return f"{self._where} at offset {offset}, producer {self.producer_id}"

    def _refuse_sequence(self, sequence: int, offset: int, expected: str) -> NoReturn:
        raise OutOfOrderSequenceError(
            f"{self._place(offset)}: sequence {sequence}, expected {expected}"
        )

    def _refuse_epoch(self, epoch: int, offset: int, version: int) -> None:
        relation = "not newer than" if version >= TRANSACTION_VERSION_2 else "older than"
        self._refuse(
            InvalidProducerEpochError,
            f"{self._place(offset)}: epoch {epoch} is {relation} {self.updated.producer_epoch}, "
            f"the newest known",
        )

    def _refuse(self, error: type[AppendError], problem: str) -> None:
        """Raise an error, or only report it if the leader has accepted the batch."""
        if self._origin is not AppendOrigin.REPLICATION:
            raise error(problem)
        if self._observer is not None:
            self._observer(Step("taken from the leader", str(self._where), problem, {}))
