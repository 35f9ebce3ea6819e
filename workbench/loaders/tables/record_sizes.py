"""The sizes of records: the bytes of their keys, values and headers before compression, by key."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.inspection.segment import Segment
from workbench.loaders.scan import arrow
from workbench.record.columns import RecordColumns

Longs = npt.NDArray[np.int64]


def header_sizes(columns: RecordColumns) -> Longs:
    """Return int64[n]: bytes of each record's headers, names and values."""
    headers = columns.headers
    assert headers is not None
    sums = np.concatenate([[0], np.cumsum(headers.keys.sizes() + headers.values.sizes())])
    return np.diff(sums[headers.offsets])


def record_sizes(columns: RecordColumns) -> Longs:
    """Return int64[n]: bytes of each record's key, value and headers."""
    assert columns.keys is not None
    assert columns.values is not None
    return columns.keys.sizes() + columns.values.sizes() + header_sizes(columns)


@dataclass(frozen=True, slots=True)
class RecordSizes:
    """The sizes of n records.

    Attributes:
        offsets: int64[n], ascending.
        sizes: int64[n], bytes of key, value and headers.
        keys: the keys of the records; null also for control records.
        is_data: bool[n], whether the record is not a control record.
    """

    offsets: Longs
    sizes: Longs
    keys: pa.ChunkedArray
    is_data: npt.NDArray[np.bool_]

    def of(self, offsets: Longs) -> Longs:
        """Return the sizes of the records at some offsets; 0 for unreadable ones."""
        sizes = np.zeros(len(offsets), np.int64)
        slots, is_read = self._slots(offsets)
        sizes[is_read] = self.sizes[slots]
        return sizes

    def are_at(self, offsets: Longs) -> npt.NDArray[np.bool_]:
        """Return bool[n]: whether each record has one of some offsets."""
        found = np.zeros(len(self.offsets), np.bool_)
        found[self._slots(offsets)[0]] = True
        return found

    def _slots(self, offsets: Longs) -> tuple[Longs, npt.NDArray[np.bool_]]:
        """Return the slots of the offsets whose records could be read, and which offsets these are.

        The cleaner also takes records that a reader leaves out, such as those of a batch out of
        order.
        """
        if not len(self.offsets):
            return _NO_LONGS, np.zeros(len(offsets), np.bool_)
        slots = np.minimum(np.searchsorted(self.offsets, offsets), len(self.offsets) - 1)
        is_read = self.offsets[slots] == offsets
        return slots[is_read], is_read

    def by_key(self, dropped: npt.NDArray[np.bool_]) -> pa.Table:
        """Return one row per key: records, bytes, and both of the dropped ones; most first."""
        table = pa.table(
            {
                "key": self.keys,
                "records": arrow.integers(np.ones_like(self.sizes), pa.int64(), arrow.NO_ABSENT),
                "bytes": arrow.integers(self.sizes, pa.int64(), arrow.NO_ABSENT),
                "dropped_records": arrow.integers(
                    dropped.astype(np.int64), pa.int64(), arrow.NO_ABSENT
                ),
                "dropped_bytes": arrow.integers(self.sizes * dropped, pa.int64(), arrow.NO_ABSENT),
            }
        ).filter(arrow.booleans(self.is_data))
        names = table.column_names[1:]
        sums = table.group_by("key").aggregate([(name, "sum") for name in names])
        sums = sums.rename_columns(["key", *names])
        order = [("dropped_bytes", "descending"), ("bytes", "descending"), ("key", "ascending")]
        return sums.sort_by(order)


def read_record_sizes(segments: Iterable[Segment]) -> RecordSizes:
    """Read the sizes of all records of segments that can be read.

    Raises:
        OSError: a file cannot be read.
    """
    offsets, sizes, is_data, keys = [_NO_LONGS], [_NO_LONGS], [_NO_FLAGS], []
    for segment in segments:
        for chunk in segment.read():
            columns: Any = chunk.columns
            offsets.append(columns.offsets)
            sizes.append(record_sizes(columns))
            is_data.append(~chunk.rows["is_control"][columns.batch])
            keys.append(arrow.binary(columns.keys))
    return RecordSizes(
        np.concatenate(offsets),
        np.concatenate(sizes),
        pa.chunked_array(keys, pa.large_binary()),
        np.concatenate(is_data),
    )


_NO_LONGS: Final = np.empty(0, np.int64)
_NO_FLAGS: Final = np.empty(0, np.bool_)
