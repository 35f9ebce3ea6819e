"""Whether a producer may append its batches, and its state afterwards.

A batch is compared with the last one of its producer before anything is written: the epoch must
not be older, and the sequence must follow. The log's producer state changes only when the append
is passed to `ProducerStateManager.update`, so an append that fails leaves no trace.

Kafka: ProducerAppendInfo, EndTransactionMarker (4.2)
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from workbench.errors import (
    AppendError,
    CoordinatorFencedError,
    CorruptRecordError,
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
)
from workbench.files.names import TopicPartition
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.control_records import ABORT, COMMIT
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.entry import (
    BatchMetadata,
    CompletedTransaction,
    OpenTransaction,
    ProducerStateEntry,
)
from workbench.log.producers.verification import VerificationStateEntry
from workbench.record.control import decode_control_type, decode_end_transaction
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.steps import Observer, Step

TRANSACTION_VERSION_2: Final = 2
"""From this version, a marker has a higher epoch than its transaction's batches."""

_LAST_SEQUENCE: Final = 2**31 - 1  # the next one is 0
_NO_EPOCH: Final = (None, -1)  # a producer's epoch: none is known, or it sent none
_NONE: Final = -1  # value of a row for none
_NEW_EPOCH: Final = "new epoch"


class ProducerBatch(NamedTuple):
    """The fields of a batch with a producer id. Numbers as in its row: -1 means none.

    Attributes:
        row: its row in the batch table.
        max_timestamp: ms.
        record_count: 0 for a batch whose records compaction removed.
    """

    row: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    record_count: int
    is_transactional: bool
    is_control: bool


_COLUMNS: Final = ProducerBatch._fields[1:]
_NAMES: Final = BATCH_ROW.names or ()
_PICK: Final = itemgetter(*map(_NAMES.index, _COLUMNS))
_FEW: Final = 32  # rows: below it lists are faster than arrays


def producer_batches(rows: npt.NDArray[Any]) -> Sequence[ProducerBatch]:
    """Return the batches that have a producer id.

    Args:
        rows: BATCH_ROW[n].

    Returns:
        The batches by row; empty for most appends, which costs only one check of a column.

    Kafka: AbstractRecordBatch.hasProducerId (4.2)
    """
    if len(rows) < _FEW:
        producer_ids = rows["producer_id"].tolist()
        if max(producer_ids, default=_NONE) <= _NONE:
            return ()
        found = zip(range(len(rows)), producer_ids, rows.tolist(), strict=True)
        return [ProducerBatch(row, *_PICK(one)) for row, number, one in found if number > _NONE]
    chosen = np.flatnonzero(rows["producer_id"] > _NONE)
    if not len(chosen):
        return ()
    columns = (rows[name][chosen].tolist() for name in _COLUMNS)
    return list(map(ProducerBatch, chosen.tolist(), *columns))


class TransactionMarker(NamedTuple):
    """The content of a transaction marker.

    Attributes:
        is_abort: whether it aborts; otherwise it commits.
        coordinator_epoch: epoch of the coordinator that wrote it.
        timestamp: ms; the record's timestamp.
    """

    is_abort: bool
    coordinator_epoch: int
    timestamp: int

    @classmethod
    def decode(
        cls, key: bytes | memoryview | None, value: bytes | memoryview | None, timestamp: int
    ) -> "TransactionMarker":
        """Parse the record of a control batch with a producer id.

        Raises:
            CorruptRecordError: the record is not a commit or abort, or too short for one.

        Kafka: EndTransactionMarker.deserialize (4.2)
        """
        control_type = decode_control_type(key)
        if control_type not in (ABORT, COMMIT):
            problem = (
                f"the control type of a marker is wrong (found {control_type}, expected 0 or 1)"
            )
            raise CorruptRecordError(None, None, problem)
        epoch = decode_end_transaction(value).coordinator_epoch
        return cls(control_type == ABORT, epoch, timestamp)

    @classmethod
    def read(cls, entry: npt.NDArray[np.uint8]) -> "TransactionMarker":
        """Parse the first record of a control batch, uint8[n].

        Raises:
            CorruptRecordError: the record cannot be read, or see `decode`.
        """
        record = MemoryRecords(entry).records()[0]
        timestamp = NO_TIMESTAMP if record.timestamp is None else record.timestamp
        return cls.decode(record.key, record.value, timestamp)


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
        self.started: list[OpenTransaction] = []

    @property
    def producer_id(self) -> int:
        """The producer's id."""
        return self.updated.producer_id

    def append(
        self,
        batch: ProducerBatch,
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
        self, batch: ProducerBatch, first_offset: LogOffsetMetadata | None = None
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
                self.started.append(OpenTransaction(updated.producer_id, began))
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
