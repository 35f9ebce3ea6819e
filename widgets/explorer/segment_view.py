"""One segment, read for the explorer: its columns, pages of records, windows of bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from widgets.view.bytes import FieldPlace, places
from widgets.view.meanings import Meaning, Meanings
from widgets.view.packing import pack
from widgets.view.records import Lens, record_row
from widgets.view.segments import batch_columns, first_rows, index_columns, time_index_columns
from workbench.inspection.bytes.batch_bytes import BatchBytes, read_batch
from workbench.inspection.bytes.fields import explain_batch
from workbench.inspection.findings import finding_of
from workbench.inspection.lookups.record_window import RecordWindow, WindowRecord
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment, take_over
from workbench.inspection.transactions import read_transactions
from workbench.inspection.verify.segments.log_pass import read_tail

CHECKED_AT_ONCE = 16 << 20
"""Bytes: every CRC of a segment up to this size is checked when it is opened (some 20 ms), and the
transactions of a partition up to this size are resolved."""

FIRST_PAGE = 200
"""Records that travel with the segment, so that a saved notebook shows them without a kernel."""

MOST_FOLLOWED = 2 << 30
"""Bytes: larger partitions are not searched for transaction markers (0.1 s per GiB)."""

_RECORD_GROUPS = ("record ", "message")


class TailView(NamedTuple):
    """What follows the last complete batch: ``stop`` says what it is, "end" for nothing."""

    stop: str
    position: int
    file_size: int


@dataclass(frozen=True)
class Explained:
    """A batch's bytes on disk and decompressed, each with its fields."""

    position: int
    batch: BatchBytes
    on_disk: list[FieldPlace]
    inside: list[FieldPlace]

    @cached_property
    def records(self) -> list[tuple[bool, int, int]]:
        """Where each record's bytes are: in the decompressed bytes or not, start, and size."""
        inside = [(True, each) for each in self.inside]
        return [
            (is_inside, each.start, each.field.size)
            for is_inside, each in [*((False, each) for each in self.on_disk), *inside]
            if each.field.level == 0 and each.field.name.startswith(_RECORD_GROUPS)
        ]


def explain(segment: Segment, position: int, size: int) -> Explained:
    """Read a batch and its fields."""
    fields = explain_batch(segment, position)
    on_disk = [each for each in fields if not each.is_decompressed]
    inside = [each for each in fields if each.is_decompressed]
    batch = read_batch(segment, position, size)
    return Explained(position, batch, places(on_disk, position), places(inside, 0))


class SegmentView:
    """The explorer's view of a segment.

    Attributes:
        segment: the segment.
        rows: its batch table.
        records: its records by row.
        damaged: position of a batch → code of damage that a header scan cannot see.
        words: code → text, for the codes in use.
        meanings: decodes keys and values; None: their bytes are shown.

    Args:
        partition: the segment's partition.
        segment: the segment.
        meanings: see above.
        earlier: the view of the same segment before it grew; only what follows it is checked.
    """

    def __init__(
        self,
        partition: DiskPartition,
        segment: Segment,
        meanings: Meanings | None = None,
        *,
        earlier: "SegmentView | None" = None,
    ) -> None:
        self.partition = partition
        self.segment = segment
        self.meanings = meanings
        if earlier is not None:
            take_over(segment, earlier.segment)
        table = segment.batches
        self.rows: npt.NDArray[Any] = table.rows
        self.records = RecordWindow(segment)
        self.words: dict[int, str] = {}
        if earlier is not None and not self._continues(earlier):
            earlier = None
        for row in np.flatnonzero(self.rows["problem"]):
            self.words[int(self.rows["problem"][row])] = table[int(row)].problem or "damaged"
        self.damaged: dict[int, int] = {}
        if earlier is not None:
            self.damaged, self.words = dict(earlier.damaged), earlier.words | self.words
        if segment.size <= CHECKED_AT_ONCE:
            self.damaged |= self._check(0 if earlier is None else earlier.tail.position)
        self.tail: TailView = self._find_tail()
        self._explained: Explained | None = None

    def _continues(self, earlier: "SegmentView") -> bool:
        """Return whether the rows of an earlier view are the first of this one."""
        count = len(earlier.rows)
        return 0 < count <= len(self.rows) and (
            self.rows[count - 1].tobytes() == earlier.rows[count - 1].tobytes()
        )

    def _check(self, start: int) -> dict[int, int]:
        """Read every batch from a position and note those that cannot be read."""
        damaged = {}
        for chunk in self.segment.read(start, options=0):
            for problem in chunk.problems:
                damaged[problem.position] = problem.code
                found = finding_of(problem, self.segment.path)
                self.words.setdefault(problem.code, found.found.split(":")[0])
        return damaged

    def _find_tail(self) -> TailView:
        segment, end = self.segment, self.segment.batches.stop.position
        tail = read_tail(segment.files["log"], segment.base_offset, segment.batches)
        if tail is None:
            return TailView("end", end, end)
        stop = "zeros" if tail.is_zeros else "unfinished batch" if tail.is_torn else "bad size"
        return TailView(stop, end, end + tail.size)

    def row_of(self, position: int | None) -> int | None:
        """Return the row of the batch that starts at the position; None if none does."""
        if position is None:
            return None
        row = int(np.searchsorted(self.rows["position"], position))
        found = row < len(self.rows) and self.rows["position"][row] == position
        return row if found else None

    def is_control(self, position: int) -> bool:
        """Return whether a control batch starts at the position: no user wrote it."""
        row = self.row_of(position)
        return row is not None and bool(self.rows["is_control"][row])

    def columns(self, partition: str, lens: Lens) -> dict[str, Any]:
        """Return everything the front end needs to draw the segment, and its first records."""
        segment, offset_index = self.segment, self.segment.offset_index
        time_index = segment.time_index
        entries, dropped = index_columns(
            offset_index.offsets if offset_index else (),
            offset_index.positions if offset_index else (),
            self.tail.file_size,
        )
        return {
            "partition": partition,
            "segment": str(segment.base_offset),
            "name": segment.files["log"].name,
            "file_size": self.tail.file_size,
            "valid_size": self.tail.position,
            "stop": self.tail.stop,
            "problem_words": {str(code): text for code, text in self.words.items()},
            "batches": batch_columns(self.rows, self.damaged),
            "fates": pack(self.fates()) if self._size_of_log <= CHECKED_AT_ONCE else None,
            "offset_index": entries,
            "offset_index_dropped": dropped,
            "time_index": time_index_columns(
                time_index.timestamps if time_index else (),
                time_index.offsets if time_index else (),
                self.rows,
            ),
            "first_rows": pack(self._first_rows()),
            "rows": len(self.records),
            "head": self.page(0, FIRST_PAGE, lens),
        }

    def fates(self) -> npt.NDArray[np.int8]:
        """Return each transaction's outcome: codes of `workbench.inspection.transactions`.

        Reads the markers of the whole partition, so the front end asks for it after it has drawn
        the picture if that takes time.
        """
        if not self.rows["is_transactional"].any() or self._size_of_log > MOST_FOLLOWED:
            return np.zeros(len(self.rows), np.int8)
        return read_transactions(self.partition).fates(self.rows)

    @property
    def _size_of_log(self) -> int:
        """Bytes of the `.log` files, local and remote."""
        return sum(each.size for each in self.partition.segments_of_log)

    def _first_rows(self) -> npt.NDArray[np.int64]:
        """Return each batch's first row in the record list: int64[n + 1]."""
        counts = np.where(self.rows["problem"], 0, self.rows["record_count"])
        if (counts >= 0).all():
            return first_rows(counts)
        # Wrappers of old formats do not store their number of records; the window has counted.
        rows = range(len(self.rows) + 1)
        return np.array([self.records.first_row(row) for row in rows], np.int64)

    def page(self, start: int, stop: int, lens: Lens) -> list[list[Any]]:
        """Return rows [start, stop) of the record list, as far as it has them.

        A batch with unreadable records has rows that say so, so that every row keeps its number.
        """
        stop = min(stop, len(self.records))
        rows: list[list[Any] | None] = [None] * max(0, stop - start)
        number, batch = start, -1
        records = list(self.records.read(start, stop))
        for record, meaning in zip(records, self._meanings(records, lens), strict=True):
            number = number + 1 if record.batch == batch else self._first(record, start)
            batch = record.batch
            if start <= number < stop:
                rows[number - start] = record_row(record, batch, lens, meaning)
        return [row or self._lost(start + at) for at, row in enumerate(rows)]

    def _meanings(self, records: Sequence[WindowRecord], lens: Lens) -> Sequence[Meaning]:
        """Return what keys and values mean, if the lens shows that."""
        if self.meanings is None or not lens.decodes:
            return [{}] * len(records)
        keys, values = [each.key for each in records], [each.value for each in records]
        headers = [each.headers for each in records]
        return self.meanings.of(self.partition.topic, keys, values, headers)

    def _first(self, record: WindowRecord, start: int) -> int:
        """Return the row of the first record read from a batch."""
        return max(start, self.records.first_row(record.batch))

    def _lost(self, row: int) -> list[Any]:
        """Return the row of a record that cannot be read."""
        batch = self.records.batch_of(row)
        code = self.damaged.get(int(self.rows["position"][batch]))
        text = "the batch cannot be read" if code is None else self.words[code]
        return ["", None, ["", "null"], ["", "null"], ["", "quiet"], batch, text]

    def offsets(self, batch: int | None, offset: int | None) -> tuple[int, int] | None:
        """Return the offsets [first, end) of the selected record, batch or whole segment."""
        if offset is not None:
            return offset, offset + 1
        rows = self.rows if batch is None else self.rows[batch : batch + 1]
        if not len(rows):
            return None
        base, last = int(rows["base_offset"][0]), int(rows["last_offset"].max())
        return (self.segment.base_offset if base < 0 else base), last + 1

    def explained(self, position: int) -> Explained:
        """Return the bytes of the batch at a position with their fields; cache the last answer."""
        if self._explained is None or self._explained.position != position:
            row = self.row_of(position)
            size = 0 if row is None else int(self.rows["size"][row])
            self._explained = explain(self.segment, position, size)
        return self._explained

    def place_of(self, row: int) -> tuple[bool, int, int] | None:
        """Return where a record's bytes are: in the decompressed bytes or not, start, and size."""
        if not 0 <= row < len(self.records):
            return None
        batch = self.records.batch_of(row)
        number = row - self.records.first_row(batch)
        places = self.explained(int(self.rows["position"][batch])).records
        return places[number] if number < len(places) else None
