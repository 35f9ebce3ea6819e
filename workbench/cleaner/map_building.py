"""Fill the offset map with the keys of the dirty section of a log, until it is full.

Kafka: Cleaner.buildOffsetMap (4.2)
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.cleaner.chunks import read_chunks
from workbench.cleaner.offset_map import NOT_FOUND, OffsetMap
from workbench.cleaner.statistics import CleanerStats
from workbench.cleaner.transactions import CleanedTransactions, TransactionBatch
from workbench.errors import UnsupportedFormatError
from workbench.files.file_records import FileRecords
from workbench.log.log import Log
from workbench.record.buffers import BufferPool
from workbench.record.compaction.locating import Located, RecordLocator, SurveyedBatches
from workbench.runtime.steps import wants_details, wants_records
from workbench.runtime.workers import ObjectPool, in_order

Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[Any]


class MapBuilder:
    """Builds the map of one round.

    Args:
        offset_map: the map to empty and fill.
        transactions: those of the batches that are read.
        buffer_size: bytes read at a time.
        stats: the counts to raise.
        check: called between reads; ends the cleaning by raising.
        throttle: receives the bytes of each read; may sleep.
        workers: threads that decompress and find records side by side.

    Kafka: Cleaner.buildOffsetMap (4.2)
    """

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactions,
        buffer_size: int,
        stats: CleanerStats,
        check: Callable[[], None],
        throttle: Callable[[int], None],
        *,
        workers: int = 1,
    ) -> None:
        self._map = offset_map
        self._transactions = transactions
        self._buffer_size = buffer_size
        self._stats = stats
        self._check = check
        self._throttle = throttle
        self._workers = workers
        self._pool = BufferPool() if workers > 1 else None
        self._locators = ObjectPool(RecordLocator)

    def build(self, log: Log, start: int, end: int) -> None:
        """Put the keys of [start, end) into the map; `OffsetMap.latest_offset` says how far it got.

        Raises:
            CorruptRecordError: a batch cannot be read.
            UnsupportedFormatError: a record has no key, which ends the cleaner of the version.

        Kafka: Cleaner.buildOffsetMap (4.2)
        """
        self._context = log.context
        self._map.clear()
        self._map.mark(start, end)
        dirty = log.local.segments.values(start, end)
        ends = [*(segment.base_offset for segment in dirty[1:]), end]
        for segment, segment_end in zip(dirty, ends, strict=False):
            self._check()
            position = segment.offset_index.lookup(start).position
            pieces = self._pieces(segment.log, position)
            with closing(in_order(pieces, self._locate, self._workers, _size_of)) as found:
                for piece in found:
                    assert isinstance(piece, _Piece)
                    self._check()
                    self._throttle(piece.chunk.size)
                    if self._take_chunk(piece, iter(partial(next, found), None), start):
                        return
                    self._stats.map_bytes_read += piece.chunk.size
            self._map.latest_offset = segment_end - 1  # even if the last offsets are missing
            self._tell_segment(segment.log.path, segment_end)

    def _pieces(self, log: FileRecords, position: int) -> Iterator["_Piece"]:
        """Yield the chunks of a segment from a position, in their order."""
        for chunk in read_chunks(log, position, self._buffer_size, self._pool):
            followed = self._transactions.follow(chunk)
            yield _Piece(chunk, _records_without_keys(chunk.rows, followed))

    def _locate(self, piece: "_Piece") -> Iterator["_Piece | Located | None"]:
        """Yield a piece, then the records of its data batches, then None."""
        yield piece
        chunk, without_keys = piece
        wanted = None if without_keys is None else without_keys < 0
        with self._locators.lent() as locator:
            for located in locator.locate(chunk, wanted):
                yield located if self._workers == 1 else located.kept_from(chunk.buffer)
        yield None

    def _take_chunk(self, piece: "_Piece", every: Iterator[Any], start: int) -> bool:
        """Put the keys of a piece's records into the map; return whether it became full."""
        chunk, without_keys = piece
        rows, done, partly = chunk.rows, 0, None
        for located in every:
            self._tell_skipped(chunk, done, located.first)
            known = self._known(located)
            passed = self._map.put_records(located, start)
            if self._context.rules.needs_keys:
                _require_keys(chunk.path, located.places[:passed], start)
            self._tell_taken(chunk.path, located, start, known, passed)
            self._stats.map_messages_read += passed
            done = located.last
            if passed < len(located.places):
                done = int(located.places["batch"][passed])
                partly = located.places[:passed]
                break
        else:
            self._tell_skipped(chunk, done, len(rows))
            done = len(rows)
        if without_keys is not None:
            self._stats.map_messages_read += int(without_keys[:done].clip(0).sum())
        self._reach(rows["last_offset"][:done], start)
        if partly is None:
            return False
        is_taken = (partly["batch"] == done) & (partly["key_size"] >= 0)
        self._reach(partly["offset"][is_taken], start)
        return True

    def _reach(self, offsets: Longs, start: int) -> None:
        """Extend the map to the last of some offsets, unless it is before ``start``."""
        for offset in reversed(offsets):
            if offset >= start:
                self._map.latest_offset = int(offset)
                return

    # --- what an observer receives -----------------------------------------------------------

    def _known(self, located: Located) -> Longs | None:
        """Return the map's offsets of keys; None if no observer wants them."""
        if not wants_records(self._context.observer):
            return None
        known = np.empty(len(located.places), np.int64)
        self._map.newest_of(located, known)
        return known

    def _tell_taken(
        self, path: str, located: Located, start: int, known: Longs | None, passed: int
    ) -> None:
        """Report the keys that were put into the map, and whether it is full.

        Args:
            path: the `.log` file's path.
            located: the records.
            start: offset of the first record to report.
            known: the result of `_known` from before they were put into the map.
            passed: number of them that were put into the map.
        """
        if known is not None:
            for offset, before in _mapped(located, start, known, passed):
                reason, numbers = "the record's key is new", {"offset": offset}
                if before != NOT_FOUND:
                    reason, numbers["previous"] = f"the record supersedes offset {before}", before
                self._context.tell("key mapped", path, reason, **numbers)
        if passed < len(located.places) and self._context.observer is not None:
            offset = int(located.places["offset"][passed])
            self._context.tell(
                "map full",
                path,
                f"the offset map is full with {self._map.size} keys; the round ends before offset "
                f"{offset}, where the next one begins",
                offset=offset,
                entries=self._map.size,
                slots=self._map.slots,
            )

    def _tell_skipped(self, chunk: SurveyedBatches, first: int, last: int) -> None:
        """Report that the keys of batches were not put into the map."""
        if not wants_details(self._context.observer):
            return
        for row in chunk.rows[first:last]:
            reason = (
                "the batch ends a transaction"
                if row["is_control"]
                else "the batch's transaction was aborted"
            )
            numbers = {"offset": int(row["base_offset"]), "size": int(row["size"])}
            position = chunk.position + int(row["position"])
            self._context.tell("batch not mapped", chunk.path, reason, position=position, **numbers)

    def _tell_segment(self, path: str, end: int) -> None:
        """Report that all keys of a segment, up to the offset ``end``, are in the map."""
        if self._context.observer is not None:
            entries, most = self._map.size, self._map.most
            self._context.tell(
                "segment mapped",
                path,
                f"up to offset {end} the offset map has {entries} keys, of at most {most}",
                end_offset=end,
                entries=entries,
                most=most,
            )


class _Piece(NamedTuple):
    """A chunk, and the record counts of its batches without keys: `_records_without_keys`."""

    chunk: SurveyedBatches
    without_keys: Longs | None


def _require_keys(path: str, places: Rows, start: int) -> None:
    """Refuse a record without key.

    Raises:
        UnsupportedFormatError: there is one at or after ``start``.

    Kafka: Cleaner.buildOffsetMapForSegment (0.8.2)
    """
    without = places["offset"][(places["key_size"] < 0) & (places["offset"] >= start)]
    if len(without):
        raise UnsupportedFormatError(
            path, None, f"the record at offset {without[0]} has no key, which the cleaner requires"
        )


def _size_of(result: _Piece | Located | None) -> int:
    """Return how many bytes wait with a result."""
    return len(result.data) + result.places.nbytes if isinstance(result, Located) else 0


def _records_without_keys(rows: Rows, followed: Iterable[TransactionBatch]) -> Longs | None:
    """Return the record counts of control and aborted batches, -1 for others; None if none."""
    found = None
    for index, _, is_discardable in followed:
        is_control = bool(rows["is_control"][index])
        if is_control or is_discardable:
            found = np.full(len(rows), -1) if found is None else found
            found[index] = 1 if is_control else rows["record_count"][index]
    return found


def _mapped(located: Located, start: int, known: Longs, passed: int) -> Iterator[tuple[int, int]]:
    """Yield the offset of each record that was mapped, and the one that its key had before."""
    newest: dict[bytes, int] = {}
    for place, before in zip(located.places[:passed], known.tolist(), strict=False):
        offset, at, size = (int(place[name]) for name in ("offset", "key_start", "key_size"))
        if size >= 0 and offset >= start:
            key = located.data[at : at + size].tobytes()
            yield offset, newest.get(key, before)
            newest[key] = offset
