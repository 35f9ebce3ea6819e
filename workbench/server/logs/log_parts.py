"""Where the records of a served log are: in remote segments, then in local ones.

Kafka: RemoteLogManager.read, RemoteLogManager.collectAbortedTransactions (4.2)
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding
from workbench.inspection.partition import Partition
from workbench.inspection.remote_tier.remote_log import Gap
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import AbortedTransaction
from workbench.inspection.unreadable import unreadable

Offsets = npt.NDArray[np.int64]

HIGHEST: Final = (1 << 63) - 1


class LogPart(NamedTuple):
    """Offsets [low, high) of a log, which one segment has.

    Attributes:
        segment: the segment; None: it should be in the remote tier and is not.
        low, high: the offsets.
        following: batches of the segment that end there or later are out of place.
        is_remote: whether it is in the remote tier.
        max_timestamp: no record is later, ms; None: unknown.
    """

    segment: Segment | None
    low: int
    high: int
    following: int
    is_remote: bool = False
    max_timestamp: int | None = None


def parts_of(partition: Partition) -> tuple[LogPart, ...]:
    """Return the parts of a partition's log, ascending."""
    found = []
    for part in partition.remote_parts:
        if isinstance(part, Gap):
            found.append(LogPart(None, part.low, part.high, HIGHEST, is_remote=True))
        else:  # the segment may reach into the next one
            stamp = part.metadata.max_timestamp
            piece = LogPart(part.segment, part.low, part.high, HIGHEST, is_remote=True)
            found.append(piece._replace(max_timestamp=stamp))
    bases = [segment.base_offset for segment in partition.segments]
    for segment, following in zip(partition.segments, [*bases[1:], HIGHEST], strict=True):
        found.append(LogPart(segment, segment.base_offset, following, following))
    return tuple(found)


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
