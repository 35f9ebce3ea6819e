"""How many records batches have with offsets in a range.

Batch headers say how many records there are; records are decoded only where headers do not:
compressed batches of magic 0 and 1, and a batch across an end of the range. What consumers get of a
partition is counted by `loaders.offsets.record_counts`.

Kafka: DefaultRecordBatch.countOrNull (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.files.names import MAX_OFFSET
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout import problems

Rows = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]


def records_below(partition: DiskPartition, high: int) -> int:
    """Count the records from the log start offset to below an offset, by headers of local segments.

    Control records do not count; see the module for what headers do not show.

    Raises:
        OSError: a file cannot be read.
    """
    low, found = partition.log_start_offset, 0
    for segment in partition.segments:
        if segment.base_offset >= high:
            break
        for table in segment.batch_parts():
            counts = counts_of(segment, table.rows, low, high)
            found += int(counts[~table.rows["is_control"]].sum())
    return found


def readable_records(partition: DiskPartition, low: int = 0, high: int = MAX_OFFSET) -> int:
    """Count the records with offsets in [low, high) that can be read now, in local segments.

    Records are decoded: those of damaged batches do not count, nor do control records.

    Raises:
        OSError: a file cannot be read.
    """
    found, highest = 0, low - 1
    bases = [*(segment.base_offset for segment in partition.segments), MAX_OFFSET]
    for segment, end in zip(partition.segments, bases[1:], strict=True):
        if end <= low or segment.base_offset >= high:
            continue
        for chunk in segment.read(segment.position_of(low), options=0):
            offsets = chunk.columns.offsets
            is_data = ~chunk.rows["is_control"][chunk.columns.batch]
            before = np.maximum.accumulate(np.concatenate([[highest], offsets]))
            is_wanted = is_data & (offsets > before[:-1]) & (offsets < high)
            found += int(np.count_nonzero(is_wanted))
            highest = int(before[-1])
    return found


def counts_of(segment: Segment, rows: Rows, low: int, high: int = MAX_OFFSET) -> Counts:
    """Return int64[m]: how many records of each batch have offsets in [low, high).

    0 where a header is damaged.

    Args:
        segment: the segment.
        rows: BATCH_ROW[m], batches of the segment that follow each other.
        low, high: the offsets.

    Raises:
        OSError: the file cannot be read.
    """
    counts = np.where(rows["problem"] == problems.OK, rows["record_count"], 0).astype(np.int64)
    first, last = rows["base_offset"], rows["last_offset"]
    counts[(last < low) | (first >= high)] = 0
    is_across = (first < low) | (last >= high)
    unsure = np.flatnonzero((counts < 0) | ((counts > 0) & is_across))
    if not len(unsure):
        return counts
    wanted = rows["position"][unsure]
    begin, end = int(wanted[0]), int(wanted[-1] + rows["size"][unsure[-1]])
    counts[unsure] = 0
    chunks = segment.read(
        begin, end, options=0, select=lambda part: np.isin(part["position"], wanted)
    )
    for chunk in chunks:
        offsets = chunk.columns.offsets
        batch = chunk.columns.batch[(offsets >= low) & (offsets < high)]
        numbers = np.searchsorted(rows["position"], chunk.rows["position"])
        np.add.at(counts, numbers[batch], 1)
    return counts
