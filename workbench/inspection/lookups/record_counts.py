"""How many records a consumer gets of a partition, which is not the log end minus the log start.

Compaction, aborted transactions and control records take offsets that no consumer gets. Batch
headers say how many records there are; records are decoded only where headers do not: compressed
batches of magic 0 and 1, and a batch across the log start offset. Damage that headers do not show,
such as an invalid CRC, is not seen: `verify` finds it.

Kafka: DefaultRecordBatch.countOrNull, CompletedFetch (4.2)
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.log_parts import HIGHEST
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import ABORTED, OPEN, Transactions, read_transactions
from workbench.layout import problems

Rows = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]


class RecordCounts(NamedTuple):
    """The records of a partition between log start and log end offset.

    Attributes:
        records: those that a read_uncommitted consumer gets.
        committed: those that a read_committed consumer gets.
        aborted: of aborted transactions.
        open: of transactions that have not ended.
        control: control records, which no consumer gets.
    """

    records: int = 0
    committed: int = 0
    aborted: int = 0
    open: int = 0
    control: int = 0


def count_records(
    partition: DiskPartition, transactions: Transactions | None = None
) -> RecordCounts:
    """Count the records of a log, local and remote segments.

    Args:
        partition: the partition.
        transactions: those of the partition, if they are known.

    Raises:
        OSError: a file cannot be read.
    """
    known = read_transactions(partition) if transactions is None else transactions
    start, highest = partition.log_start_offset, -1
    found = np.zeros(len(RecordCounts._fields), np.int64)
    for part in partition.parts:
        if part.segment is None:
            continue
        low = max(start, part.low) if part.is_remote else start
        high = part.high if part.is_remote else part.following
        for table in part.segment.batch_parts():
            counts = counts_of(part.segment, table.rows, low, high)
            highest = _without_repeated(table.rows, counts, highest)
            found += _sums(table.rows, counts, known)
    return RecordCounts(*found.tolist())


def counts_of(segment: Segment, rows: Rows, low: int, high: int = HIGHEST) -> Counts:
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


def _without_repeated(rows: Rows, counts: Counts, highest: int) -> int:
    """Take out batches that do not ascend, which no consumer gets; return the highest offset."""
    if not len(rows):
        return highest
    before = np.maximum.accumulate(np.concatenate([[highest], rows["last_offset"][:-1]]))
    counts[rows["last_offset"] <= before] = 0
    return max(highest, int(rows["last_offset"].max()))


def _sums(rows: Rows, counts: Counts, transactions: Transactions) -> Counts:
    """Return int64[5]: the fields of `RecordCounts` of some batches."""
    fates, is_control = transactions.fates(rows), rows["is_control"]
    is_aborted, is_open = fates == ABORTED, fates == OPEN
    is_stable = rows["base_offset"] < transactions.last_stable_offset
    return np.array([
        counts[~is_control].sum(),
        counts[~is_control & ~is_aborted & ~is_open & is_stable].sum(),
        counts[is_aborted].sum(),
        counts[is_open].sum(),
        counts[is_control].sum(),
    ])  # fmt: skip
