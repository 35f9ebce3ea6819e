"""Aborted transactions by the transaction indexes alone, as a broker knows them of remote segments.

Kafka: RemoteLogManager.collectAbortedTransactions (4.2)
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import AbortedTransaction
from workbench.inspection.unreadable import unreadable

Offsets = npt.NDArray[np.int64]


class IndexedAborts(NamedTuple):
    """Aborted transactions by the transaction indexes, in the order of their markers.

    Attributes:
        entries: int64[3, n]: producer ids, first offsets, offsets of the markers.
        findings: indexes that cannot be read.
    """

    entries: Offsets
    findings: list[Finding]

    @classmethod
    def of(cls, segments: Iterable[Segment], below: int) -> "IndexedAborts":
        """Read those that begin below an offset from the indexes of segments, ascending."""
        entries = [np.zeros((3, 0), np.int64)]
        findings: list[Finding] = []
        for segment in segments:
            try:
                index = segment.transaction_index
            except OSError as error:
                findings += unreadable(segment.files["txnindex"].path, error)
                continue
            if index is not None and len(index):
                found = np.stack([index.producer_ids, index.first_offsets, index.last_offsets])
                entries.append(found[:, index.first_offsets < below])
        return cls(np.concatenate(entries, axis=1), findings)

    def within(self, first: int, end: int) -> Iterator[AbortedTransaction]:
        """Yield those that have records or their marker in [first, end)."""
        _, firsts, lasts = self.entries
        columns = self.entries[:, (lasts >= first) & (firsts < end)].tolist()
        return map(AbortedTransaction, *columns)
