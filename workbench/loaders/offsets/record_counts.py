"""How many records a consumer gets of a partition, which is not the log end minus the log start.

Compaction, aborted transactions and control records take offsets that no consumer gets. Where batch
headers are in order, they say how many records there are. A segment where they are not (damage that
records follow, batches that do not ascend) is read as a scan reads it, so that both count the same.
Damage that headers do not show, such as an invalid CRC, is not seen: `verify` finds it.

Kafka: DefaultRecordBatch.countOrNull, CompletedFetch (4.2)
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.lookups.record_counts import counts_of
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import ABORTED, OPEN, Transactions, read_transactions
from workbench.layout import problems
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.plan import SegmentRead, segments_within
from workbench.loaders.scan.segment_chunks import read_wanted
from workbench.record.buffers import BufferPool

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

    @classmethod
    def sum_of(cls, counts: "Iterable[RecordCounts]") -> "RecordCounts":
        """Return the sums."""
        return cls(*map(sum, zip(cls(), *counts, strict=True)))


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
    reads = segments_within(partition, partition.log_start_offset, HIGHEST)
    return RecordCounts.sum_of([count_in_segment(read, known) for read in reads])


def count_in_segment(read: SegmentRead, transactions: Transactions) -> RecordCounts:
    """Return the share of a segment in `count_records`.

    Raises:
        OSError: the file cannot be read.
    """
    counts = _by_headers(read, transactions)
    return _by_reading(read, transactions) if counts is None else counts


def _by_headers(read: SegmentRead, transactions: Transactions) -> RecordCounts | None:
    """Count the records of a segment by its batch headers; None: they are not in order."""
    found = np.zeros(len(RecordCounts._fields), np.int64)
    highest = read.segment.base_offset - 1
    code = problems.END
    for table in read.segment.batch_parts():
        rows, code = table.rows, table.stop.code
        if not _are_in_order(rows, highest, read.next_base) or code == problems.BAD_SIZE:
            return None
        counts = counts_of(read.segment, rows, read.low, read.high)
        fates = transactions.fates(rows)
        found += _sums(counts, fates, rows["is_control"], rows["base_offset"], transactions)
        highest = int(rows["last_offset"][-1]) if len(rows) else highest
    is_end = code == problems.END or (code == problems.UNFINISHED and read.segment.is_active)
    return RecordCounts(*found.tolist()) if is_end else None


def _are_in_order(rows: Rows, highest: int, following: int) -> bool:
    """Return whether batches ascend after an offset, and say how many records they have.

    Args:
        rows: BATCH_ROW[m].
        highest: the offset.
        following: the first offset that is not of the segment.
    """
    if not len(rows):
        return True
    first, last = rows["base_offset"], rows["last_offset"]
    is_sound = (rows["problem"] == problems.OK) & (rows["record_count"] >= 0)
    is_sound &= (first >= 0) & (first <= last)
    is_sound &= first > np.concatenate([[highest], last[:-1]])
    return bool(is_sound.all()) and int(last[-1]) < following


def _by_reading(read: SegmentRead, transactions: Transactions) -> RecordCounts:
    """Count the records of a segment as a scan reads them."""
    found = np.zeros(len(RecordCounts._fields), np.int64)
    for wanted in read_wanted(read, BufferPool(), options=0, include_control=True):
        columns, rows = wanted.chunk.columns, wanted.chunk.rows
        batch = columns.batch[wanted.keep]
        one_each = np.ones(len(batch), np.int64)
        fates, is_control = transactions.fates(rows)[batch], rows["is_control"][batch]
        found += _sums(one_each, fates, is_control, columns.offsets[wanted.keep], transactions)
    return RecordCounts(*found.tolist())


def _sums(
    counts: Counts,
    fates: npt.NDArray[np.int8],
    is_control: npt.NDArray[np.bool_],
    offsets: npt.NDArray[np.int64],
    transactions: Transactions,
) -> Counts:
    """Return int64[5]: the fields of `RecordCounts` of some batches or records."""
    is_aborted, is_open = fates == ABORTED, fates == OPEN
    is_stable = offsets < transactions.last_stable_offset
    return np.array([
        counts[~is_control].sum(),
        counts[~is_control & ~is_aborted & ~is_open & is_stable].sum(),
        counts[is_aborted].sum(),
        counts[is_open].sum(),
        counts[is_control].sum(),
    ])  # fmt: skip
