"""Build batches: `RecordsBuilder` from records, many at once too, and those that brokers make.

Kafka: DefaultRecord.writeTo, MemoryRecordsBuilder, MemoryRecords.withEndTransactionMarker and its
like (4.2)
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import HEADERS, KEYS, VALUES, RecordOutputs, no_outputs
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.control_records import ABORT, COMMIT, CONTROL_TYPE_NAMES, LEADER_CHANGE
from workbench.record.columns import BinaryColumn, RecordColumns
from workbench.record.control import (
    encode_control_key,
    encode_control_value,
    encode_end_transaction,
)
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_writer import (
    MOST_RECORDS,
    BatchInfo,
    BatchWriter,
    Bytes,
    HeaderFields,
    attributes_of,
    write_header,
)

_NOTHING: Final = no_outputs()
_ALWAYS: Final = np.empty(0, np.uint8)  # the validity of a column without nulls


def encode_columns(
    columns: RecordColumns,
    base_offset: int,
    base_timestamp: int,
    picks: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.uint8]:
    """Return records as in a batch, uint8[n], without its header.

    Args:
        columns: keys, values and headers that were not decoded are written as null and none.
        base_offset: the batch's base offset; the offsets are at most 2**31 - 1 above it.
        base_timestamp: the batch's base timestamp in ms.
        picks: int64[m], ascending, the records to write; None for all.

    Kafka: DefaultRecord.writeTo (4.2)
    """
    chosen = np.arange(len(columns), dtype=np.int64) if picks is None else picks
    fields, options = kernel_inputs(columns)
    bases = (base_offset, base_timestamp)
    size = int(dispatch.measure_records(fields, chosen, *bases, options))
    records = np.empty(size, np.uint8)
    end = dispatch.encode_records(fields, chosen, *bases, options, records, 0)
    assert end == size
    return records


def kernel_inputs(columns: RecordColumns) -> tuple[RecordOutputs, int]:
    """Return the arrays of columns as the kernels take them, and which columns there are."""
    fields = _NOTHING._replace(offsets=columns.offsets, timestamps=columns.timestamps)
    options = 0
    if columns.keys is not None:
        options |= KEYS
        fields = fields._replace(
            key_offsets=columns.keys.offsets,
            key_data=columns.keys.data,
            key_validity=_validity(columns.keys),
        )
    if columns.values is not None:
        options |= VALUES
        fields = fields._replace(
            value_offsets=columns.values.offsets,
            value_data=columns.values.data,
            value_validity=_validity(columns.values),
        )
    if columns.headers is not None:
        options |= HEADERS
        fields = fields._replace(
            header_offsets=columns.headers.offsets,
            header_key_offsets=columns.headers.keys.offsets,
            header_key_data=columns.headers.keys.data,
            header_value_offsets=columns.headers.values.offsets,
            header_value_data=columns.headers.values.data,
            header_value_validity=_validity(columns.headers.values),
        )
    return fields, options


def _validity(column: BinaryColumn) -> npt.NDArray[np.uint8]:
    return _ALWAYS if column.validity is None else column.validity


__all__ = [
    "BatchInfo",
    "RecordsBuilder",
    "empty_batch_header",
    "end_transaction_marker",
    "quorum_control_batch",
]


class RecordsBuilder(BatchWriter):
    """A batch of records or control records; for arguments and errors see `BatchWriter`."""

    def append_columns(
        self, columns: RecordColumns, picks: npt.NDArray[np.int64] | None = None
    ) -> None:
        """Append many records at the offsets that they have; magic 2 only.

        Args:
            columns: the decoded columns; without decoded headers there are none.
            picks: int64[m], ascending, the records to append; None for all.

        Raises:
            ValueError: the format is an old one, or an offset or timestamp as `append_with_offset`.
            RuntimeError: the batch is built or given up.
        """
        if self.magic < 2:
            raise ValueError(f"columns cannot be appended in magic {self.magic}")
        if not self._takes_records:
            raise self._closed()
        chosen = np.arange(len(columns), dtype=np.int64) if picks is None else picks
        if not len(chosen):
            return
        offsets, timestamps = columns.offsets[chosen], columns.timestamps[chosen]
        first, last = int(offsets[0]), int(offsets[-1])
        if first < self.next_offset or (np.diff(offsets) <= 0).any():
            raise ValueError(f"offset {first} does not ascend: {self.next_offset} is next")
        if timestamps.min() < NO_TIMESTAMP:
            raise ValueError(f"{timestamps.min()} is not a timestamp")
        if last - self.base_offset > MOST_RECORDS:
            raise ValueError(f"offset {last} is too far from base offset {self.base_offset}")
        if self._base_timestamp is None:
            self._base_timestamp = int(timestamps[0])
        records = encode_columns(columns, self.base_offset, self._base_timestamp, chosen)
        newest = int(timestamps.argmax())
        self._take(
            memoryview(records), len(chosen), last, int(timestamps[newest]), int(offsets[newest])
        )

    def append_encoded(
        self, records: memoryview, count: int, base_timestamp: int, max_timestamp: int
    ) -> None:
        """Append the records of a batch of magic 2 unchanged, at the next offsets.

        Args:
            records: bytes as this builder would write its first records; not copied.
            count: the number of records.
            base_timestamp, max_timestamp: ms.

        Raises:
            ValueError: there are records already.
        """
        if self.record_count or self.magic < 2 or self._base_timestamp is not None:
            raise ValueError("encoded records can only be the first ones of a batch")
        self._base_timestamp = base_timestamp
        last_offset = self.base_offset + count - 1
        self._take(records, count, last_offset, max_timestamp, last_offset)

    def append_control(self, timestamp: int, control_type: int, value: bytes | None) -> int:
        """Append a control record at the next offset, and return that.

        Raises:
            ValueError: this is not a control batch, or the type is unknown; otherwise see `append`.

        Kafka: MemoryRecordsBuilder.appendControlRecord (4.2)
        """
        if not self.is_control:
            raise ValueError("control records can be appended to control batches only")
        if control_type not in CONTROL_TYPE_NAMES:
            raise ValueError(f"control type {control_type} is not known")
        offset = self.next_offset
        self.append_record(offset, timestamp, encode_control_key(control_type), value)
        return offset

    def append_end_transaction(
        self, timestamp: int, coordinator_epoch: int, *, commit: bool
    ) -> int:
        """Append the marker that ends a transaction, and return its offset.

        Raises:
            ValueError: the batch has no producer id or is not transactional; or see `append`.

        Kafka: MemoryRecordsBuilder.appendEndTxnMarker (4.2)
        """
        if self.producer_id is None:
            raise ValueError("the end of a transaction needs a producer id")
        if not self.is_transactional:
            raise ValueError("the end of a transaction needs a transactional batch")
        value = encode_end_transaction(coordinator_epoch)
        return self.append_control(timestamp, COMMIT if commit else ABORT, value)

    def append_quorum_control(
        self, timestamp: int, control_type: int, values: dict[str, Any]
    ) -> int:
        """Append a control record of a KRaft quorum, and return its offset.

        Args:
            values: fields of the message by Kafka's names, see `record.control.MESSAGES`.

        Raises:
            ValueError: a leader change without a leader epoch; otherwise see `append`.

        Kafka: MemoryRecordsBuilder.appendLeaderChangeMessage and its like (4.2)
        """
        if control_type == LEADER_CHANGE and self.partition_leader_epoch == -1:
            raise ValueError("a leader change needs a leader epoch")
        return self.append_control(
            timestamp, control_type, encode_control_value(control_type, values)
        )

    def build(self) -> MemoryRecords:
        """Return what was built: one batch, or one message for each record; nothing without any.

        Raises:
            ValueError: the producer's id, epoch and sequence do not fit together or the format.
            RuntimeError: the batch was given up.

        Kafka: MemoryRecordsBuilder.build (4.2)
        """
        return MemoryRecords(self.finish())


def end_transaction_marker(
    base_offset: int,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    coordinator_epoch: int,
    partition_leader_epoch: int = -1,
) -> MemoryRecords:
    """Return the control batch that commits or aborts a transaction: 78 bytes.

    Kafka: MemoryRecords.withEndTransactionMarker (4.2)
    """
    builder = RecordsBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
        partition_leader_epoch=partition_leader_epoch,
    )
    builder.append_end_transaction(timestamp, coordinator_epoch, commit=commit)
    return builder.build()


def quorum_control_batch(
    control_type: int,
    values: dict[str, Any],
    *,
    base_offset: int,
    timestamp: int,
    leader_epoch: int,
) -> MemoryRecords:
    """Return a control batch of a KRaft quorum: a leader change, voters, or a snapshot's ends.

    Args:
        values: fields of the message by Kafka's names, see `record.control.MESSAGES`.

    Raises:
        ValueError: a leader change without a leader epoch, or a type that has no message.

    Kafka: MemoryRecords.withLeaderChangeMessage and its like (4.2)
    """
    builder = RecordsBuilder(
        base_offset=base_offset, is_control=True, partition_leader_epoch=leader_epoch
    )
    builder.append_quorum_control(timestamp, control_type, values)
    return builder.build()


def empty_batch_header(
    *,
    base_offset: int,
    last_offset: int,
    max_timestamp: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    partition_leader_epoch: int = -1,
    timestamp_type: int = 0,
    is_transactional: bool = False,
    is_control: bool = False,
) -> Bytes:
    """Return uint8[61]: a batch without records, as compaction leaves it; its base timestamp is -1.

    Kafka: DefaultRecordBatch.writeEmptyHeader (4.2)
    """
    batch = np.empty(BATCH_HEADER_SIZE, np.uint8)
    bits = attributes_of(
        0, timestamp_type, is_transactional=is_transactional, is_control=is_control
    )
    header = HeaderFields(
        base_offset, last_offset, partition_leader_epoch, bits, NO_TIMESTAMP, max_timestamp,
        producer_id, producer_epoch, base_sequence, 0,
    )  # fmt: skip
    write_header(batch, header)
    return batch
