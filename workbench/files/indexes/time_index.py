"""Time index: the offset in a segment where a search for records of a time begins.

A run of 12-byte entries (`TIME_ENTRY`). An entry has the largest timestamp up to its offset.
Timestamps ascend strictly, offsets never fall. Sparse, without checksum, can be rebuilt from the
log. The time index of a rolled or closed segment ends with the segment's largest timestamp.

The offset is the last of the batch with that timestamp; up to 3.7 a leader wrote the record's own.

Kafka: TimeIndex (4.0); since 0.10.1
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptIndexError, InvalidOffsetError
from workbench.file_system.source import THIS_MACHINE, Files
from workbench.files.indexes.entry_columns import EntryColumns
from workbench.files.indexes.entry_file import MOST_BEHIND, EntryFile
from workbench.files.indexes.entry_run import (
    EntryProblems,
    EntryRun,
    IndexFile,
    falls,
    read_last_entry,
    relative_offset,
)
from workbench.files.indexes.stored_columns import StoredColumns
from workbench.files.reading import FileProblem
from workbench.layout.attributes import NO_TIMESTAMP
from workbench.layout.index_entries import TIME_ENTRY
from workbench.layout.structure import as_struct

_TIME_SIZE: Final = TIME_ENTRY.itemsize
_ENTRY: Final = as_struct(TIME_ENTRY)


class TimestampOffset(NamedTuple):
    """A timestamp in ms and its offset; (-1, base offset) means none."""

    timestamp: int
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndex(IndexFile):
    """The entries of one .timeindex file; `len()` is the number in use.

    Attributes:
        base_offset: the segment's base offset.
        timestamps: int64[n], ms; ascending in a sound index.
        offsets: int64[n]; never falling in a sound index.
        file_size: in bytes.
        slack: bytes of zeros after the entries, allocated for more of them.
        problems: see `reading`. A broker since 2.3 looks for none of them.
        ascends: whether timestamps ascend, and offsets do not fall.
    """

    base_offset: int
    timestamps: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    file_size: int
    slack: int = 0
    problems: tuple[FileProblem, ...] = ()
    ascends: bool = field(default=True, repr=False)

    entry = TIME_ENTRY
    table = "time_index"

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
        wanted = "a timestamp above the previous entry's, and an offset not below it"
        problems.add_where("wrong order", falling, wanted)
        return cls(
            base_offset=base_offset,
            timestamps=timestamps,
            offsets=relative_offsets + base_offset,
            file_size=run.file_size,
            slack=run.slack,
            problems=problems.found(),
            ascends=not np.count_nonzero(falling),
        )

    def encode(self) -> bytes:
        """Return the bytes of the entries in use, as in the trimmed file."""
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
        not ascend always gives (-1, base offset).

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
        OffsetOverflowError: ``offset`` is before the segment or too far after its start.
    """
    return _ENTRY.pack(timestamp, relative_offset(offset, base_offset))


def read_last(path: str, base_offset: int, fs: Files = THIS_MACHINE) -> TimestampOffset | None:
    """Return the last entry of an index file without reading the rest; None if it has none.

    Raises:
        OSError: the file cannot be read.
    """
    data = read_last_entry(path, TIME_ENTRY.itemsize, fs)
    if not data:
        # See TimeIndex: a single entry may be all zeros.
        alone = fs.size_of(path) == TIME_ENTRY.itemsize
        return TimestampOffset(0, base_offset) if alone else None
    timestamp, relative = _ENTRY.unpack(data)
    return TimestampOffset(timestamp, base_offset + relative)


class WritableTimeIndex(EntryFile[TimestampOffset]):
    """The time index of a segment: from a timestamp to the offset of a batch.

    One slot is reserved for the entry that is written when the segment is rolled or closed.

    Kafka: TimeIndex (4.2)
    """

    entry = TIME_ENTRY
    reserved = 1
    _last = TimestampOffset(NO_TIMESTAMP, 0)

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry; (-1, base offset) if there is none.

        Kafka: TimeIndex.lastEntry (4.2)
        """
        if self._file_size < 0:
            self._open()
        return self._last

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> None:
        """Append an entry if ``timestamp`` (ms) is above the last entry's.

        Args:
            timestamp: the largest so far; -1 adds nothing.
            offset: the offset of the batch that has it.
            skip_full_check: use the last slot too.

        Raises:
            ValueError: the index is full, or ``timestamp`` is below the last entry's.
            InvalidOffsetError: ``offset`` is below the last entry's.
            OffsetOverflowError: ``offset`` is too far from the base offset.

        Kafka: TimeIndex.maybeAppend (4.2)
        """
        columns = self._appended or self._to_append()
        count = self._count
        last_timestamp, last_offset = self._last
        if not skip_full_check and count >= self._max_entries - 1:
            raise self._full()
        if count and offset < last_offset:
            raise InvalidOffsetError(
                f"{self.path}: offset {offset} is below the last one, {last_offset}"
            )
        if count and timestamp < last_timestamp:
            msg = f"{self.path}: timestamp {timestamp} is below the last one, {last_timestamp}"
            raise ValueError(msg)
        if timestamp <= last_timestamp:
            return
        if count >= self._max_entries:
            raise ValueError(f"{self.path}: no room for another entry, the index has {count}")
        relative = self._relative(offset)
        if count == len(columns.keys):
            columns = self._room_for(columns, count + 1)
        columns.key_view[count] = timestamp
        columns.value_view[count] = relative
        self._last = TimestampOffset(timestamp, offset)
        self._count = count + 1
        if count + 1 - self._written >= MOST_BEHIND:
            self.write_out()

    def append_many(
        self, timestamps: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]
    ) -> None:
        """Append entries, int64[n] each, and write them at once; otherwise like `maybe_append`.

        Entries with the same timestamp as the previous entry are left out.

        Raises:
            ValueError, InvalidOffsetError, OffsetOverflowError: see `maybe_append`; no entry is
                added.
        """
        if not len(timestamps):
            return
        columns = self._appended or self._to_append()
        count = self._count
        last_timestamp, last_offset = self._last
        if not count:
            last_offset = int(offsets[0])
        before = np.concatenate([[last_timestamp], timestamps[:-1]])
        if (offsets < np.concatenate([[last_offset], offsets[:-1]])).any():
            raise InvalidOffsetError(f"{self.path}: offsets fall after the last one, {last_offset}")
        if (timestamps < before).any():
            msg = f"{self.path}: timestamps fall after the last one, {last_timestamp}"
            raise ValueError(msg)
        added = timestamps > before
        end = count + int(added.sum())
        if end - int(added[-1]) >= self._max_entries - 1:  # before the last of them
            msg = f"{self.path}: the index is full, it has room for {self._max_entries - 1} entries"
            raise ValueError(msg)
        if end == count:
            return
        kept = offsets[added]
        self._relative(int(kept[0]))
        self._relative(int(kept[-1]))
        columns = self._room_for(columns, end)
        columns.keys[count:end] = timestamps[added]
        columns.values[count:end] = kept - self.base_offset
        self._last = TimestampOffset(int(timestamps[-1]), int(kept[-1]))
        self._count = end
        self.write_out()

    def lookup(self, target_timestamp: int) -> TimestampOffset:
        """Return the last entry at or before ``target_timestamp`` (ms).

        Returns:
            (-1, base offset) if no entry is.

        Kafka: TimeIndex.lookup (4.2)
        """
        columns = self._columns or self._load()
        slot = columns.lower_slot(target_timestamp, self._count)
        if slot < 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(columns.key_view[slot], self.base_offset + columns.value_view[slot])

    def probes(self, target_timestamp: int) -> list[tuple[int, TimestampOffset]]:
        """Return slot and entry of each comparison that a broker makes in `lookup`."""
        slots = self._load().probed_slots(target_timestamp, self._count)
        return [(slot, self.entry_at(slot)) for slot in slots]

    def sanity_check(self) -> None:
        """Check the first and last entry and the size.

        Raises:
            CorruptIndexError: they cannot be right.

        Kafka: TimeIndex.sanityCheck (4.2)
        """
        if self.entries:
            last_at = (self._count - 1) * _TIME_SIZE
            first = self.entry_at(0).timestamp
            if self._last.timestamp < first:
                problem = f"the last timestamp is {self._last.timestamp}, the first {first}"
                raise CorruptIndexError(self.path, last_at, problem)
            if self._last.offset < self.base_offset:
                problem = f"the last offset is {self._last.offset}, below {self.base_offset}"
                raise CorruptIndexError(self.path, last_at, problem)
        super().sanity_check()

    def _parse_entry(self, key: int, value: int) -> TimestampOffset:
        return TimestampOffset(key, self.base_offset + value)

    def _offsets(self, columns: EntryColumns | StoredColumns) -> Sequence[int]:
        return columns.value_view

    def _note_last(self) -> None:
        self._last = TimestampOffset(NO_TIMESTAMP, self.base_offset)
        if self._count:
            columns = self._columns
            if columns is None:
                timestamp, relative = _ENTRY.unpack(self._read_last())
            else:
                timestamp = columns.key_view[self._count - 1]
                relative = columns.value_view[self._count - 1]
            self._last = TimestampOffset(timestamp, self.base_offset + relative)
