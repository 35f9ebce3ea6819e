"""Derive from transaction markers which transactional batches are committed, aborted or open.

The log is the truth: a batch of a producer belongs to the transaction that the producer's next
marker ends. The transaction index says the same in fewer bytes, and may be missing or wrong, so it
is checked against the markers and not used.

Of the markers, only the ABORT ones and each producer's last one are kept: what they do not end was
committed. So the memory does not grow with the committed transactions.

Kafka: ProducerStateManager, Fetcher.consumedAbortedTransactions, ControlRecordType (4.2)
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transaction_markers import (
    Markers,
    Rows,
    batch_rows,
    is_transaction_data,
    walk_markers,
)

IsolationLevel = Literal["read_uncommitted", "read_committed"]

Offsets = npt.NDArray[np.int64]

NOT_TRANSACTIONAL: Final = 0
COMMITTED: Final = 1
ABORTED: Final = 2
OPEN: Final = 3
FATE_NAMES: Final = ("not transactional", "committed", "aborted", "open")

_LOWEST: Final = np.iinfo(np.int64).min
_HIGHEST: Final = np.iinfo(np.int64).max


class Aborts(NamedTuple):
    """The ABORT markers of a partition, ascending by producer, then by offset.

    Each ends the transaction whose batches have base offsets in (after, offset].

    Attributes:
        producer_ids: int64[n].
        after: int64[n], the offset of the producer's marker before; lowest int64: it has none.
        offsets: int64[n], of the marker.
    """

    producer_ids: Offsets
    after: Offsets
    offsets: Offsets

    def ending(self, producers: Offsets, offsets: Offsets) -> Offsets:
        """Return int64[m]: which marker aborts the batches at these offsets; -1: none does."""
        slots = self.first_from(producers, offsets)
        found = np.flatnonzero(slots >= 0)
        slots[found[self.after[slots[found]] >= offsets[found]]] = -1
        return slots

    def at(self, producers: Offsets, offsets: Offsets) -> Offsets:
        """Return int64[m]: which markers these producers have at these offsets; -1: none."""
        slots = self.first_from(producers, offsets)
        found = np.flatnonzero(slots >= 0)
        slots[found[self.offsets[slots[found]] != offsets[found]]] = -1
        return slots

    def first_from(self, producers: Offsets, offsets: Offsets) -> Offsets:
        """Return int64[m]: each producer's first marker at or after an offset; -1: none."""
        low = np.searchsorted(self.producer_ids, producers)
        end = np.searchsorted(self.producer_ids, producers, "right")
        high = end.copy()
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            open_, below = low < high, self.offsets.take(middle, mode="clip") < offsets
            low = np.where(open_ & below, middle + 1, low)
            high = np.where(open_ & ~below, middle, high)
        return np.where(low < end, low, -1)


class LastMarkers(NamedTuple):
    """Each producer's last transaction marker, ascending by producer.

    Attributes:
        producer_ids: int64[n], each once.
        offsets: int64[n], of the marker.
    """

    producer_ids: Offsets
    offsets: Offsets

    def are_open(self, producers: Offsets, offsets: Offsets) -> npt.NDArray[np.bool_]:
        """Return bool[m]: whether no marker ends the batches of producers at these offsets."""
        if not len(self.producer_ids):
            return np.ones(len(producers), np.bool_)
        slots = np.searchsorted(self.producer_ids, producers).clip(max=len(self.producer_ids) - 1)
        is_known = self.producer_ids[slots] == producers
        return np.asarray(~is_known | (offsets > self.offsets[slots]), np.bool_)


class Transactions(NamedTuple):
    """The outcome of a partition's transactions.

    Attributes:
        aborts: every ABORT marker.
        last_markers: of each producer.
        last_stable_offset: first offset of the oldest open transaction; without one the log end
            offset.
    """

    aborts: Aborts
    last_markers: LastMarkers
    last_stable_offset: int

    def fates(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: COMMITTED, ABORTED, OPEN or NOT_TRANSACTIONAL for BATCH_ROW[m]."""
        fates = np.zeros(len(rows), np.int8)
        wanted, producers, offsets = _data(rows)
        if len(wanted):
            fates[wanted] = COMMITTED
            fates[wanted[self.last_markers.are_open(producers, offsets)]] = OPEN
            fates[wanted[self.aborts.ending(producers, offsets) >= 0]] = ABORTED
        return fates


def _data(rows: Rows) -> tuple[npt.NDArray[np.int64], Offsets, Offsets]:
    """Return which of BATCH_ROW[m] hold transactions' records, their producers, base offsets."""
    wanted = np.flatnonzero(is_transaction_data(rows))
    return wanted, rows["producer_id"][wanted], rows["base_offset"][wanted]


def read_transactions(partition: DiskPartition) -> Transactions:
    """Read the markers of a partition and work out its last stable offset.

    Walks the batch headers of every segment and decodes the control batches. What cannot be read is
    left out.
    """
    segments = partition.segments_of_log
    try:
        end = partition.committed_end
    except OSError:
        end = segments[-1].base_offset + 1  # at least: reading up to there raises the error
    return transactions_of(segments, end)


def transactions_of(segments: Sequence[Segment], log_end_offset: int) -> Transactions:
    """Do what `read_transactions` does for given segments, ascending."""
    reading = _Reading()
    for rows, markers in walk_markers(segments):
        reading.add_batches(rows)
        reading.add_markers(markers)
    return _outcome(reading, segments, segments, log_end_offset)


def _outcome(
    reading: "_Reading", walked: Sequence[Segment], of: Sequence[Segment], log_end_offset: int
) -> Transactions:
    """Return what markers of the ``walked`` segments decide about the batches ``of`` some."""
    aborts = reading.aborts()
    if not reading.ascends:
        _find_markers_before(aborts, walked)
    last = LastMarkers(reading.producer_ids, reading.last_markers)
    stable = log_end_offset
    if not reading.all_ended:
        stable = min(stable, _first_open(of, last))
    has_ended = last.offsets > _LOWEST
    last = LastMarkers(*(column[has_ended] for column in last))
    return Transactions(aborts, last, stable)


def transactions_ahead(segments: Sequence[Segment]) -> Transactions:
    """Do what `transactions_of` does for the batches of the first segment alone.

    No more is read than up to the markers that end their transactions. The last stable offset is
    that of the first batch without one; without such a batch the largest int64.
    """
    reading = _Reading()
    read = 0
    for read, segment in enumerate(segments, 1):
        for rows, markers in walk_markers([segment]):
            if read == 1:
                reading.add_batches(rows)
            reading.add_markers(markers)
            if read > 1 and reading.all_ended:
                break
        if reading.all_ended:
            break
    return _outcome(reading, segments[:read], segments[:1], _HIGHEST)


class _Reading:
    """Takes a log's batches and markers, part by part.

    Attributes:
        producer_ids: int64[n], ascending, each once.
        last_markers: int64[n], the largest offset of each producer's markers; `_LOWEST` without.
        last_batches: int64[n], the largest base offset of its transactional data; as before.
        ascends: whether each producer's markers came in ascending order.
    """

    def __init__(self) -> None:
        self.producer_ids = np.zeros(0, np.int64)
        self.last_markers = np.zeros(0, np.int64)
        self.last_batches = np.zeros(0, np.int64)
        self.ascends = True
        self._aborts = [Aborts(*(np.zeros(0, np.int64) for _ in Aborts._fields))]

    @property
    def all_ended(self) -> bool:
        """Whether a marker ends each batch."""
        return not (self.last_batches > self.last_markers).any()

    def add_batches(self, rows: Rows) -> None:
        """Take BATCH_ROW[m]."""
        wanted, producers, offsets = _data(rows)
        if len(wanted):
            order = np.argsort(producers, kind="stable")
            starts = _starts(producers[order])
            slots = self._slots(producers[order[starts]])
            largest = np.maximum.reduceat(offsets[order], starts)
            self.last_batches[slots] = np.maximum(self.last_batches[slots], largest)

    def add_markers(self, markers: Markers) -> None:
        """Take the markers of a part of the log."""
        if not len(markers.offsets):
            return
        order = np.argsort(markers.producer_ids, kind="stable")
        offsets, producers = markers.offsets[order], markers.producer_ids[order]
        starts = _starts(producers)
        slots = self._slots(producers[starts])
        after = np.roll(offsets, 1)
        after[starts] = self.last_markers[slots]
        self.ascends &= bool((after <= offsets).all())
        largest = np.maximum.reduceat(offsets, starts)
        self.last_markers[slots] = np.maximum(self.last_markers[slots], largest)
        is_abort = markers.is_abort[order]
        self._aborts.append(Aborts(producers[is_abort], after[is_abort], offsets[is_abort]))

    def aborts(self) -> Aborts:
        """Return the ABORT markers; what comes before each is right if the markers ascend."""
        producers, after, offsets = (
            np.concatenate(parts) for parts in zip(*self._aborts, strict=True)
        )
        order = np.lexsort((offsets, producers))
        return Aborts(producers[order], after[order], offsets[order])

    def _slots(self, producers: Offsets) -> npt.NDArray[np.int64]:
        """Return where producers are, which ascend; those that are new are added."""
        at = np.searchsorted(self.producer_ids, producers)
        is_new = (
            self.producer_ids.take(at, mode="clip") != producers
            if len(self.producer_ids)
            else (np.ones(len(producers), np.bool_))
        )
        if not is_new.any():
            return at
        self.producer_ids = np.insert(self.producer_ids, at[is_new], producers[is_new])
        self.last_markers = np.insert(self.last_markers, at[is_new], _LOWEST)
        self.last_batches = np.insert(self.last_batches, at[is_new], _LOWEST)
        return np.searchsorted(self.producer_ids, producers)


def _starts(producers: Offsets) -> npt.NDArray[np.int64]:
    """Return where each producer's run begins; equal ones are neighbors."""
    return np.concatenate([[0], np.flatnonzero(producers[1:] != producers[:-1]) + 1])


def _find_markers_before(aborts: Aborts, segments: Sequence[Segment]) -> None:
    """Fill in `Aborts.after` from markers in any order."""
    aborts.after[:] = _LOWEST
    for _, markers in walk_markers(segments):
        earlier = markers.offsets < _HIGHEST
        producers, offsets = markers.producer_ids[earlier], markers.offsets[earlier]
        following = aborts.first_from(producers, offsets + 1)
        found = following >= 0
        np.maximum.at(aborts.after, following[found], offsets[found])
    twice = (np.diff(aborts.producer_ids) == 0) & (np.diff(aborts.offsets) == 0)
    aborts.after[1:][twice] = aborts.offsets[1:][twice]


def _first_open(segments: Sequence[Segment], last: LastMarkers) -> int:
    """Return the lowest offset of an open batch in the first segment that has one."""
    for segment in segments:
        found = _HIGHEST
        for rows in batch_rows(segment):
            _, producers, offsets = _data(rows)
            opened = offsets[last.are_open(producers, offsets)]
            found = min(found, int(opened.min(initial=_HIGHEST)))
        if found < _HIGHEST:
            return found
    return _HIGHEST


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
        for rows in batch_rows(segment):
            opened = np.flatnonzero(transactions.fates(rows) == OPEN)
            if not len(opened):
                continue
            opened = opened[np.argsort(rows["producer_id"][opened], kind="stable")]
            starts = _starts(rows["producer_id"][opened])
            firsts = opened[starts]
            lasts = opened[np.append(starts[1:], len(opened)) - 1]
            by_first = np.argsort(firsts)
            pairs = zip(rows[firsts[by_first]], rows[lasts[by_first]], strict=True)
            for first, last in pairs:
                producer = int(first["producer_id"])
                known = found.get(producer) or OpenTransaction(
                    producer,
                    0,
                    int(first["base_offset"]),
                    0,
                    int(first["max_timestamp"]),
                    0,
                    segment.path,
                    int(first["position"]),
                )
                found[producer] = known._replace(
                    producer_epoch=int(last["producer_epoch"]),
                    last_offset=int(last["last_offset"]),
                    last_timestamp=int(last["max_timestamp"]),
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
    aborts, first = transactions.aborts, first_aborted(segments, transactions)
    order = np.lexsort((aborts.producer_ids, aborts.offsets))
    order = order[first[order] < NO_BATCH]
    columns = (aborts.producer_ids[order], first[order], aborts.offsets[order])
    return list(map(AbortedTransaction, *(column.tolist() for column in columns)))


NO_BATCH: Final = _HIGHEST
"""The first offset of an aborted transaction without batches in the log."""


def first_aborted(segments: Sequence[Segment], transactions: Transactions) -> Offsets:
    """Return int64[n]: the base offset of the first batch that each of `Transactions.aborts` ends.

    `NO_BATCH` where the log has none of its batches.
    """
    aborts = transactions.aborts
    found = np.full(len(aborts.offsets), NO_BATCH, np.int64)
    if not len(found):
        return found
    for segment in segments:
        for rows in batch_rows(segment):
            _, producers, offsets = _data(rows)
            slots = aborts.ending(producers, offsets)
            is_aborted = slots >= 0
            np.minimum.at(found, slots[is_aborted], offsets[is_aborted])
    return found
