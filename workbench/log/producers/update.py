"""What the batches of an append, or of a log that is loaded, change in the producer state.

Kafka: UnifiedLog.analyzeAndValidateProducerState, loadProducersFromRecords (4.2)
"""

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.files.file_records import FileRecords
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata
from workbench.log.producers.batches import ProducerBatch, TransactionMarker, producer_batches
from workbench.log.producers.producer import (
    BatchMetadata,
    CompletedTransaction,
    ProducerAppendInfo,
)
from workbench.log.producers.state import ProducerStateManager
from workbench.log.segments.segment import LogSegment
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch

Rows = npt.NDArray[Any]


class ProducerUpdate:
    """Batches of producers, checked against the state, which changes only with `apply`.

    Args:
        state: the log's producer state.
        origin: the source of the batches; it decides what is checked.

    Attributes:
        duplicate: the earlier batch, if the append is a duplicate; then nothing is to be applied.
    """

    __slots__ = ("_appends", "_completed", "_origin", "_state", "duplicate")

    def __init__(self, state: ProducerStateManager, origin: AppendOrigin) -> None:
        self.duplicate: BatchMetadata | None = None
        self._state = state
        self._origin = origin
        self._appends: dict[int, ProducerAppendInfo] = {}
        self._completed: list[CompletedTransaction] = []

    def add(
        self,
        batch: ProducerBatch | CheckedBatch,
        marker: TransactionMarker | None,
        first_offset: LogOffsetMetadata | None = None,
        transaction_version: int | None = None,
    ) -> None:
        """Check a batch; for arguments and errors see `ProducerAppendInfo.append`.

        A batch that a client sent before becomes the `duplicate`. With any other, the producer has
        its first offset, or its transaction has ended: nothing is left to verify.

        Kafka: UnifiedLog.updateProducers (4.2)
        """
        append = self._appends.get(batch.producer_id)
        if append is None:
            append = self._state.prepare_update(batch.producer_id, self._origin)
            self._appends[batch.producer_id] = append
        if self._origin is AppendOrigin.CLIENT:
            self.duplicate = append.find_duplicate(batch)
            if self.duplicate is not None:
                return
        done = append.append(batch, marker, first_offset, transaction_version)
        self._state.verifications.end(batch.producer_id)
        if done is not None:
            self._completed.append(done)

    def apply(self, segment: LogSegment | None = None) -> None:
        """Change the state; write the completed transactions to a segment's transaction index."""
        state = self._state
        for append in self._appends.values():
            state.update(append)
        for transaction in self._completed:
            if segment is not None:
                end = state.last_stable_offset(transaction)
                segment.update_transaction_index(transaction, end)
            state.complete_transaction(transaction)


def check_producers(
    state: ProducerStateManager,
    records: MemoryRecords,
    batches: Iterable[CheckedBatch],
    segment: LogSegment,
    origin: AppendOrigin,
    transaction_version: int,
) -> ProducerUpdate:
    """Check each batch of an append that has a producer id against the producer's state.

    Args:
        state: the log's producer state; not changed.
        records: the append, with its offsets.
        batches: its batches; markers are read from ``records``.
        segment: the segment to append to.
        origin: the source of the records.
        transaction_version: version that the transaction coordinator sends with a marker.

    Raises:
        AppendError: see `ProducerAppendInfo.append`.
        CorruptRecordError: a transaction marker cannot be read.

    Kafka: UnifiedLog.analyzeAndValidateProducerState (4.2)
    """
    update = ProducerUpdate(state, origin)
    for batch in batches:
        if batch.producer_id < 0:
            continue
        first_offset = marker = None
        start = batch.position
        if batch.is_transactional:
            base, at = segment.base_offset, segment.size + start
            first_offset = LogOffsetMetadata(batch.base_offset, base, at)
        if batch.is_control and batch.record_count > 0:
            marker = TransactionMarker.read(records.buffer[start : start + batch.size])
        update.add(batch, marker, first_offset, transaction_version)
        if update.duplicate is not None:
            break
    return update


def load_producers(state: ProducerStateManager, log: FileRecords, rows: Rows) -> None:
    """Apply batches of a log to the state of their producers.

    Args:
        state: the state to change; batches before ``rows`` must be in it.
        log: the file of the batches; markers are read from it.
        rows: BATCH_ROW[n].

    Raises:
        CorruptRecordError: a transaction marker cannot be read.

    Kafka: UnifiedLog.loadProducersFromRecords (4.2)
    """
    update = ProducerUpdate(state, AppendOrigin.REPLICATION)
    for batch in producer_batches(rows):
        marker = None
        if batch.is_control and batch.record_count > 0:  # compaction may have emptied it
            row = rows[batch.row]
            position = int(row["position"])
            try:
                marker = TransactionMarker.read(log.read(position, int(row["size"])).buffer)
            except CorruptRecordError as error:
                raise CorruptRecordError(log.path, position, error.problem) from error
        update.add(batch, marker)
    update.apply()
