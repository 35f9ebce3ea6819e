"""Arrow to record columns: the inverse of `arrow`, without a copy where the types allow it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from workbench.layout.attributes import NO_TIMESTAMP
from workbench.record.columns import BinaryColumn, HeaderColumn, RecordColumns


def binary_column(values: pa.Array) -> BinaryColumn:
    """Return bytes or strings as a binary column.

    Args:
        values: binary or string, of any width.

    Raises:
        TypeError: they are something else.
    """
    kind = values.type
    if pa.types.is_string(kind):
        values = values.cast(pa.binary())
    elif pa.types.is_large_string(kind):
        values = values.cast(pa.large_binary())
    elif not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise TypeError(f"{kind} is neither bytes nor text")
    if values.offset:  # of a slice: bitmaps begin within a byte
        values = pa.concat_arrays([values, values[:0]])
    validity, offsets, data = values.buffers()
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(offsets, width, len(values) + 1) if offsets else np.zeros(1, width)
    has_null = values.null_count and validity is not None
    return BinaryColumn(
        ends.astype(np.int64, copy=False),
        np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8),
        np.frombuffer(validity, np.uint8) if has_null else None,
        values.null_count,
    )


def header_column(lists: Any) -> HeaderColumn:
    """Return ``list<struct<key, value>>`` as headers; a null list is one without items.

    Raises:
        TypeError: keys or values are neither bytes nor text.
        ValueError: a header has no key.
    """
    counts = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(np.asarray(counts), out=offsets[1:])
    items = lists.flatten()
    keys = binary_column(pc.struct_field(items, 0))
    if keys.null_count:
        raise ValueError("a header has no key")
    return HeaderColumn(offsets, keys, binary_column(pc.struct_field(items, 1)))


def timestamps_ms(times: pa.Array) -> npt.NDArray[np.int64]:
    """Return int64[n] ms since the epoch; null is -1.

    Args:
        times: timestamps of any unit; fractions of a ms are dropped.

    Raises:
        ValueError: a time is before 1970, which no record can have.
    """
    found = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    earliest = pc.min(found).as_py()
    if earliest is not None and earliest < 0:
        raise ValueError(f"{earliest} ms since 1970 cannot be the timestamp of a record")
    return np.asarray(pc.fill_null(found, NO_TIMESTAMP))


def record_columns(
    offsets: npt.NDArray[np.int64],
    timestamps: npt.NDArray[np.int64],
    keys: pa.Array | None,
    values: pa.Array,
    headers: Any | None,
) -> RecordColumns:
    """Return n records.

    Args:
        offsets: int64[n].
        timestamps: int64[n], ms, -1: none.
        keys: None: all null.
        values: the values of the records.
        headers: None: none.

    Raises:
        TypeError, ValueError: see `binary_column` and `header_column`.
    """
    return RecordColumns(
        offsets,
        timestamps,
        np.zeros(len(offsets), np.int32),
        None if keys is None else binary_column(keys),
        binary_column(values),
        None if headers is None else header_column(headers),
    )
