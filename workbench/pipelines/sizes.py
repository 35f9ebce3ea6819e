"""Sizes: of keys, values and headers in the batches of a task, and of jobs."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Longs = npt.NDArray[np.int64]

MOST_TASKS: Final = 10_000  # of a job: each gets the list of all, half a kilobyte for each


def sizes_of(column: pa.Array) -> Longs:
    """Return int64[n]: bytes of each binary or string; -1 of a null."""
    return np.asarray(pc.binary_length(column).fill_null(-1)).astype(np.int64)


def header_sizes(lists: Any) -> Longs:
    """Return int64[n]: bytes of each record's headers, keys and values; 0 without any."""
    total = np.zeros(len(lists), np.int64)
    if lists.null_count == len(lists):
        return total
    items = lists.flatten()
    each = sum(np.maximum(sizes_of(items.field(name)), 0) for name in ("key", "value"))
    ends = np.concatenate([[0], np.cumsum(each)])
    counts = np.asarray(pc.list_value_length(lists).fill_null(0))
    last = np.cumsum(counts)
    return np.asarray(ends[last] - ends[last - counts], np.int64)


def record_sizes(batch: pa.RecordBatch) -> Longs:
    """Return int64[n]: bytes of key, value and headers of each record before compression."""
    keys, values = (np.maximum(sizes_of(batch.column(name)), 0) for name in ("key", "value"))
    return np.asarray(keys + values + header_sizes(batch.column("headers")), np.int64)
