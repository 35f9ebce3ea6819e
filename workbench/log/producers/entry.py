"""A log's state of one producer: its epoch, its last five batches, its open transaction.

With it a broker detects duplicate batches, gaps in the sequence numbers, and producers that were
replaced. A snapshot keeps only the newest batch.

Kafka: ProducerStateEntry, BatchMetadata, TxnMetadata, CompletedTxn (4.2)
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from workbench.files.producer_snapshot import SEQUENCES, ProducerEntry
from workbench.log.fetch import LogOffsetMetadata

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


class OpenTransaction(NamedTuple):
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
    def first_data_offset(self) -> int | None:
        """First offset of the oldest known batch; None if none is known."""
        return self.batches[0].first_offset if self.batches else None

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
