"""Read one segment of a partition: the `.log` file and the indexes beside it.

Nothing is read until it is asked for, nothing is ever written, and bad bytes are reported in what
is returned, not raised. A segment can be pickled, without what was read.

Kafka: org.apache.kafka.storage.internals.log.LogSegment (4.2)
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from workbench.file_system.source import FileSource
from workbench.files import names
from workbench.files.indexes import offset_index, time_index
from workbench.files.indexes.entry_run import IndexFile
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.names import FileKind
from workbench.inspection.entries import FileEntry
from workbench.inspection.facts.html import table_html
from workbench.layout import problems
from workbench.record.buffers import BufferPool
from workbench.record.reading.batch_table import BatchTable, last_in_order, walk_batches
from workbench.record.reading.readable_batches import (
    more_readable,
    readable_batches,
    readable_table,
)
from workbench.record.reading.reader import ALL_COLUMNS, Chunk, Problem, RecordReader, Select
from workbench.record.reading.resync import batch_at, last_sound_offset
from workbench.runtime.words import safe

Index = TypeVar("Index", bound=IndexFile)


class Stamp(NamedTuple):
    """The largest timestamp that a broker takes a segment to have, ms, and what gives it."""

    timestamp: int
    source: str


class SegmentEnds(NamedTuple):
    """The ends of a segment: a broker's, and where what can be read ends.

    Attributes:
        broker: where a broker stops that starts after a clean shutdown: the offset after the last
            batch before damage that follows the last index entry.
        readable: the offset after the last batch that can be read.
        committed: where read_committed ends at most: `readable` if batches follow damage, otherwise
            `broker`, which is lower if an old batch was written after newer ones.
    """

    broker: int
    readable: int
    committed: int


class Segment:
    """A segment; `len(segment.batches)` walks its headers, `segment.path` costs nothing.

    Attributes:
        base_offset: the number in its file names: a lower bound of its offsets.
        files: the segment's files by kind; "log" is always there.
        is_active: whether it is the partition's last, the one a broker appends to.
    """

    def __init__(
        self, base_offset: int, files: dict[FileKind, FileEntry], *, is_active: bool
    ) -> None:
        self.base_offset = base_offset
        self.files = files
        self.is_active = is_active
        self._table: tuple[tuple[int, int], BatchTable] | None = None
        self._ends: tuple[tuple[int, int], SegmentEnds] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: another process reads it again."""
        return {**self.__dict__, "_table": None, "_ends": None}

    def __repr__(self) -> str:
        folder = os.path.dirname(self.path)
        return safe(f"<Segment {self.base_offset} of {folder}, {self.size} bytes>")

    @property
    def path(self) -> str:
        """Path of the `.log` file."""
        return self.files["log"].path

    def open(self) -> FileSource:
        """Open the `.log` file.

        Raises:
            OSError: it cannot be opened.
        """
        return self.files["log"].open()

    @property
    def size(self) -> int:
        """Bytes of the `.log` file when it was listed."""
        return self.files["log"].size

    @property
    def modified_ms(self) -> int:
        """When the `.log` file was last written, ms since the epoch."""
        return self.files["log"].modified_ms

    @property
    def batches(self) -> BatchTable:
        """The batch table, walked once, and again when the file has changed since.

        It has what can be read behind damage, too; nothing covers the damage. Of a file that grew,
        only what follows the known batches is read.

        Raises:
            OSError: the file cannot be read.
        """
        with self.open() as source:
            version, base = source.version, self.base_offset
            if self._table is None:
                self._table = (version, readable_table(source, base_offset=base))
            elif self._table[0] != version:
                (size, _), known = self._table
                if version[0] > size:
                    self._table = version, more_readable(source, known, base_offset=base)
                else:
                    self._table = version, readable_table(source, base_offset=base)
        return self._table[1]

    def batch_parts(self) -> Iterator[BatchTable]:
        """Walk the batch headers in tables of some thousand rows, none of which is kept.

        Behind damage, too; see `batches`.

        Raises:
            OSError: the file cannot be read.
        """
        with self.open() as source:
            yield from readable_batches(source, base_offset=self.base_offset)

    @property
    def offset_index(self) -> OffsetIndex | None:
        """The offset index with its problems; None when there is no such file."""
        entry = self.files.get("index")
        with suppress(FileNotFoundError):  # a broker deleted it since it was listed
            return self._index(OffsetIndex, entry) if entry else None
        return None

    @property
    def time_index(self) -> TimeIndex | None:
        """The time index with its problems; None when there is no such file."""
        entry = self.files.get("timeindex")
        with suppress(FileNotFoundError):  # a broker deleted it since it was listed
            return self._index(TimeIndex, entry) if entry else None
        return None

    @property
    def transaction_index(self) -> TransactionIndex | None:
        """The transaction index with its problems; None when there is no such file."""
        entry = self.files.get("txnindex")
        with suppress(FileNotFoundError):  # a broker deleted it since it was listed
            return self._index(TransactionIndex, entry) if entry else None
        return None

    def _index(self, kind: type[Index], entry: FileEntry) -> Index:
        return kind.read(entry.path, self.base_offset, strict=False, fs=entry.fs)

    @property
    def next_offset(self) -> int:
        """The offset after the segment's last readable batch; the base offset when there is none.

        Behind damage, too, where a broker stops: see `ends`.
        """
        if self._table is not None:
            return _after(last_in_order(self.batches.rows, self.base_offset - 1))
        return self.ends.readable

    @property
    def ends(self) -> "SegmentEnds":
        """Where a broker stops, and where what can be read does; both the base offset without any.

        Walks from the last index entry that points to a batch; from the start when none does. (A
        broker trusts the index: an entry past the end of the data makes it lose the tail.) Walked
        once, and again when the file has changed since.

        Kafka: LogSegment.readNextOffset (4.2)
        """
        with self.open() as source:
            version = source.version
            if self._ends is None or self._ends[0] != version:
                start = self._position_near_end(source)
                walked = readable_batches(source, start, base_offset=self.base_offset)
                self._ends = version, self._ends_of(walked)
        return self._ends[1]

    def _ends_of(self, tables: Iterable[BatchTable]) -> SegmentEnds:
        """Return the ends by tables that follow each other."""
        readable = broker = self.base_offset - 1
        is_before_damage, is_followed = True, False
        for table in tables:
            readable = last_in_order(table.rows, readable)
            if is_before_damage:
                broker = last_sound_offset(table.rows, broker)
            elif len(table):
                is_followed = True
            is_before_damage &= table.stop.code == problems.ROWS_FULL
        ends = _after(broker), _after(readable)
        return SegmentEnds(*ends, committed=ends[1] if is_followed else ends[0])

    def _position_near_end(self, source: FileSource) -> int:
        """Return where a batch of this segment starts, as near to the end as is cheap to find."""
        entry = self.files.get("index")
        size = source.size
        if entry is None or entry.size == 0 or size <= _SMALL_LOG:
            return 0
        last = None
        with suppress(OSError):  # it only saves time
            last = offset_index.read_last(entry.path, self.base_offset, entry.fs)
        if last is None or not 0 < last.position < size:
            return 0
        sound, code = False, problems.BAD_SIZE
        for at, table in enumerate(walk_batches(source, start=last.position)):
            code = table.stop.code
            if at == 0 and len(table):
                # An entry holds the last offset of its batch (since 2.0) or the first (before).
                sound = int(table.rows["last_offset"][0]) >= last.offset
        return last.position if sound and code <= problems.UNFINISHED else 0

    def position_of(self, offset: int) -> int:
        """Return where to start reading for ``offset``: not after the first batch that reaches it.

        The position is from the index, but only if the entry points to a batch with a valid CRC
        that begins at or before ``offset`` and reaches the entry's offset; otherwise it is 0.

        Kafka: OffsetIndex.lookup
        """
        index = None
        with suppress(OSError):
            index = self.offset_index
        if index is None:
            return 0
        reached, position = index.lookup(offset)
        if position == 0:
            return 0
        row = None
        with suppress(OSError), self.open() as source:  # reading it raises it again
            row = batch_at(source, position)
        if row is None:
            return 0
        # A wrapper of magic 0 or 1 has no base offset; its last offset is a stricter bound.
        first = row["last_offset"] if row["magic"] < 2 else row["base_offset"]
        # An entry holds the last offset of its batch (since 2.0) or the first (before).
        return position if first <= offset and reached <= row["last_offset"] else 0

    def read(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        options: int = ALL_COLUMNS,
        check_crc: bool = True,
        select: Select | None = None,
        pool: BufferPool | None = None,
    ) -> Iterator[Chunk]:
        """Yield the segment's records as columns, with what could not be read.

        Args:
            start, stop: byte positions where batches start; default the whole file.
            options, check_crc, select, pool: as in `record.reading.reader.RecordReader`.

        Raises:
            OSError: the file cannot be read.
        """
        with self.open() as source:
            yield from RecordReader(
                source,
                start,
                stop,
                options=options,
                check_crc=check_crc,
                select=select,
                pool=pool,
                base_offset=self.base_offset,
            )

    def read_bytes(self, position: int, size: int) -> bytes:
        """Return the ``size`` bytes of the `.log` file from ``position``, fewer at its end.

        Raises:
            OSError: the file cannot be read.
        """
        with self.open() as source:
            return source.read(position, size).tobytes()

    @property
    def largest_timestamp(self) -> int | None:
        """Largest timestamp of a batch in the segment, ms; None without any."""
        stamps = self.batches.column("max_timestamp")
        largest = int(stamps.max()) if len(stamps) else -1
        return None if largest < 0 else largest

    @property
    def stamp_without_records(self) -> Stamp:
        """What counts as the largest timestamp of a segment whose records have none.

        A broker reads the last entry of the time index, even if no batch is left, and takes the
        file's time if the index has none.

        Kafka: LogSegment.largestTimestamp (4.2)
        """
        times = self.files.get("timeindex")
        if times is not None:
            with suppress(OSError):
                last = time_index.read_last(times.path, self.base_offset, times.fs)
                if last is not None and last.timestamp >= 0:
                    return Stamp(last.timestamp, "its time index's last entry")
        return Stamp(self.modified_ms, "the file's time")

    def _repr_html_(self) -> str:
        rows = self.batches.rows[:_SHOWN]
        names = ("position", "size", "base_offset", "last_offset", "record_count", "max_timestamp")
        cells = [[None if row[name] == -1 else int(row[name]) for name in names] for row in rows]
        left = len(self.batches) - len(rows)
        note = f"{left} more batches" if left else None
        title = f"Segment {self.base_offset}, {len(self.batches)} batches"
        return table_html(title, [name.replace("_", " ") for name in names], cells, note)


def _after(offset: int) -> int:
    """Return the next offset; after the largest one there is none."""
    return min(max(offset + 1, 0), names.MAX_OFFSET)


def take_over(segment: Segment, earlier: Segment) -> None:
    """Give a segment the batch table of the same segment, from when it was listed before."""
    if segment.path == earlier.path:
        segment._table = earlier._table  # noqa: SLF001 - what the class keeps


def is_preallocated(
    problem: Problem, source: FileSource, segment: Segment, stop: int | None = None
) -> bool:
    """Return whether bytes without a batch are only what a broker writes next (preallocate=true).

    `inspection.verify.verify` reports them, like an incomplete last batch.

    Args:
        problem: the record reader's problem.
        source: the segment's `.log` file.
        segment: the segment that was read.
        stop: byte position where reading stopped; None for the end of the file.
    """
    end = problem.position + problem.size
    size = source.size if stop is None else stop
    is_tail = problem.code == problems.BAD_SIZE and end >= size and segment.is_active
    return is_tail and problem.is_zeros


_SMALL_LOG = 1 << 16  # bytes; walking a smaller log takes less time than reading its index
_SHOWN = 20  # rows of a table in a notebook
