"""Read committed in a task: which batches of its piece are aborted, and where reading must stop.

The markers decide, and each task looks for them itself: from its piece on, until every transaction
in it has ended. What is before the piece matters only for the last stable offset, and a producer
snapshot holds that: at its offset, the transactions that were open. So a task reads a snapshot,
the headers of its piece, and usually a little of what follows; near the end of the log, it reads
the headers from the snapshot on. A log that is small, or has no sound snapshot, is walked whole.
What was walked is kept for the next task of the same worker.

Kafka: ProducerStateManager.firstUndecidedOffset, UnifiedLog.maybeIncrementFirstUnstableOffset (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transaction_markers import Rows, is_transaction_data
from workbench.inspection.transactions import (
    ABORTED,
    OPEN,
    Transactions,
    transactions_ahead,
    transactions_of,
)
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.plan import Fates, LogEnd, SegmentRead
from workbench.record.reading.batch_table import BatchTable, walk_batches

SMALL_LOG: Final = 64 << 20  # bytes; walking a smaller log takes less than a task's start
_KEPT: Final = 16  # logs whose transactions a worker keeps


def with_markers(read: SegmentRead, remote: Sequence[Segment] = ()) -> SegmentRead | None:
    """Return a piece with the fates of its batches, up to the last stable offset.

    Args:
        read: the piece.
        remote: of a piece of a remote segment, that segment and the remote ones after it. All their
            transactions have ended: a broker copies nothing else.

    Returns:
        None if the last stable offset is before the piece.
    """
    segments = [] if read.log_end is None else _planned(read.partition, read.log_end)
    if remote:
        return replace(read, transactions=_FatesAhead(_from_piece_on(read, [*remote, *segments])))
    assert read.log_end is not None
    snapshot = _snapshot_for(read.partition, segments)
    if snapshot is None:
        whole = _walked(_Log(segments))
        stable, fates = whole.last_stable_offset, cast("Fates", whole)
    else:
        is_stable = min(read.high, read.next_base) <= snapshot.stable
        stable = HIGHEST if is_stable else _stable_since(segments, snapshot)
        fates = _FatesAhead(_from_piece_on(read, segments))
    if read.segment.base_offset >= read.log_end.base_offset:
        # The last batch ends the log, even if an older one was written behind newer ones.
        stable = min(stable, read.partition.committed_end)
    first = max(read.low, read.floor, read.segment.base_offset)
    return (
        replace(read, transactions=fates, high=min(read.high, stable)) if first < stable else None
    )


def stable_end(partition: DiskPartition) -> int:
    """Return the last stable offset of a partition as it is now.

    Raises:
        OSError: the end of the log cannot be read.
    """
    if not partition.segments:
        return partition.log_end_offset
    last = partition.segments[-1]
    segments = _planned(partition, LogEnd(last.base_offset, last.size))
    snapshot = _snapshot_for(partition, segments)
    if snapshot is None:
        stable = _walked(_Log(segments)).last_stable_offset
    else:
        stable = _stable_since(segments, snapshot)
    return min(stable, partition.committed_end)


class Part(Segment):
    """A segment of which only some bytes are looked at.

    Args:
        segment: the segment.
        start, stop: byte positions; ``start`` is where a batch starts.
    """

    def __init__(self, segment: Segment, start: int, stop: int | None) -> None:
        super().__init__(segment.base_offset, segment.files, is_active=segment.is_active)
        self._start = start
        self.stop = stop

    def batch_parts(self) -> Iterator[BatchTable]:
        """Walk the batch headers in tables of some thousand rows, none of which is kept.

        Raises:
            OSError: the file cannot be read.
        """
        with self.open() as source:
            yield from walk_batches(source, self.stop, start=self._start)


def _planned(partition: DiskPartition, end: LogEnd) -> list[Segment]:
    """Return the segments of a log, to where it ended when the job was planned.

    So all tasks see the same transactions, even if a broker appends meanwhile.
    """
    before = [each for each in partition.segments if each.base_offset < end.base_offset]
    last = [each for each in partition.segments if each.base_offset == end.base_offset]
    return before + [Part(each, 0, min(each.size, end.size)) for each in last]


class _Log:
    """Segments as a key: equal if their files are, by path, size and time.

    Args:
        segments: ascending; of the last one, `Part` says what is looked at.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self._key: tuple[object, ...] = tuple(
            (each.path, each.size, each.modified_ms) for each in segments
        )
        self._key += tuple((each.stop,) for each in segments if isinstance(each, Part))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Log) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(_KEPT)
def _walked(log: _Log) -> Transactions:
    return transactions_of(log.segments, HIGHEST)


class _Snapshot(NamedTuple):
    """What a producer snapshot says about transactions.

    Attributes:
        offset: the offset that it was taken at.
        open_since: the first offset of each transaction that was open then, by producer.
    """

    offset: int
    open_since: dict[int, int]

    @property
    def stable(self) -> int:
        """The offset below which every transaction had ended."""
        return min([self.offset, *self.open_since.values()])


def _snapshot_for(partition: DiskPartition, segments: Sequence[Segment]) -> _Snapshot | None:
    """Return the newest sound producer snapshot that is not past the last segment's start.

    None also for a small log, which is walked whole.
    """
    if sum(segment.size for segment in segments) <= SMALL_LOG:
        return None
    for entry in reversed(partition.snapshots):
        offset = int(entry.name.partition(".")[0])
        if offset > segments[-1].base_offset:
            continue
        snapshot = partition.producer_snapshot(entry)
        if snapshot.problems:
            continue
        start = partition.log_start_offset
        since = {
            each.producer_id: each.current_transaction_first_offset
            for each in snapshot.entries
            if each.current_transaction_first_offset is not None
        }
        # As a scan sees it: a transaction whose records are deleted blocks nothing.
        return _Snapshot(offset, {who: first for who, first in since.items() if first >= start})
    return None


def _stable_since(segments: Sequence[Segment], snapshot: _Snapshot) -> int:
    """Return the last stable offset, `HIGHEST` if no transaction is open."""
    since = [at for at, each in enumerate(segments) if each.base_offset <= snapshot.offset]
    tail = _walked(_Log(segments[since[-1] if since else 0 :]))
    producers = np.array(list(snapshot.open_since), np.int64)
    firsts = np.array(list(snapshot.open_since.values()), np.int64)
    still = firsts[tail.last_markers.are_open(producers, firsts)]
    return min(tail.last_stable_offset, int(still.min(initial=HIGHEST)))


def _from_piece_on(read: SegmentRead, segments: Sequence[Segment]) -> list[Segment]:
    """Return the log from a piece on, the piece being the first item."""
    base, stop = read.segment.base_offset, read.stop
    piece = Part(read.segment, read.start, stop)
    rest = [each for each in segments if each.base_offset > base]
    if stop is None:
        return [piece, *rest]
    here = [each for each in segments if each.base_offset == base]
    end = here[-1].size if here else stop
    if read.log_end is not None and read.log_end.base_offset == base:
        end = min(end, read.log_end.size)
    return [piece, Part(read.segment, stop, max(stop, end)), *rest]


class _FatesAhead:
    """The fates of a piece's batches; markers are looked for at the first transactional batch.

    Args:
        segments: the log from the piece on.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments

    @cached_property
    def _transactions(self) -> Transactions:
        return transactions_ahead(self._segments)

    def fates(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: what `Transactions.fates` returns, where an open batch counts as aborted.

        Below the last stable offset no transaction is open: its marker was lost.
        """
        if not is_transaction_data(rows).any():
            return np.zeros(len(rows), np.int8)
        fates = self._transactions.fates(rows)
        fates[fates == OPEN] = ABORTED
        return fates


def aborted_ranges(read: SegmentRead) -> list[int]:
    """Return the aborted batches of a piece of `with_markers`, as pairs of offsets, ascending.

    A pair is the first offset and the last of aborted batches with no other data between them.
    """
    assert read.transactions is not None
    parts = [np.zeros((3, 0), np.int64)]
    for part in Part(read.segment, read.start, read.stop).batch_parts():
        data = part.rows[~part.rows["is_control"]]
        is_aborted = read.transactions.fates(data) == ABORTED
        parts.append(np.array([is_aborted, data["base_offset"], data["last_offset"]], np.int64))
    is_aborted, firsts, lasts = np.concatenate(parts, axis=1)
    edges = np.flatnonzero(np.diff(is_aborted, prepend=0, append=0))
    pairs = np.stack([firsts[edges[::2]], lasts[edges[1::2] - 1]], axis=1)
    return [int(offset) for offset in pairs.ravel()]
