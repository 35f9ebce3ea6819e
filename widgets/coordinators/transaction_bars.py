"""The transactions of a partition as bars: from the first batch to the transaction marker."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from widgets.view.packing import pack
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transaction_markers import Markers, read_markers
from workbench.inspection.transactions import read_transactions

Integers = npt.NDArray[np.int64]

COMMITTED, ABORTED, OPEN = range(3)
OUTCOMES: Final = ("committed", "aborted", "open")

MOST_BARS: Final = 200_000
"""Transactions of one partition that are sent: the last ones."""
MOST_LANES: Final = 60
"""Producers that have a lane: those with an open transaction, then those seen last."""

_FIELDS: Final = (
    "base_offset", "last_offset", "record_count", "max_timestamp", "producer_id", "producer_epoch",
)  # fmt: skip


class Bars(NamedTuple):
    """Transactions, ascending by first offset: int64[n] each.

    Attributes:
        producer_id: the producer.
        epoch: its epoch in the last batch; -1: no batch of the transaction is in the log.
        first, last: offsets of its first and last record in this partition; those of the marker
            if no batch is left.
        marker: the transaction marker's offset; -1: the transaction is open.
        outcome: COMMITTED, ABORTED or OPEN.
        batches, records: how many batches and records the log has of it.
        time: the largest timestamp of its first batch, ms; -1: none.
    """

    producer_id: Integers
    epoch: Integers
    first: Integers
    last: Integers
    marker: Integers
    outcome: Integers
    batches: Integers
    records: Integers
    time: Integers

    def __len__(self) -> int:
        """Return the number of transactions."""
        return len(self.first)

    def rows(self, chosen: npt.NDArray[Any]) -> "Bars":
        """Return some of the transactions."""
        return Bars(*(column[chosen] for column in self))


class PartitionBars(NamedTuple):
    """The transactions of a partition.

    Attributes:
        bars: the transactions.
        log_start_offset, log_end_offset, last_stable_offset: the partition's offsets.
    """

    bars: Bars
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int

    def sent(self, names: Mapping[int, str]) -> dict[str, Any]:
        """Return the lanes and their transactions as they are sent.

        Args:
            names: producer id → transactional id.
        """
        producers = self._lanes()
        bars = self.bars.rows(np.isin(self.bars.producer_id, producers))
        bars = bars.rows(np.arange(max(0, len(bars) - MOST_BARS), len(bars)))
        lanes = []
        for producer in producers:
            mine = bars.rows(bars.producer_id == producer)
            lanes.append(
                {
                    "producer": str(producer),
                    "name": names.get(int(producer)),
                    "bars": {field: pack(column) for field, column in mine._asdict().items()},
                }
            )
        return {
            "log_start": str(self.log_start_offset),
            "log_end": str(self.log_end_offset),
            "stable": str(self.last_stable_offset),
            "lanes": lanes,
            "bars_left_out": len(self.bars) - len(bars),
            "lanes_left_out": len(np.unique(self.bars.producer_id)) - len(producers),
        }

    def _lanes(self) -> list[int]:
        """Choose the producers with a lane, by their first transaction."""
        bars = self.bars
        order = np.lexsort((bars.first, bars.outcome == OPEN))[::-1]
        newest_first = dict.fromkeys(bars.producer_id[order].tolist())
        chosen = set(list(newest_first)[:MOST_LANES])
        return [each for each in dict.fromkeys(bars.producer_id.tolist()) if each in chosen]


def bars_of(partition: DiskPartition) -> PartitionBars | None:
    """Return the transactions of a partition; None if there are none. Walks its batch headers."""
    markers, batches = read_markers(partition), _transactional_batches(partition)
    if not len(batches) and not len(markers.offsets):
        return None
    bars = _grouped(batches, markers)
    start, end = partition.log_start_offset, partition.log_end_offset
    return PartitionBars(bars, start, end, read_transactions(partition).last_stable_offset)


def _transactional_batches(partition: DiskPartition) -> npt.NDArray[Any]:
    """Return the data batches of all transactions: a structured array of `_FIELDS`."""
    found = []
    for segment in partition.segments:
        try:
            rows = segment.batches.rows
        except OSError:
            continue
        wanted = rows["is_transactional"] & ~rows["is_control"] & (rows["magic"] == 2)
        if wanted.any():
            found.append(rows[wanted][list(_FIELDS)])
    kinds = np.dtype([(name, np.int64) for name in _FIELDS])
    return np.concatenate([each.astype(kinds) for each in found]) if found else np.zeros(0, kinds)


def _grouped(batches: npt.NDArray[Any], markers: Markers) -> Bars:
    """Group batches by producer and by the producer's next marker."""
    order = np.lexsort((markers.offsets, markers.producer_ids))
    offsets, ids, aborts = (
        markers.offsets[order],
        markers.producer_ids[order],
        markers.is_abort[order],
    )
    nobody = np.int64(-1)
    place = np.full(len(batches), nobody)
    for producer in np.unique(batches["producer_id"]):
        low, high = np.searchsorted(ids, [producer, producer + 1])
        mine = np.flatnonzero(batches["producer_id"] == producer)
        ending = low + np.searchsorted(offsets[low:high], batches["base_offset"][mine])
        place[mine] = np.where(ending < high, ending, nobody)
    # Those with a marker are distinguished by it, open ones by their producer.
    keys = np.stack([place, np.where(place >= 0, nobody, batches["producer_id"])], axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    which, count = which.reshape(-1), len(first)
    last = np.zeros(count, np.int64)
    last[which] = np.arange(len(batches))  # the later batch wins
    marker = place[first]
    has_marker = marker >= 0
    ended = offsets[marker] if len(offsets) else np.zeros(count, np.int64)
    is_abort = aborts[marker] if len(offsets) else np.zeros(count, np.bool_)
    outcome = np.where(has_marker, np.where(is_abort, ABORTED, COMMITTED), OPEN)
    records = np.bincount(which, batches["record_count"], count).astype(np.int64)
    bars = Bars(
        batches["producer_id"][first],
        batches["producer_epoch"][last],
        batches["base_offset"][first],
        batches["last_offset"][last],
        np.where(has_marker, ended, nobody),
        outcome.astype(np.int64),
        np.bincount(which, minlength=count).astype(np.int64),
        records,
        batches["max_timestamp"][first],
    )
    alone = np.setdiff1d(np.arange(len(offsets)), place)
    empty = _without_batches(ids[alone], offsets[alone], aborts[alone])
    both = Bars(*(np.concatenate(pair) for pair in zip(bars, empty, strict=True)))
    return both.rows(np.argsort(both.first, kind="stable"))


def _without_batches(ids: Integers, offsets: Integers, aborts: npt.NDArray[np.bool_]) -> Bars:
    """Return transactions of which the log has the marker alone."""
    none, zero = np.full(len(ids), -1, np.int64), np.zeros(len(ids), np.int64)
    outcome = np.where(aborts, ABORTED, COMMITTED).astype(np.int64)
    return Bars(ids, none, offsets, offsets, offsets, outcome, zero, zero, none)
