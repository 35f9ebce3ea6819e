"""Time index: the offset in a segment from which on to look for records of a time.

A run of 12-byte entries (`TIME_ENTRY`). An entry says: the largest timestamp up to this offset is
this. Timestamps ascend strictly, offsets never fall. Sparse, without checksum, can be rebuilt from
the log. A segment that is no longer written ends its time index with its largest timestamp.

The offset is the last of the batch with that timestamp; up to 3.7 a leader wrote the record's own.

Kafka: TimeIndex (4.0); since 0.10.1
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.files.entry_run import (
    EntryProblems,
    EntryRun,
    IndexFile,
    falls,
    read_last_entry,
    relative_offset,
)
from workbench.files.reading import Problem
from workbench.layout.index_entries import TIME_ENTRY
from workbench.layout.structure import as_struct

NO_TIMESTAMP: Final = -1

_ENTRY: Final = as_struct(TIME_ENTRY)


class TimestampOffset(NamedTuple):
    """A timestamp in ms and the offset it belongs to; (-1, base offset) stands for none."""

    timestamp: int
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndex(IndexFile):
    """The entries of one .timeindex file; `len()` is the number in use.

    Attributes:
        base_offset: of the segment.
        timestamps: int64[n], ms; ascending in a sound index.
        offsets: int64[n]; never falling in a sound index.
        file_size: in bytes.
        slack: bytes of zeros behind the entries, allocated for more of them.
        problems: see `reading`. A broker since 2.3 looks for none of them.
        ascends: whether timestamps do, and offsets do not fall.
    """

    base_offset: int
    timestamps: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    file_size: int
    slack: int = 0
    problems: tuple[Problem, ...] = ()
    ascends: bool = field(default=True, repr=False)

    entry = TIME_ENTRY

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        if run.file_size == TIME_ENTRY.itemsize:
            # Never allocated so small: twelve zeros are an entry for 1970 at the base offset.
            run = run._replace(data=run.data or bytes(run.slack), slack=0)
        entries = np.frombuffer(run.data, TIME_ENTRY)
        timestamps = entries["timestamp"].astype(np.int64)
        relative_offsets = entries["relative_offset"].astype(np.int64)
        problems = EntryProblems(
            run,
            TIME_ENTRY.itemsize,
            lambda slot: f"{timestamps[slot]} ms at relative offset {relative_offsets[slot]}",
        )
        falling = falls(timestamps, or_stays=True) | falls(relative_offsets, or_stays=False)
        problems.add_where("below base offset", relative_offsets < 0, "no negative offset")
        problems.add_where("bad value", timestamps < 0, "no negative timestamp")
        wanted = "a later time than in the entry before, at its offset or above"
        problems.add_where("wrong order", falling, wanted)
        return cls(
            base_offset=base_offset,
            timestamps=timestamps,
            offsets=relative_offsets + base_offset,
            file_size=run.file_size,
            slack=run.slack,
            problems=problems.found(),
            ascends=not falling.any(),
        )

    def encode(self) -> bytes:
        """Return the bytes of the entries in use, as the file holds them once it is cut to size."""
        entries = np.empty(len(self), TIME_ENTRY)
        entries["timestamp"] = self.timestamps
        entries["relative_offset"] = self.offsets - self.base_offset
        return entries.tobytes()

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, slot: int) -> TimestampOffset:
        return TimestampOffset(int(self.timestamps[slot]), int(self.offsets[slot]))

    def __iter__(self) -> Iterator[TimestampOffset]:
        return map(TimestampOffset, self.timestamps.tolist(), self.offsets.tolist())

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry; (-1, base offset) if there is none."""
        return self[-1] if len(self) else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def lookup(self, target_timestamp: int) -> TimestampOffset:
        """Return the last entry at or before ``target_timestamp``; (-1, base offset) if none is.

        No record before the entry's offset is later than its timestamp. An index whose entries do
        not ascend always answers (-1, base offset).

        Args:
            target_timestamp: ms.

        Kafka: TimeIndex.lookup (4.0)
        """
        if self.ascends:
            slot = int(self.timestamps.searchsorted(target_timestamp, "right")) - 1
            if slot >= 0:
                return self[slot]
        return TimestampOffset(NO_TIMESTAMP, self.base_offset)


def encode_entry(base_offset: int, timestamp: int, offset: int) -> bytes:
    """Return the bytes of one entry.

    Raises:
        OffsetOverflowError: ``offset`` is before the segment or too far behind its start.
    """
    return _ENTRY.pack(timestamp, relative_offset(offset, base_offset))


def read_last(path: str, base_offset: int) -> TimestampOffset | None:
    """Return the last entry of an index file without reading the rest; None if it has none.

    Raises:
        OSError: the file cannot be read.
    """
    data = read_last_entry(path, TIME_ENTRY.itemsize)
    if not data:
        # See TimeIndex: a single entry may be all zeros.
        alone = os.path.getsize(path) == TIME_ENTRY.itemsize
        return TimestampOffset(0, base_offset) if alone else None
    timestamp, relative = _ENTRY.unpack(data)
    return TimestampOffset(timestamp, base_offset + relative)
