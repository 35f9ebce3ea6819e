"""Derive from transaction markers which transactional batches are committed, aborted or open.

The log is the truth: a batch of a producer belongs to the transaction that the producer's next
marker ends. The transaction index says the same in fewer bytes, and may be missing or wrong, so it
is checked against the markers and not used.

Kafka: ProducerStateManager, Fetcher.consumedAbortedTransactions, ControlRecordType (4.2)
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.record.reading.reader import KEYS, Chunk

Rows = npt.NDArray[Any]

NOT_TRANSACTIONAL: Final = 0
COMMITTED: Final = 1
ABORTED: Final = 2
OPEN: Final = 3
FATE_NAMES: Final = ("not transactional", "committed", "aborted", "open")

_ABORT: Final = 0  # control record types
_COMMIT: Final = 1


class Markers(NamedTuple):
    """The transaction markers of a partition, ascending by offset.

    Attributes:
        offsets: int64[n].
        producer_ids: int64[n].
        is_abort: bool[n].
    """

    offsets: npt.NDArray[np.int64]
    producer_ids: npt.NDArray[np.int64]
    is_abort: npt.NDArray[np.bool_]


class Transactions(NamedTuple):
    """The outcome of a partition's transactions.

    Attributes:
        markers: every commit and abort.
        last_stable_offset: first offset of the oldest open transaction; without one the log end
            offset.
    """

    markers: Markers
    last_stable_offset: int

    def fates(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: COMMITTED, ABORTED, OPEN or NOT_TRANSACTIONAL for BATCH_ROW[m]."""
        return _fates(rows, self.markers)

    def within(self, low: int, high: int) -> "Transactions":
        """Return only the markers that decide batches at offsets [low, high)."""
        offsets, producers, _ = self.markers
        behind = np.flatnonzero(offsets >= high)
        # Each producer's first marker after the range ends a transaction that began in it.
        firsts = behind[np.unique(producers[behind], return_index=True)[1]]
        inside = np.flatnonzero((offsets >= low) & (offsets < high))
        kept = np.concatenate([inside, np.sort(firsts)])
        return self._replace(markers=Markers(*(column[kept] for column in self.markers)))


def is_marker(rows: Rows) -> npt.NDArray[np.bool_]:
    """Return bool[m]: which batches hold a transaction marker."""
    readable = (rows["problem"] == problems.OK) & (rows["record_count"] > 0)
    return np.asarray(rows["is_control"] & rows["is_transactional"] & readable, np.bool_)


def _segment_markers(segment: Segment) -> tuple[list[int], list[int], list[bool]]:
    """Decode the markers of one segment: offsets, producer ids, whether aborts."""
    rows = _rows(segment)
    at = np.flatnonzero(is_marker(rows))
    found: tuple[list[int], list[int], list[bool]] = ([], [], [])
    if not len(at):
        return found
    start = int(rows[at[0]]["position"])
    stop = int(rows[at[-1]]["position"] + rows[at[-1]]["size"])
    for chunk in _chunks(segment, start, stop):
        keys = chunk.columns.keys
        assert keys is not None
        for record in range(len(chunk.columns)):
            key = keys.item(record) or b""
            kind = int.from_bytes(key[2:4], signed=True) if len(key) >= 4 else -1
            if kind in {_ABORT, _COMMIT}:
                found[0].append(int(chunk.columns.offsets[record]))
                found[1].append(int(chunk.rows[chunk.columns.batch[record]]["producer_id"]))
                found[2].append(kind == _ABORT)
    return found


def _rows(segment: Segment) -> Rows:
    """Return the batches of a segment; none if it cannot be read: reading records raises then."""
    try:
        return segment.batches.rows
    except OSError:
        return np.zeros(0, BATCH_ROW)


def _chunks(segment: Segment, start: int, stop: int) -> Iterator[Chunk]:
    with suppress(OSError):
        yield from segment.read(start, stop, options=KEYS, select=is_marker)


def _fates(rows: Rows, markers: Markers) -> npt.NDArray[np.int8]:
    fates = np.zeros(len(rows), np.int8)
    wanted = np.flatnonzero(rows["is_transactional"] & ~rows["is_control"] & (rows["magic"] == 2))
    if not len(wanted):
        return fates
    producers, offsets = rows["producer_id"][wanted], rows["base_offset"][wanted]
    order = np.lexsort((markers.offsets, markers.producer_ids))
    sorted_ids, sorted_offsets = markers.producer_ids[order], markers.offsets[order]
    fates[wanted] = OPEN
    for producer in np.unique(producers):
        low, high = np.searchsorted(sorted_ids, [producer, producer + 1])
        mine = np.flatnonzero(producers == producer)
        ending = low + np.searchsorted(sorted_offsets[low:high], offsets[mine])
        ended = ending < high
        aborted = markers.is_abort[order[ending[ended]]]
        fates[wanted[mine[ended]]] = np.where(aborted, ABORTED, COMMITTED)
    return fates


def read_transactions(partition: Partition) -> Transactions:
    """Read the markers of a partition and work out its last stable offset.

    Walks the batch headers of every segment and decodes the control batches. A segment that cannot
    be read is treated as empty.
    """
    segments = partition.segments
    try:
        end = partition.log_end_offset
    except OSError:
        end = segments[-1].base_offset + 1  # at least: reading up to there raises the error
    return transactions_of(segments, end)


def transactions_of(segments: Sequence[Segment], log_end_offset: int) -> Transactions:
    """Do what `read_transactions` does for given segments, ascending."""
    offsets: list[int] = []
    producers: list[int] = []
    aborts: list[bool] = []
    for segment in segments:
        found = _segment_markers(segment)
        offsets += found[0]
        producers += found[1]
        aborts += found[2]
    markers = Markers(
        np.array(offsets, np.int64), np.array(producers, np.int64), np.array(aborts, np.bool_)
    )
    stable = log_end_offset
    for segment in segments:
        rows = _rows(segment)
        opened = rows["base_offset"][_fates(rows, markers) == OPEN]
        if len(opened):
            stable = min(stable, int(opened.min()))
            break
    return Transactions(markers, stable)


class OpenTransaction(NamedTuple):
    """A transaction that no marker has ended yet.

    Attributes:
        producer_id, producer_epoch: its newest batch's.
        first_offset: base offset of the first of its batches still in the log.
        last_offset: its last record's offset.
        first_timestamp, last_timestamp: largest in its first and in its last batch, ms; -1: none.
        path, position: `.log` file and byte where its first batch is.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    first_timestamp: int
    last_timestamp: int
    path: str
    position: int


def open_transactions(
    segments: Sequence[Segment], transactions: Transactions
) -> list[OpenTransaction]:
    """Return the open transactions that have batches in the log, ascending by first offset."""
    found: dict[int, OpenTransaction] = {}
    for segment in segments:
        rows = _rows(segment)
        for row in rows[transactions.fates(rows) == OPEN]:
            producer, time = int(row["producer_id"]), int(row["max_timestamp"])
            epoch, last = int(row["producer_epoch"]), int(row["last_offset"])
            known = found.get(producer)
            if known is None:
                position, first = int(row["position"]), int(row["base_offset"])
                found[producer] = OpenTransaction(
                    producer, epoch, first, last, time, time, segment.path, position
                )
            else:
                found[producer] = known._replace(
                    producer_epoch=epoch, last_offset=last, last_timestamp=time
                )
    return sorted(found.values(), key=lambda each: each.first_offset)


class AbortedTransaction(NamedTuple):
    """An aborted transaction.

    Attributes:
        first_offset: base offset of the first of its batches still in the log.
        last_offset: its marker's offset.
    """

    producer_id: int
    first_offset: int
    last_offset: int


def aborted_transactions(
    segments: Sequence[Segment], transactions: Transactions
) -> list[AbortedTransaction]:
    """Return the aborted transactions that have batches in the log, ascending by marker."""
    first: dict[tuple[int, int], int] = {}
    markers = transactions.markers
    for segment in segments:
        rows = _rows(segment)
        for row in rows[transactions.fates(rows) == ABORTED]:
            producer, offset = int(row["producer_id"]), int(row["base_offset"])
            later = (markers.producer_ids == producer) & (markers.offsets >= offset)
            end = int(markers.offsets[later][0])
            first[end, producer] = min(offset, first.get((end, producer), offset))
    return [AbortedTransaction(who, start, end) for (end, who), start in sorted(first.items())]
