"""Read the transaction markers of a log: which producer's transaction was committed or aborted.

Kafka: ControlRecordType, EndTransactionMarker (4.2)
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.record.buffers import BufferPool
from workbench.record.columns import BinaryColumn
from workbench.record.reading.reader import KEYS

Rows = npt.NDArray[Any]

_ABORT: Final = 0  # control record types
_COMMIT: Final = 1
_TYPE_END: Final = 4  # bytes of a key up to the end of its type


class Markers(NamedTuple):
    """Transaction markers, in file order: ascending by offset in a sound log.

    Attributes:
        offsets: int64[n].
        producer_ids: int64[n].
        is_abort: bool[n].
    """

    offsets: npt.NDArray[np.int64]
    producer_ids: npt.NDArray[np.int64]
    is_abort: npt.NDArray[np.bool_]


_NONE: Final = Markers(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))


def is_marker(rows: Rows) -> npt.NDArray[np.bool_]:
    """Return bool[m]: which batches hold a transaction marker."""
    readable = (rows["problem"] == problems.OK) & (rows["record_count"] > 0)
    return np.asarray(rows["is_control"] & rows["is_transactional"] & readable, np.bool_)


def is_transaction_data(rows: Rows) -> npt.NDArray[np.bool_]:
    """Return bool[m]: which batches hold records of a transaction."""
    wanted = rows["is_transactional"] & ~rows["is_control"] & (rows["magic"] == 2)
    return np.asarray(wanted, np.bool_)


def batch_rows(segment: Segment) -> Iterator[Rows]:
    """Yield the batches of a segment, BATCH_ROW[m] at a time; it ends where reading fails."""
    with suppress(OSError):
        for table in segment.batch_parts():
            if len(table):
                yield table.rows


def walk_markers(segments: Sequence[Segment]) -> Iterator[tuple[Rows, Markers]]:
    """Yield the batches of a log, BATCH_ROW[m] at a time, with the markers that they hold.

    What cannot be read is left out.
    """
    pool = BufferPool()
    for segment in segments:
        for rows in batch_rows(segment):
            at = np.flatnonzero(is_marker(rows))
            if not len(at):
                yield rows, _NONE
                continue
            start = int(rows["position"][at[0]])
            stop = int(rows["position"][at[-1]]) + int(rows["size"][at[-1]])
            yield rows, _joined(list(_markers(segment, start, stop, pool)))


def read_markers(partition: DiskPartition) -> Markers:
    """Read all markers of a partition: 17 bytes of memory each."""
    return _joined([markers for _, markers in walk_markers(partition.segments)])


def _markers(segment: Segment, start: int, stop: int, pool: BufferPool) -> Iterator[Markers]:
    """Decode the markers between two positions."""
    with suppress(OSError):
        for chunk in segment.read(start, stop, options=KEYS, select=is_marker, pool=pool):
            columns = chunk.columns
            assert columns.keys is not None
            types = _types(columns.keys)
            wanted = (types == _ABORT) | (types == _COMMIT)
            producers = chunk.rows["producer_id"][columns.batch[wanted]]
            yield Markers(columns.offsets[wanted], producers, types[wanted] == _ABORT)


def _types(keys: BinaryColumn) -> npt.NDArray[np.int64]:
    """Return int64[n]: the control record type in each key; -1 where the key has none.

    A key is a version and a type, two bytes each.
    """
    types = np.full(len(keys), -1, np.int64)
    starts = keys.offsets[:-1]
    told = np.flatnonzero(np.diff(keys.offsets) >= _TYPE_END)
    high, low = keys.data[starts[told] + 2], keys.data[starts[told] + 3]
    types[told] = (high.astype(np.int64) << 8) + low
    return types


def _joined(parts: Sequence[Markers]) -> Markers:
    if not parts:
        return _NONE
    offsets, producers, aborts = zip(*parts, strict=True)
    return Markers(np.concatenate(offsets), np.concatenate(producers), np.concatenate(aborts))
