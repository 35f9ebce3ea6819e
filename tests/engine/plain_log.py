"""What a log holds, as plain lists: the model that the engine is compared with.

Segments are asked of the engine where they matter (what retention deletes, where a timestamp is
looked for); everything else follows from the batches alone.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

KNOWN_BATCHES = 5  # of a producer, that are recognized when they come again


class PlainRecord(NamedTuple):
    """A record: its offset, its time in ms, its value."""

    offset: int
    timestamp: int
    value: bytes | None


@dataclass(frozen=True)
class PlainBatch:
    """Records that were appended together.

    Attributes:
        records: one at least.
        producer: its id; None without one.
        sequence: the first record's.
        is_transactional: whether they are part of a transaction.
        ends: "commit" or "abort" for a marker.
    """

    records: tuple[PlainRecord, ...]
    producer: int | None = None
    sequence: int = -1
    is_transactional: bool = False
    ends: str | None = None

    @property
    def first(self) -> int:
        """The first offset."""
        return self.records[0].offset

    @property
    def last(self) -> int:
        """The last offset."""
        return self.records[-1].offset

    @property
    def largest_timestamp(self) -> int:
        """The latest of its records, ms."""
        return max(record.timestamp for record in self.records)


@dataclass
class PlainProducer:
    """A producer.

    Attributes:
        known: its last batches that are recognized as duplicates, the newest last.
        last: its newest batch; None if only a marker is known.
        transaction: where its open transaction began.
    """

    known: deque[PlainBatch] = field(default_factory=lambda: deque(maxlen=KNOWN_BATCHES))
    last: PlainBatch | None = None
    transaction: int | None = None

    @property
    def next_sequence(self) -> int:
        """What its next batch must begin with."""
        return 0 if self.last is None else self.last.sequence + len(self.last.records)


class PlainTransaction(NamedTuple):
    """A transaction that has ended: its first record's offset and its marker's."""

    producer: int
    first: int
    last: int
    is_aborted: bool

    def wrote(self, batch: PlainBatch) -> bool:
        """Return whether a batch is part of it."""
        return batch.producer == self.producer and self.first <= batch.first < self.last


class PlainLog:
    """A log.

    Attributes:
        batches: all that are in its files, ascending.
        deleted: those that retention has deleted.
        start, end, high_watermark: its offsets.
        producers: by id.
        ended: transactions that have ended, in the order of their markers.
    """

    def __init__(self) -> None:
        self.batches: list[PlainBatch] = []
        self.deleted: list[PlainBatch] = []
        self.start = 0
        self.end = 0
        self.high_watermark = 0
        self.producers: dict[int, PlainProducer] = {}
        self.ended: list[PlainTransaction] = []

    def append(self, batch: PlainBatch) -> None:
        """Add a batch at the end."""
        assert batch.first == self.end
        self.batches.append(batch)
        self.end = batch.last + 1
        self._follow(batch)

    def _follow(self, batch: PlainBatch) -> None:
        if batch.producer is None:
            return
        producer = self.producers.setdefault(batch.producer, PlainProducer())
        if batch.ends is None:
            producer.known.append(batch)
            producer.last = batch
            if batch.is_transactional and producer.transaction is None:
                producer.transaction = batch.first
        elif producer.transaction is not None:
            is_aborted = batch.ends == "abort"
            self.ended.append(
                PlainTransaction(batch.producer, producer.transaction, batch.last, is_aborted)
            )
            producer.transaction = None

    def truncate(self, offset: int) -> None:
        """Remove everything from ``offset`` on, with the batch that holds it."""
        self.batches = [batch for batch in self.batches if batch.last < offset]
        self.end = offset
        self.start = min(self.start, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.rebuild()

    def empty(self, offset: int) -> None:
        """Remove everything and start over."""
        self.batches = []
        self.deleted = []
        self.start = self.end = self.high_watermark = offset
        self.producers.clear()
        self.ended.clear()

    def delete_before(self, offset: int) -> None:
        """Remove the batches before a segment; who wrote them is still known."""
        self.deleted += [batch for batch in self.batches if batch.first < offset]
        self.batches = [batch for batch in self.batches if batch.first >= offset]

    def rebuild(self) -> None:
        """Follow all batches again; of each producer only the last one is recognized then."""
        self.producers, self.ended = {}, []
        for batch in (*self.deleted, *self.batches):
            self._follow(batch)
        for producer in self.producers.values():
            producer.known = deque(list(producer.known)[-1:], KNOWN_BATCHES)

    def visible(self) -> list[PlainBatch]:
        """Return the batches with records that may be read."""
        return [batch for batch in self.batches if batch.last >= self.start]

    def committed(self, limit: int) -> list[int]:
        """Return the offsets of the records before ``limit`` that no aborted transaction wrote."""
        aborted = [one for one in self.ended if one.is_aborted]
        return [
            record.offset
            for batch in self.visible()
            if batch.ends is None and not any(one.wrote(batch) for one in aborted)
            for record in batch.records
            if self.start <= record.offset < limit
        ]

    def place(self, offset: int) -> int:
        """Return where the first batch begins that reaches an offset; the end if none does."""
        return next((batch.first for batch in self.batches if batch.last >= offset), self.end)

    def last_stable_offsets(self) -> set[int]:
        """Return what the last stable offset may be.

        A transaction whose marker is not below the high watermark is undecided for consumers; a log
        that was loaded from a snapshot no longer knows of it. One that began before the log's start
        is taken to begin with the batch that holds the start.
        """
        firsts = [producer.transaction for producer in self.producers.values()]
        opened = [self._stable_before(first) for first in firsts if first is not None]
        undecided = [
            self._stable_before(one.first) for one in self.ended if one.last >= self.high_watermark
        ]
        limit = min([self.high_watermark, *opened])
        return {limit, *(min(limit, offset) for offset in undecided)}

    def _stable_before(self, first: int) -> int:
        return first if first >= self.start else self.place(self.start)

    def offset_for(self, timestamp: int, bases: Sequence[int]) -> PlainRecord | None:
        """Return the first record that is not older, of the first segment that has any such.

        The age of a segment without records is that of its file, which is later than any here.

        Args:
            timestamp: ms.
            bases: base offsets of the segments.
        """
        for batches in self.by_segment(bases):
            if not batches or max(b.largest_timestamp for b in batches) >= timestamp:
                records = (record for batch in batches for record in batch.records)
                late = (r for r in records if r.timestamp >= timestamp and r.offset >= self.start)
                return next(late, None)
        return None

    def by_segment(self, bases: Sequence[int]) -> list[list[PlainBatch]]:
        """Return the batches of each segment."""
        ends = [*bases[1:], self.end + 1]
        return [
            [batch for batch in self.batches if base <= batch.first < end]
            for base, end in zip(bases, ends, strict=True)
        ]

    def retain(self, now: int, retention_ms: int, bases: Sequence[int]) -> int:
        """Return how many segments are deleted: those before the log start, then the old ones."""
        segments = self.by_segment(bases)
        ends = [*bases[1:], self.end]
        doomed = 0
        while doomed < len(bases) - 1 and ends[doomed] <= min(self.start, self.high_watermark):
            doomed += 1
        while doomed < len(bases) and self.high_watermark >= ends[doomed]:
            batches = segments[doomed]
            if not batches or now - max(b.largest_timestamp for b in batches) <= retention_ms:
                break
            doomed += 1
        return doomed
