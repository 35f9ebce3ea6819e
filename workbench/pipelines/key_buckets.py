"""Keys of a log that tasks have seen, as sums in binary cells: a group of them for each bucket.

A row per key is what a job pays most for. A cell holds the sums of many keys, and a bucket is
small enough that one process can combine its cells.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.inspection.partition import DiskPartition
from workbench.loaders.writing.from_arrow import binary_column
from workbench.record.compaction.key_table import Secret, key_sums

Longs = npt.NDArray[np.int64]

ROOM: Final = 1 << 20
"""Keys that a task holds before it hands them on."""

_BUCKET_BYTES: Final = 256 << 20  # of a log: at most a few million keys
_MOST_BITS: Final = 12


def bucket_bits(partitions: Iterable[DiskPartition]) -> int:
    """Return the logarithm of the number of buckets that the largest partition needs."""
    largest = max((each.size for each in partitions), default=0)
    return min(_MOST_BITS, (largest // _BUCKET_BYTES).bit_length())


def sums_of(keys: pa.Array, secret: Secret) -> Longs:
    """Return int64[2, n]: the sums of keys under a secret; that of a null has no meaning."""
    return key_sums(binary_column(keys), secret)


def bucket_slices(first_halves: Longs, bits: int) -> Iterator[tuple[int, slice]]:
    """Yield the number of each bucket that is not empty, and where its keys are.

    Args:
        first_halves: the first halves of the sums, ascending.
        bits: the logarithm of the number of buckets.
    """
    if bits == 0 or not len(first_halves):
        if len(first_halves):
            yield 0, slice(0, len(first_halves))
        return
    numbers = first_halves >> (64 - bits)  # the sign is the first bit
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(numbers)], strict=True):
        yield int(numbers[start]), slice(start, end)


def distinct(sums: Longs) -> Longs:
    """Return each number once, ascending; numpy's own `unique` takes five times as long."""
    ordered = np.sort(sums)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def cells(parts: list[bytes]) -> pa.Array:
    """Return the bytes of some cells as a column."""
    return pa.array(parts, pa.binary())


def joined_cells(column: Any, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the entries of all cells of a column, one after the other."""
    return np.frombuffer(b"".join(cell.as_buffer() for cell in column.combine_chunks()), kind)
