"""What a search has found: where each record is, and what it takes to read it again.

A match takes some 20 bytes whatever its record has, and what a `SortKey` keeps of it if it is
sorted by that. So millions can be listed; the records that are on the screen are read
again from their batches.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workbench.inspection.partition import DiskPartition
from workbench.loaders.scan import arrow
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.segment_batches import columns_of, decoded_for
from workbench.loaders.schemas import SCAN_FIELDS
from workbench.loaders.search.sort_keys import SortKey
from workbench.record.reading.reader import Chunk

MOST_LISTED: Final = 2_000_000
"""Matches that are listed unless another number is given: about 60 MB."""

PLACE_ORDERS: Final = ("time", "partition", "offset")
"""The orders that every search can be listed in."""

Mask = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]


class _Batches(NamedTuple):
    """The batches of matches from one chunk: which read they are of, where they are, their size."""

    read: int
    positions: Longs
    sizes: Longs


class _Found(NamedTuple):
    """Matches in the order in which they were found; ``batch`` numbers the batches of all."""

    offsets: Longs
    times: Longs
    batch: npt.NDArray[np.int32]
    partition: npt.NDArray[np.int32]


_NOTHING: Final = _Found(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
)


class Matches:
    """The records that a search has found. One thread adds, others may look meanwhile.

    Attributes:
        most: how many are listed; what is found afterwards is only counted.
        kept: what is kept of each match, so that they can be sorted by it; None: nothing.
        count: how many were found.
    """

    def __init__(self, most: int = MOST_LISTED, kept: SortKey | None = None) -> None:
        self.most = most
        self.kept = kept
        self.count = 0
        self._sort_values: list[pa.RecordBatch] = []
        self._lock = threading.Lock()
        self._reads: list[SegmentRead] = []
        self._partitions: dict[tuple[str, str], int] = {}
        self._batches: list[_Batches] = []
        self._batch_count = 0
        self._found = [_NOTHING]
        self._listed = 0
        self._arranged: tuple[Any, Longs] = (None, np.zeros(0, np.int64))

    @property
    def listed(self) -> int:
        """How many matches can be read."""
        return self._listed

    def add(self, read: SegmentRead, chunk: Chunk, keep: Mask) -> Longs:
        """Add the matches of a chunk of a segment, and return their times in ms."""
        places = np.flatnonzero(keep)
        times = chunk.columns.timestamps[places]
        with self._lock:
            self.count += len(places)
            places = places[: self.most - self._listed]
            if len(places):
                self._list(read, chunk, places)
        return times

    def _list(self, read: SegmentRead, chunk: Chunk, places: npt.NDArray[np.intp]) -> None:
        if not self._reads or self._reads[-1] is not read:
            self._reads.append(read)
        used, batch = np.unique(chunk.columns.batch[places], return_inverse=True)
        rows = chunk.rows[used]
        batches = _Batches(
            len(self._reads) - 1,
            rows["position"].astype(np.int64),
            rows["size"].astype(np.int64),
        )
        place = read.partition.name, read.partition.path
        partition = self._partitions.setdefault(place, len(self._partitions))
        self._found.append(
            _Found(
                chunk.columns.offsets[places].astype(np.int64),
                chunk.columns.timestamps[places].astype(np.int64),
                (batch + self._batch_count).astype(np.int32),
                np.full(len(places), partition, np.int32),
            )
        )
        self._batches.append(batches)
        if self.kept is not None:
            columns = _record_batch(self.kept.columns, read, chunk)
            self._sort_values.append(self.kept.keep(columns, _indices(places)))
        self._batch_count += len(used)
        self._listed += len(places)

    def arranged(
        self,
        order: str = "time",
        *,
        descending: bool = False,
        times: tuple[int, int] | None = None,
    ) -> Longs:
        """Return the numbers of the matches in an order, for `read`.

        Args:
            order: "time": records of several partitions are merged; those without a time come
                first. "partition" and "offset": by partition, then offset. The name of what was
                `kept`: by that; those without a value come last whichever way, and equal ones
                remain in the order in which they were found.
            descending: the order is turned round.
            times: only matches with timestamps [first, end), in ms.

        Raises:
            ValueError: what to sort by was not `kept`.
        """
        if order not in PLACE_ORDERS and (self.kept is None or order != self.kept.name):
            raise ValueError(f"the search did not keep what to sort by {order} needs")
        found = self._together()
        wanted = (len(found.offsets), order, descending, times)
        if self._arranged[0] == wanted:
            return self._arranged[1]
        places = self._places(found, order, descending=descending)
        if times is not None:
            at = found.times[places]
            places = places[(at >= max(times[0], 0)) & (at < times[1])]
        self._arranged = (wanted, places)
        return places

    def _places(self, found: _Found, order: str, *, descending: bool) -> Longs:
        """Return the numbers of all matches in an order."""
        if self.kept is not None and order == self.kept.name:
            return self._sorted(self.kept, len(found.offsets), descending=descending)
        if order == "time":
            places = np.argsort(found.times, kind="stable")
        else:
            known = sorted(self._partitions)
            rank = np.array([known.index(each) for each in self._partitions], np.int32)
            places = np.lexsort((found.offsets, rank[found.partition]))
        return places[::-1] if descending else places

    def _sorted(self, kept: SortKey, count: int, *, descending: bool) -> Longs:
        """Return the numbers of the first ``count`` matches by what was kept of them."""
        with self._lock:
            table = pa.Table.from_batches(self._sort_values, kept.schema).combine_chunks()
            self._sort_values = table.to_batches()
        return kept.arranged(table[:count], descending=descending)

    def _together(self) -> _Found:
        """Return all matches as one piece."""
        with self._lock:
            if len(self._found) > 1:
                self._found = [_Found(*map(np.concatenate, zip(*self._found, strict=True)))]
            return self._found[0]

    def place_of(self, partition: DiskPartition, offset: int, arranged: Longs) -> int:
        """Return at which place of an arrangement a record is; -1: it is not there."""
        found = self._together()
        number = self._partitions.get((partition.name, partition.path), -1)
        fits = (found.offsets[arranged] == offset) & (found.partition[arranged] == number)
        at = np.flatnonzero(fits)
        return int(at[0]) if len(at) else -1

    def read(self, numbers: Iterable[int], columns: Iterable[str]) -> "Records":
        """Read matches again; those are left out that a broker has deleted since.

        Args:
            numbers: of matches, as `arranged` gives them.
            columns: names out of `schemas.SCAN_FIELDS`.

        Raises:
            OSError: a segment cannot be read any more.
        """
        names = tuple(columns)
        wanted = np.fromiter(numbers, np.int64)
        found = self._together()
        options = decoded_for(names)
        batches = [_schema(names).empty_table()]
        places = [np.zeros(0, np.int64)]
        replicas: list[DiskPartition] = []
        for read, start, stop, mine in self._runs(found.batch[wanted]):
            for chunk in _chunks(read, start, stop, options):
                at, is_here = _lookup(chunk.columns.offsets, found.offsets[wanted[mine]])
                if is_here.any():
                    batch = _record_batch(names, read, chunk)
                    batches.append(pa.Table.from_batches([batch.take(_indices(at[is_here]))]))
                    places.append(mine[is_here])
                    replicas += [read.partition] * int(is_here.sum())
        place = np.concatenate(places)
        order = np.argsort(place, kind="stable")
        table = pa.concat_tables(batches).take(_indices(order))
        return Records(table, place[order], [replicas[at] for at in order.tolist()])

    def _runs(self, batch: npt.NDArray[np.int32]) -> Iterator[tuple[SegmentRead, int, int, Longs]]:
        """Yield what to read for the batches of some matches: read, start, stop, which matches.

        Batches that follow each other in a file are read in one go.
        """
        firsts = np.cumsum([0, *(len(each.positions) for each in self._batches)])
        order = np.argsort(batch, kind="stable")
        run: tuple[SegmentRead, int, int, list[int]] | None = None
        for at in order.tolist():
            group = int(np.searchsorted(firsts, batch[at], side="right")) - 1
            held, row = self._batches[group], int(batch[at] - firsts[group])
            read, start = self._reads[held.read], int(held.positions[row])
            stop = start + int(held.sizes[row])
            if run is not None and run[0].segment is read.segment and run[1] <= start <= run[2]:
                run = (read, run[1], max(stop, run[2]), [*run[3], at])
                continue
            if run is not None:
                yield *run[:3], np.array(run[3], np.int64)
            run = (read, start, stop, [at])
        if run is not None:
            yield *run[:3], np.array(run[3], np.int64)


class Records(NamedTuple):
    """Records that were read again.

    Attributes:
        table: those that are still there, in the order asked for.
        places: int64[n], which of the numbers asked for each of them is.
        partitions: where each of them was read: of several brokers, the replica.
    """

    table: pa.Table
    places: Longs
    partitions: list[DiskPartition]


def _schema(names: tuple[str, ...]) -> pa.Schema:
    return pa.schema([SCAN_FIELDS[name] for name in names])


def _record_batch(names: tuple[str, ...], read: SegmentRead, chunk: Chunk) -> pa.RecordBatch:
    """Return some columns of the records of a chunk."""
    arrays = [*map(columns_of(chunk.columns, chunk.rows, read), names)]
    return pa.RecordBatch.from_arrays(arrays, schema=_schema(names))


def _chunks(read: SegmentRead, start: int, stop: int, options: int) -> Iterator[Chunk]:
    """Yield what a part of a segment holds; nothing more where a broker has deleted the file."""
    with suppress(FileNotFoundError):
        yield from read.segment.read(start, stop, options=options)


def _lookup(offsets: Longs, wanted: Longs) -> tuple[Longs, Mask]:
    """Return where among the offsets each wanted one is, and whether it is there."""
    order = np.argsort(offsets, kind="stable")
    at = np.minimum(np.searchsorted(offsets[order], wanted), max(len(offsets) - 1, 0))
    if not len(offsets):
        return at, np.zeros(len(wanted), np.bool_)
    return order[at], offsets[order[at]] == wanted


def _indices(places: npt.NDArray[Any]) -> pa.Array:
    return arrow.integers(places.astype(np.int64), pa.int64(), arrow.NO_ABSENT)
