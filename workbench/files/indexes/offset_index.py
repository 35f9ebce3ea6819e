"""Offset index: the position in a segment's .log file to start reading from for an offset.

A run of 8-byte entries (`OFFSET_ENTRY`), offsets and positions both ascending. Sparse: one entry
per `index.interval.bytes` of log or more, so a lookup finds a position at or before the wanted
batch and the caller reads from there. No checksum; it can be rebuilt from the log.

An entry's offset is the first of the batch at its position up to Kafka 1.1, the last since 2.0.
Either way no batch before the position reaches the offset, so lookups are the same for both.

Kafka: OffsetIndex (4.0)
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
from workbench.layout.index_entries import OFFSET_ENTRY
from workbench.layout.structure import as_struct

_OFFSET_SIZE: Final = OFFSET_ENTRY.itemsize
_ENTRY: Final = as_struct(OFFSET_ENTRY)


class OffsetPosition(NamedTuple):
    """A record offset and the position of a batch in the .log file."""

    offset: int
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class OffsetIndex(IndexFile):
    """The entries of one .index file; `len()` is the number in use.

    Attributes:
        base_offset: the segment's base offset.
        offsets: int64[n]; ascending in a sound index.
        positions: int64[n]; ascending in a sound index.
        file_size: in bytes.
        slack: bytes of zeros after the entries, allocated for more of them.
        problems: see `reading`. A broker since 2.3 looks for none of them.
        ascends: whether offsets and positions both ascend.
    """

    base_offset: int
    offsets: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    file_size: int
    slack: int = 0
    problems: tuple[FileProblem, ...] = ()
    ascends: bool = field(default=True, repr=False)

    entry = OFFSET_ENTRY
    table = "offset_index"

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        entries = np.frombuffer(run.data, OFFSET_ENTRY)
        relative_offsets = entries["relative_offset"].astype(np.int64)
        positions = entries["position"].astype(np.int64)
        problems = EntryProblems(
            run,
            OFFSET_ENTRY.itemsize,
            lambda slot: f"relative offset {relative_offsets[slot]} at position {positions[slot]}",
        )
        falling = falls(relative_offsets, or_stays=True) | falls(positions, or_stays=True)
        problems.add_where("below base offset", relative_offsets < 0, "no negative offset")
        problems.add_where("bad value", positions < 0, "no negative position")
        problems.add_where("wrong order", falling, "both above the previous entry's")
        return cls(
            base_offset=base_offset,
            offsets=relative_offsets + base_offset,
            positions=positions,
            file_size=run.file_size,
            slack=run.slack,
            problems=problems.found(),
            ascends=not np.count_nonzero(falling),
        )

    def encode(self) -> bytes:
        """Return the bytes of the entries in use, as in the trimmed file."""
        entries = np.empty(len(self), OFFSET_ENTRY)
        entries["relative_offset"] = self.offsets - self.base_offset
        entries["position"] = self.positions
        return entries.tobytes()

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, slot: int) -> OffsetPosition:
        return OffsetPosition(int(self.offsets[slot]), int(self.positions[slot]))

    def __iter__(self) -> Iterator[OffsetPosition]:
        return map(OffsetPosition, self.offsets.tolist(), self.positions.tolist())

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the segment's base offset if there is none."""
        return int(self.offsets[-1]) if len(self) else self.base_offset

    def lookup(self, target_offset: int) -> OffsetPosition:
        """Return the last entry at or before ``target_offset``; the segment's start if none is.

        An index whose entries do not ascend always gives the segment's start: slow, but never past
        the wanted batch. The index of another log may ascend and still be wrong; only the batches
        show that.

        Kafka: OffsetIndex.lookup (4.0)
        """
        if self.ascends:
            slot = int(self.offsets.searchsorted(target_offset, "right")) - 1
            if slot >= 0:
                return self[slot]
        return OffsetPosition(self.base_offset, 0)

    def fetch_upper_bound(self, position: int, size: int) -> OffsetPosition | None:
        """Return the first entry at or after ``position + size``; None if none is.

        Its offset bounds the records of a fetch of ``size`` bytes from ``position``.

        Kafka: OffsetIndex.fetchUpperBoundOffset (4.0)
        """
        if not self.ascends:
            return None
        slot = int(self.positions.searchsorted(position + size, "left"))
        return self[slot] if slot < len(self) else None


def encode_entry(base_offset: int, offset: int, position: int) -> bytes:
    """Return the bytes of one entry.

    Raises:
        OffsetOverflowError: ``offset`` is before the segment or too far after its start.
    """
    return _ENTRY.pack(relative_offset(offset, base_offset), position)


def read_last(path: str, base_offset: int, fs: Files = THIS_MACHINE) -> OffsetPosition | None:
    """Return the last entry of an index file without reading the rest; None if it has none.

    Raises:
        OSError: the file cannot be read.
    """
    data = read_last_entry(path, OFFSET_ENTRY.itemsize, fs)
    if not data:
        return None
    relative, position = _ENTRY.unpack(data)
    return OffsetPosition(base_offset + relative, position)


class WritableOffsetIndex(EntryFile[OffsetPosition]):
    """The offset index of a segment: from a record's offset to a position in the `.log`.

    Kafka: OffsetIndex (4.2)
    """

    entry = OFFSET_ENTRY
    _last_offset = 0

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset if there is none.

        Kafka: OffsetIndex.lastOffset (4.2)
        """
        self._open()
        return self._last_offset

    def append(self, offset: int, position: int) -> None:
        """Append an entry.

        Raises:
            ValueError: the index is full.
            InvalidOffsetError: ``offset`` is not above the last entry's.
            OffsetOverflowError: ``offset`` is too far from the base offset.

        Kafka: OffsetIndex.append (4.2)
        """
        columns = self._appended or self._to_append()
        count = self._count
        if count >= self._max_entries:
            raise self._full()
        if count and offset <= self._last_offset:
            raise InvalidOffsetError(
                f"{self.path}: offset {offset} is not above the last one, {self._last_offset}"
            )
        relative = self._relative(offset)
        if count == len(columns.keys):
            columns = self._room_for(columns, count + 1)
        columns.key_view[count] = relative
        columns.value_view[count] = position
        if count and position <= columns.value_view[count - 1]:
            columns.values_ascend = False
        self._last_offset = offset
        self._count = count + 1
        if count + 1 - self._written >= MOST_BEHIND:
            self.write_out()

    def append_many(self, offsets: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]) -> None:
        """Append entries, int64[n] each, and write them at once; otherwise like `append` for each.

        Raises:
            ValueError, InvalidOffsetError, OffsetOverflowError: see `append`; no entry is added.
        """
        if not len(offsets):
            return
        columns = self._appended or self._to_append()
        count, end = self._count, self._count + len(offsets)
        if end > self._max_entries:
            msg = f"{self.path}: the index is full, it has room for {self._max_entries} entries"
            raise ValueError(msg)
        if (count and offsets[0] <= self._last_offset) or (offsets[1:] <= offsets[:-1]).any():
            raise InvalidOffsetError(
                f"{self.path}: offsets do not ascend after the last one, {self._last_offset}"
            )
        self._relative(int(offsets[0]))
        self._relative(int(offsets[-1]))
        columns = self._room_for(columns, end)
        columns.keys[count:end] = offsets - self.base_offset
        columns.values[count:end] = positions
        start = max(count - 1, 0)
        if (columns.values[start + 1 : end] <= columns.values[start : end - 1]).any():
            columns.values_ascend = False
        self._last_offset = int(offsets[-1])
        self._count = end
        self.write_out()

    def lookup(self, target_offset: int) -> OffsetPosition:
        """Return the last entry at or before ``target_offset``; the segment's start if none is.

        Kafka: OffsetIndex.lookup (4.2)
        """
        columns = self._columns or self._load()
        slot = columns.lower_slot(target_offset - self.base_offset, self._count)
        if slot < 0:
            return OffsetPosition(self.base_offset, 0)
        return OffsetPosition(self.base_offset + columns.key_view[slot], columns.value_view[slot])

    def probes(self, target_offset: int) -> list[tuple[int, OffsetPosition]]:
        """Return slot and entry of each comparison that a broker makes in `lookup`."""
        slots = self._load().probed_slots(target_offset - self.base_offset, self._count)
        return [(slot, self.entry_at(slot)) for slot in slots]

    def fetch_upper_bound(self, position: int, size: int) -> OffsetPosition | None:
        """Return an entry at or after ``position + size``; None if none is.

        Its offset bounds the records of a fetch of ``size`` bytes from ``position``.

        Kafka: OffsetIndex.fetchUpperBoundOffset (4.2)
        """
        columns = self._load()
        slot = columns.upper_slot(position + size, self._count)
        if slot < 0:
            return None
        return OffsetPosition(self.base_offset + columns.key_view[slot], columns.value_view[slot])

    def sanity_check(self) -> None:
        """Check the last entry and the size.

        Raises:
            CorruptIndexError: they cannot be right.

        Kafka: OffsetIndex.sanityCheck (4.2)
        """
        if self.entries and self._last_offset < self.base_offset:
            problem = f"the last offset is {self._last_offset}, below {self.base_offset}"
            raise CorruptIndexError(self.path, (self._count - 1) * _OFFSET_SIZE, problem)
        super().sanity_check()

    def _parse_entry(self, key: int, value: int) -> OffsetPosition:
        return OffsetPosition(self.base_offset + key, value)

    def _offsets(self, columns: EntryColumns | StoredColumns) -> Sequence[int]:
        return columns.key_view

    def _note_last(self) -> None:
        self._last_offset = self.base_offset
        if self._count:
            columns = self._columns
            if columns is None:
                self._last_offset += _ENTRY.unpack(self._read_last())[0]
            else:
                self._last_offset += columns.key_view[self._count - 1]
