"""What is kept of each match so that all of them can be sorted by it: a key, a size, or a field."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MOST_KEPT: Final = 64
"""Bytes of a key, or characters of another text, that decide its place among others."""


class SortKey(NamedTuple):
    """What matches are sorted by, besides their time and place.

    Attributes:
        name: what an order calls it.
        columns: names out of `schemas.SCAN_FIELDS` that it is made from.
        schema: what is kept; matches are sorted by the first column, then by the next.
        keep: takes a batch of these columns, and int64[n], which of its records are matches;
            returns what is kept of these.
    """

    name: str
    columns: tuple[str, ...]
    schema: pa.Schema
    keep: Callable[[pa.RecordBatch, pa.Array], pa.RecordBatch]

    def arranged(self, kept: pa.Table, *, descending: bool) -> npt.NDArray[np.int64]:
        """Return int64[n]: the rows of what was kept in order.

        Rows without a value come last whichever way, and equal ones remain as they are.
        """
        way = "descending" if descending else "ascending"
        order = pc.sort_indices(kept, sort_keys=[(name, way) for name in self.schema.names])
        return np.asarray(order.to_numpy(), np.int64)


def _beginnings(batch: pa.RecordBatch, matches: pa.Array) -> pa.RecordBatch:
    beginnings = pc.binary_slice(batch["key"].take(matches), 0, MOST_KEPT)
    return pa.RecordBatch.from_arrays([beginnings], schema=_KEY)


def _sizes(batch: pa.RecordBatch, matches: pa.Array) -> pa.RecordBatch:
    sizes = [pc.fill_null(pc.binary_length(batch[name]), 0) for name in ("key", "value")]
    return pa.RecordBatch.from_arrays([pc.add(*sizes).take(matches)], schema=_SIZE)


_KEY: Final = pa.schema([("key", pa.large_binary())])
_SIZE: Final = pa.schema([("size", pa.int64())])

KEY: Final = SortKey("key", ("key",), _KEY, _beginnings)
"""The first `MOST_KEPT` bytes of the key."""

SIZE: Final = SortKey("size", ("key", "value"), _SIZE, _sizes)
"""The bytes of key and value."""
