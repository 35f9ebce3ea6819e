"""Whether a producer may append what it sends, and what its state is then.

A batch is held against the last one of its producer before anything is written: the epoch may not
be older, the sequence must follow. Nothing is changed in the log's producer state until the append
is given to `ProducerStateManager.update`, so that an append that fails leaves no trace.

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
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.control_records import ABORT, COMMIT
from workbench.log.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producer_entry import (
    BatchMetadata,
    CompletedTransaction,
    OpenTransaction,
    ProducerStateEntry,
)
from workbench.log.producer_verification import VerificationStateEntry
from workbench.log.steps import Observer, Step
from workbench.record.control import decode_control_type, decode_end_transaction

TRANSACTION_VERSION_2: Final = 2
"""From this on a marker has a higher epoch than its transaction's batches."""

_LAST_SEQUENCE: Final = 2**31 - 1  # the next one is 0
_NO_EPOCH: Final = (None, -1)  # of a producer: none is known, or it sent none
_NONE: Final = -1  # what a row says for none
_NEW_EPOCH: Final = "new epoch"


class ProducerBatch(NamedTuple):
    """What is asked of a batch that has a producer id. Numbers as in its row: -1 means none.

    Attributes:
        row: of the batch table that it was taken from.
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
        Ascending by row; empty for most appends, then it costs one look at a column.
    """
    if len(rows) < _FEW:
        producer_ids = rows["producer_id"].tolist()
        if producer_ids.count(_NONE) == len(producer_ids):
            return ()
        found = zip(range(len(rows)), producer_ids, rows.tolist(), strict=True)
        return [ProducerBatch(row, *_PICK(one)) for row, number, one in found if number != _NONE]
    chosen = np.flatnonzero(rows["producer_id"] != _NONE)
    if not len(chosen):
        return ()
    columns = (rows[name][chosen].tolist() for name in _COLUMNS)
    return list(map(ProducerBatch, chosen.tolist(), *columns))


class TransactionMarker(NamedTuple):
    """What the one record of a transaction's last batch says.

    Attributes:
        is_abort: else it commits.
        coordinator_epoch: of the coordinator that wrote it.
        timestamp: ms; the record's.
    """

    is_abort: bool
    coordinator_epoch: int
    timestamp: int

    @classmethod
    def decode(
        cls, key: bytes | memoryview | None, value: bytes | memoryview | None, timestamp: int
    ) -> "TransactionMarker":
        """Return what the record of a control batch with a producer id says.

        Raises:
            CorruptRecordError: it is no commit and no abort, or too short for one.

        Kafka: EndTransactionMarker.deserialize (4.2)
        """
        control_type = decode_control_type(key)
        if control_type not in (ABORT, COMMIT):
            problem = f"control type {control_type} where a transaction ends, 0 or 1 was expected"
            raise CorruptRecordError(None, None, problem)
        epoch = decode_end_transaction(value).coordinator_epoch
        return cls(control_type == ABORT, epoch, timestamp)


class ProducerAppendInfo:
    """One append of one producer: checks each batch, and keeps what its state would be.

    Args:
        topic_partition: named in errors.
        current: what is known of the producer; not changed.
        origin: a client's batches are checked in full, a coordinator's for their epoch; what comes
            from a leader was checked there, and only told of.
        verification: the producer's transaction that is being verified, if one is.
        observer: is told what is taken from a leader although a client could not send it.

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
        """Whose append it is."""
        return self.updated.producer_id

    def append(
        self,
        batch: ProducerBatch,
        marker: TransactionMarker | None = None,
        first_offset: LogOffsetMetadata | None = None,
        transaction_version: int | None = None,
    ) -> CompletedTransaction | None:
        """Check a batch and take it over.

        Args:
            batch: data or control.
            marker: the record of a control batch; None when compaction has removed it, and then
                nothing is changed.
            first_offset: where the batch will be, if that is known.
            transaction_version: see `end_transaction`.

        Returns:
            The transaction that the batch ends, if it ends one.

        Raises:
            InvalidProducerEpochError: the epoch is older than one that is known.
            OutOfOrderSequenceError: the sequence does not follow the last one.
            InvalidTransactionStateError: a batch without transaction inside an open one.
            CoordinatorFencedError: a marker of a coordinator that has been replaced.
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
        """Check a batch of data and take it over; errors as `append`.

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
                f"{self._place(offset)}: expected a transactional batch, for the transaction that "
                f"began at {updated.current_transaction_first_offset} is open"
            )

    def end_transaction(
        self,
        marker: TransactionMarker,
        producer_epoch: int,
        offset: int,
        transaction_version: int | None = None,
    ) -> CompletedTransaction | None:
        """Check a transaction marker and take it over.

        Args:
            marker: commit or abort.
            producer_epoch: of its batch.
            offset: of the marker.
            transaction_version: 0, 1 or 2, as the coordinator says with the marker; it is not
                stored, so None for what a leader sent or the log holds.

        Returns:
            The transaction that it ends; None when the producer had written nothing in it.

        Raises:
            InvalidProducerEpochError: the epoch is older than one that is known, or, from version
                2 on, not newer; sending the marker of an ended transaction again is allowed.
            CoordinatorFencedError: a newer coordinator has written before.
            ValueError: no transaction version, and the marker does not come from a leader.

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
            # The lowest epoch is 0; version 2 asks for one above "none", which is -1.
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
                expected = f"{verification.lowest_sequence} or less, the earliest to be verified"
                self._refuse_sequence(first_sequence, offset, expected)
        if epoch != updated.producer_epoch:
            if first_sequence and updated.producer_epoch not in _NO_EPOCH:
                expected = f"0, for epoch {epoch} is newer than {updated.producer_epoch}"
                self._refuse_sequence(first_sequence, offset, expected)
            return
        if current.producer_epoch in _NO_EPOCH:
            return  # nothing of it is left in the log: any sequence may come
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
        """Raise an error, unless the leader has taken what is wrong."""
        if self._origin is not AppendOrigin.REPLICATION:
            raise error(problem)
        if self._observer is not None:
            self._observer(Step("taken from the leader", str(self._where), problem, {}))
