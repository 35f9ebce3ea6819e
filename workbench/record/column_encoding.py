"""Build a batch of magic 2 from columns of records: for many records at once.

What was decoded is written again, all of it or some, in another codec, at other offsets.

Kafka: MemoryRecordsBuilder (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.outputs import HEADERS, KEYS, VALUES, RecordOutputs, no_outputs
from workbench.layout.attributes import NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.record.columns import BinaryColumn, RecordColumns
from workbench.record.compression import compress
from workbench.record.memory_records import MemoryRecords
from workbench.record.record_encoding import BatchHeader, write_header

_NOTHING: Final = no_outputs()
_ALWAYS: Final = np.empty(0, np.uint8)  # the validity of a column without nulls
_CODEC_MASK: Final = 7


def encode_batch(
    columns: RecordColumns,
    header: BatchHeader,
    *,
    picks: npt.NDArray[np.int64] | None = None,
    level: int | None = None,
) -> MemoryRecords:
    """Return one batch with records of the columns, whose offsets and timestamps are as they are.

    Args:
        columns: keys, values and headers that were not decoded are written as null and none.
        header: the codec stands in its attributes. Offsets of records lie within 2**31 - 1 above
            its base offset; the count need not be that of the records.
        picks: int64[m], ascending, which records; None for all.
        level: of the codec, Kafka's; None for its default.

    Raises:
        ValueError: the codec is unknown or has no such level.

    Kafka: MemoryRecordsBuilder.appendDefaultRecord, writeDefaultBatchHeader (4.2)
    """
    chosen = np.arange(len(columns), dtype=np.int64) if picks is None else picks
    fields, options = kernel_inputs(columns)
    bases = (header.base_offset, header.base_timestamp)
    size = int(dispatch.measure_records(fields, chosen, *bases, options))
    codec = header.attributes & _CODEC_MASK
    start = BATCH_HEADER_SIZE if codec == NONE else 0
    batch = np.empty(start + size, np.uint8)
    end = dispatch.encode_records(fields, chosen, *bases, options, batch, start)
    assert end == len(batch)
    if codec != NONE:
        packed = compress(codec, memoryview(batch), 2, level)
        batch = np.empty(BATCH_HEADER_SIZE + len(packed), np.uint8)
        memoryview(batch)[BATCH_HEADER_SIZE:] = packed
    write_header(batch, header)
    return MemoryRecords(batch)


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
