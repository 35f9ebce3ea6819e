"""Read committed in a task."""

from dataclasses import replace

from workbench.inspection.transactions import read_transactions
from workbench.loaders.scan.plan import SegmentRead


def with_markers(read: SegmentRead) -> SegmentRead:
    """Return a read with the markers that decide its batches, up to the last stable offset."""
    transactions = read_transactions(read.partition)
    return replace(
        read, transactions=transactions, high=min(read.high, transactions.last_stable_offset)
    )
