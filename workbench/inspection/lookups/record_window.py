"""Read records of a segment by row number, decoding only the batches that hold them.

For tables that show a few hundred of millions of rows: the running sum of record counts gives a
row's batch. Batches that cannot be read have no rows. Control batches do.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.layout.attributes import TIMESTAMP_TYPE_NAMES
from workbench.record.buffers import BufferPool
from workbench.record.control import decode_control_record


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """One record; ``None`` where it has no timestamp, key or value. Times in ms since the epoch.

    Attributes:
        batch: row of the record's batch in the segment's batch table.
        control: what a control record is, as text; None for other records.
    """

    offset: int
    timestamp: int | None
    timestamp_type: str | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]
    batch: int
    control: str | None = None


class RecordWindow:
    """The records of ``segment``, numbered from 0.

    Headers of magic 0 and 1 wrappers have no record count: the wrappers are decompressed once,
    when the window is made. Not thread-safe.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.rows: npt.NDArray[Any] = segment.batches.rows
        self._pool = BufferPool()
        counts = np.where(self.rows["problem"] == problems.OK, self.rows["record_count"], 0)
        counts = counts.astype(np.int64)
        wrapped = np.flatnonzero(counts < 0)
        if len(wrapped):
            counts[wrapped] = self._count_wrapped(wrapped)
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    def _count_wrapped(self, wrapped: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return int64[k]: records in each wrapper; 0 in those that cannot be read."""
        counts = dict.fromkeys(self.rows["position"][wrapped].tolist(), 0)
        for chunk in self.segment.read(options=0, pool=self._pool):
            for row in chunk.rows:
                if int(row["position"]) in counts:
                    counts[int(row["position"])] = max(int(row["record_count"]), 0)
        return np.array(list(counts.values()), np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def first_row(self, batch: int) -> int:
        """Return the number of the first record of a row of the batch table."""
        return int(self._starts[batch])

    def batch_of(self, row: int) -> int:
        """Return which row of the batch table holds record number ``row``."""
        return int(np.searchsorted(self._starts, row, side="right")) - 1

    def row_of_offset(self, offset: int) -> int:
        """Return the number of the first record at or after ``offset``; `len()` without one."""
        batch = self.segment.batches.find_offset(offset)
        if batch == len(self.rows):
            return len(self)
        start, stop = self.first_row(batch), int(self._starts[batch + 1])
        return next(
            (start + at for at, r in enumerate(self.read(start, stop)) if r.offset >= offset), stop
        )

    def read(self, start: int, stop: int) -> list[WindowRecord]:
        """Return records [start, stop), limited to those there are.

        A batch whose records turn out unreadable gives none, so the list may be shorter.
        """
        start, stop = max(start, 0), min(stop, len(self))
        if start >= stop:
            return []
        first, last = self.batch_of(start), self.batch_of(stop - 1)
        begin = int(self.rows[first]["position"])
        end = int(self.rows[last]["position"] + self.rows[last]["size"])
        records: list[WindowRecord] = []
        for chunk in self.segment.read(begin, end, pool=self._pool):
            columns = chunk.columns
            # Columns without records are falsy, too.
            assert columns.keys is not None
            assert columns.values is not None
            assert columns.headers is not None
            batches = np.searchsorted(self.rows["position"], chunk.rows["position"])
            numbers = self._numbers(batches, columns.batch)
            for at in np.flatnonzero((numbers >= start) & (numbers < stop)).tolist():
                batch = int(columns.batch[at])
                stamp = int(columns.timestamps[at])
                key, value = columns.keys.item(at), columns.values.item(at)
                is_control = bool(chunk.rows[batch]["is_control"])
                records.append(
                    WindowRecord(
                        int(columns.offsets[at]),
                        None if stamp == -1 else stamp,
                        TIMESTAMP_TYPE_NAMES.get(int(chunk.rows[batch]["timestamp_type"])),
                        key,
                        value,
                        columns.headers.item(at),
                        int(batches[batch]),
                        _in_words(key, value) if is_control else None,
                    )
                )
        return records

    def _numbers(
        self, batches: npt.NDArray[np.int64], batch: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int64]:
        """Return int64[n]: the row number of each record of a chunk."""
        within = np.arange(len(batch)) - np.searchsorted(batch, batch)
        numbers: npt.NDArray[np.int64] = self._starts[batches[batch]] + within
        return numbers


def _in_words(key: bytes | None, value: bytes | None) -> str:
    """Say what a control record is, or why that cannot be read."""
    try:
        return str(decode_control_record(key, value))
    except CorruptRecordError as error:
        return f"control record: {error.problem}"
