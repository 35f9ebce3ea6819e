"""Which of many batches get an index entry, with the same result as single appends.

Kafka: LogSegment.append, LogSegment.recover (4.2)
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.files.indexes.time_index import TimestampOffset
from workbench.record.reading.recovery import choose_index_entries

Longs = npt.NDArray[np.int64]


class DueEntries(NamedTuple):
    """The index entries of batches in one file.

    Attributes:
        chosen: int64[k], rows of the batches that get an entry.
        offsets, positions: int64[k], for the offset index.
        timestamps, time_offsets: int64[k], for the time index: the largest timestamp so far.
        last_entry: position of the last batch with an entry.
        largest: largest timestamp of all batches, and the last offset of the first with it.
    """

    chosen: Longs
    offsets: Longs
    positions: Longs
    timestamps: Longs
    time_offsets: Longs
    last_entry: int
    largest: TimestampOffset


def due_entries(
    rows: npt.NDArray[Any], last_entry: int, interval: int, largest: TimestampOffset
) -> DueEntries:
    """Return the index entries of consecutive batches.

    Args:
        rows: BATCH_ROW[m], one or more.
        last_entry: position of the batch with the previous entry; the file's start without one.
        interval: `index.interval.bytes`.
        largest: the same of the batches before.
    """
    timestamps, time_offsets = _running_largest(rows, largest)
    chosen = choose_index_entries(rows, last_entry, interval)
    positions = rows["position"][chosen]
    return DueEntries(
        chosen,
        rows["last_offset"][chosen],
        positions,
        timestamps[chosen],
        time_offsets[chosen],
        int(positions[-1]) if len(chosen) else last_entry,
        TimestampOffset(int(timestamps[-1]), int(time_offsets[-1])),
    )


def _running_largest(rows: npt.NDArray[Any], before: TimestampOffset) -> tuple[Longs, Longs]:
    """Return the largest timestamp up to each row, and the last offset of the first row with it."""
    timestamps = np.maximum(np.maximum.accumulate(rows["max_timestamp"]), before.timestamp)
    earlier = np.concatenate([[before.timestamp], timestamps[:-1]])
    slots = np.maximum.accumulate(np.where(timestamps > earlier, np.arange(len(rows)), -1))
    offsets = np.where(slots >= 0, rows["last_offset"][slots], before.offset)
    return timestamps, offsets
