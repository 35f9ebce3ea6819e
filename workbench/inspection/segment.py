"""One segment of a partition, read-only: the `.log` file and the indexes beside it.

Nothing is read until it is asked for, nothing is ever written, and bad bytes are reported by what
is returned, not raised. A segment can be pickled; what was read is not taken along.

Kafka: org.apache.kafka.storage.internals.log.LogSegment (4.2)
"""

import os
from collections.abc import Iterator
from typing import Any

from workbench.files import offset_index
from workbench.files.names import FileKind
from workbench.files.offset_index import OffsetIndex
from workbench.files.time_index import TimeIndex
from workbench.files.transaction_index import TransactionIndex
from workbench.inspection.entries import FileEntry
from workbench.inspection.html import table_html
from workbench.record.batch_table import BatchTable, scan_batches
from workbench.record.buffers import BufferPool
from workbench.record.reader import ALL_COLUMNS, Chunk, RecordReader, Select
from workbench.record.resync import batch_at
from workbench.record.source import FileSource


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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was read: another process reads it anew."""
        return {**self.__dict__, "_table": None}

    def __repr__(self) -> str:
        return f"<Segment {self.base_offset} of {os.path.dirname(self.path)}, {self.size} bytes>"

    @property
    def path(self) -> str:
        """Path of the `.log` file."""
        return self.files["log"].path

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
        """The batch table. Walked once, and again when the file has changed since.

        Raises:
            OSError: the file cannot be read.
        """
        with FileSource(self.path) as source:
            version = source.version
            if self._table is None or self._table[0] != version:
                self._table = (version, scan_batches(source))
        return self._table[1]

    @property
    def offset_index(self) -> OffsetIndex | None:
        """The sparse offset index with its problems; None when there is no such file."""
        entry = self.files.get("index")
        return OffsetIndex.read(entry.path, self.base_offset, strict=False) if entry else None

    @property
    def time_index(self) -> TimeIndex | None:
        """The time index with its problems; None when there is no such file."""
        entry = self.files.get("timeindex")
        return TimeIndex.read(entry.path, self.base_offset, strict=False) if entry else None

    @property
    def transaction_index(self) -> TransactionIndex | None:
        """The index of aborted transactions with its problems; None when there is no such file."""
        entry = self.files.get("txnindex")
        return TransactionIndex.read(entry.path, self.base_offset, strict=False) if entry else None

    @property
    def next_offset(self) -> int:
        """The offset behind the segment's last whole batch; the base offset when there is none.

        Walks from the last index entry that leads to a batch; from the start when none does. (A
        broker believes the index: one that points behind the data makes it lose the tail.)

        Kafka: LogSegment.readNextOffset (4.2)
        """
        if self._table is not None:
            table = self.batches
        else:
            with FileSource(self.path) as source:
                table = scan_batches(source, self._position_near_end(source))
        return int(table.rows["last_offset"][-1]) + 1 if len(table) else self.base_offset

    def _position_near_end(self, source: FileSource) -> int:
        """Return where a batch of this segment starts, as near to the end as is cheap."""
        entry = self.files.get("index")
        size = source.size
        if entry is None or entry.size == 0 or size <= _SMALL_LOG:
            return 0
        last = offset_index.read_last(entry.path, self.base_offset)
        if last is None or not 0 < last.position < size:
            return 0
        table = scan_batches(source, last.position)
        # An index entry holds the last offset of its batch (since 2.0) or the first (before).
        sound = len(table) and table.rows["last_offset"][0] >= last.offset
        return last.position if sound and table.stop.code <= 1 else 0

    def position_of(self, offset: int) -> int:
        """Return where to start reading for ``offset``: not behind the first batch that reaches it.

        The index tells, and is believed only where a batch with a right CRC stands that begins at
        or before ``offset``; else the answer is 0.

        Kafka: OffsetIndex.lookup
        """
        index = self.offset_index
        position = index.lookup(offset).position if index is not None else 0
        if position == 0:
            return 0
        with FileSource(self.path) as source:
            row = batch_at(source, position)
        if row is None:
            return 0
        # A wrapper of magic 0 or 1 does not tell its base offset; its last one is a stricter bound.
        first = row["last_offset"] if row["magic"] < 2 else row["base_offset"]
        return position if first <= offset else 0

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
            options, check_crc, select, pool: as in `record.reader.RecordReader`.

        Raises:
            OSError: the file cannot be read.
        """
        with FileSource(self.path) as source:
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

    @property
    def largest_timestamp(self) -> int | None:
        """Largest timestamp of a batch in the segment, ms; None without any."""
        stamps = self.batches.column("max_timestamp")
        largest = int(stamps.max()) if len(stamps) else -1
        return None if largest < 0 else largest

    def _repr_html_(self) -> str:
        rows = self.batches.rows[:_SHOWN]
        names = ("position", "size", "base_offset", "last_offset", "record_count", "max_timestamp")
        cells = [[None if row[name] == -1 else int(row[name]) for name in names] for row in rows]
        left = len(self.batches) - len(rows)
        note = f"{left} more batches" if left else None
        title = f"Segment {self.base_offset}, {len(self.batches)} batches"
        return table_html(title, [name.replace("_", " ") for name in names], cells, note)


_SMALL_LOG = 1 << 16  # bytes: a log below is walked whole sooner than its index is asked
_SHOWN = 20  # rows of a table in a notebook
