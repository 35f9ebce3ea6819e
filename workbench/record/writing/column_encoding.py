"""Columns of records as the bytes of magic 2 records: the inverse of decoding.

Kafka: DefaultRecord.writeTo (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import HEADERS, KEYS, VALUES, RecordOutputs, no_outputs
from workbench.record.columns import BinaryColumn, RecordColumns

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
