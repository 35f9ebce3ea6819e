"""The batches of producers in a log, and the transaction markers among them.

Kafka: AbstractRecordBatch.hasProducerId, EndTransactionMarker (4.2)
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.control_records import ABORT, COMMIT
from workbench.record.control import decode_control_type, decode_end_transaction
from workbench.record.memory_records import MemoryRecords

_NONE: Final = -1  # value of a row for none


class ProducerBatch(NamedTuple):
    """The fields of a batch with a producer id. Numbers as in its row: -1 means none.

    A batch that is appended is a `CheckedBatch`, which has them, too.

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
