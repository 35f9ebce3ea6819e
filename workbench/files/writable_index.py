"""Offset and time index that entries are appended to.

What the entries mean stand in `offset_index` and `time_index`, which read files whole.

Kafka: OffsetIndex, TimeIndex, LazyIndex (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptIndexError, InvalidOffsetError
from workbench.files.entry_columns import taken
from workbench.files.entry_file import MOST_BEHIND, EntryFile
from workbench.files.index_search import largest_lower_bound
from workbench.files.offset_index import OffsetPosition
from workbench.files.time_index import NO_TIMESTAMP, TimestampOffset
from workbench.layout.index_entries import OFFSET_ENTRY, TIME_ENTRY

_OFFSET_SIZE: Final = OFFSET_ENTRY.itemsize
_TIME_SIZE: Final = TIME_ENTRY.itemsize


class WritableOffsetIndex(EntryFile):
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

    def entry_at(self, slot: int) -> OffsetPosition:
        """Return an entry by its number.

        Raises:
            IndexError: there are fewer.

        Kafka: OffsetIndex.entry (4.2)
        """
        columns = self._load()
        if not 0 <= slot < self._count:
            raise IndexError(f"{self.path}: no entry {slot}, there are {self._count}")
        return OffsetPosition(self.base_offset + columns.key_view[slot], columns.value_view[slot])

    def append(self, offset: int, position: int) -> None:
        """Append an entry.

        Raises:
            ValueError: the index is full.
            InvalidOffsetError: ``offset`` is not above that of the last entry.
            OffsetOverflowError: ``offset`` is too far from the base offset.

        Kafka: OffsetIndex.append (4.2)
        """
        columns = self._appended or self._to_append()
        count = self._count
        if count >= self._max_entries:
            raise ValueError(f"{self.path}: the index is full, it has {count} entries")
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
        """Append entries, int64[n] each, written at once: as `append` one after the other does.

        Raises:
            ValueError, InvalidOffsetError, OffsetOverflowError: see `append`; no entry is added.
        """
        if not len(offsets):
            return
        columns = self._appended or self._to_append()
        count, end = self._count, self._count + len(offsets)
        if end > self._max_entries:
            msg = f"{self.path}: the index is full, {self._max_entries} entries have room"
            raise ValueError(msg)
        if (count and offsets[0] <= self._last_offset) or (offsets[1:] <= offsets[:-1]).any():
            raise InvalidOffsetError(
                f"{self.path}: offsets do not ascend behind the last one, {self._last_offset}"
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

    def lookup_many(
        self, target_offsets: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return offsets and positions, int64[n] each, of what `lookup` gives for int64[n]."""
        columns = self._load()
        slots = columns.lower_slots(target_offsets - self.base_offset, self._count)
        return (
            taken(columns.keys, slots, 0) + self.base_offset,
            taken(columns.values, slots, 0),
        )

    def fetch_upper_bound(self, position: int, size: int) -> OffsetPosition | None:
        """Return an entry at or behind ``position + size``; None if none is.

        Its offset bounds the records of a fetch of ``size`` bytes from ``position``.

        Kafka: OffsetIndex.fetchUpperBoundOffset (4.2)
        """
        columns = self._load()
        slot = columns.upper_slot(position + size, self._count)
        if slot < 0:
            return None
        return OffsetPosition(self.base_offset + columns.key_view[slot], columns.value_view[slot])

    def truncate_to(self, offset: int) -> None:
        """Remove the entries for ``offset`` and above.

        Kafka: OffsetIndex.truncateTo (4.2)
        """
        with self._lock:
            view = self._load().key_view
            target = offset - self.base_offset
            slot = largest_lower_bound(view, self._count, target, _OFFSET_SIZE)
            self._cut(slot if slot >= 0 and view[slot] == target else slot + 1)

    def sanity_check(self) -> None:
        """Look at the last entry and the size.

        Raises:
            CorruptIndexError: they cannot be right.

        Kafka: OffsetIndex.sanityCheck (4.2)
        """
        if self.entries and self._last_offset < self.base_offset:
            problem = f"the last offset is {self._last_offset}, below {self.base_offset}"
            raise CorruptIndexError(self.path, (self._count - 1) * _OFFSET_SIZE, problem)
        super().sanity_check()

    def _note_last(self) -> None:
        self._last_offset = self.base_offset
        if self._count:
            columns = self._columns
            if columns is None:
                self._last_offset += int.from_bytes(self._read_last()[:4], signed=True)
            else:
                self._last_offset += columns.key_view[self._count - 1]


class WritableTimeIndex(EntryFile):
    """The time index of a segment: from a timestamp to the offset of a batch.

    One slot is kept for the entry that is written when the segment is done.

    Kafka: TimeIndex (4.2)
    """

    entry = TIME_ENTRY
    _last = TimestampOffset(NO_TIMESTAMP, 0)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for an entry but the segment's last.

        Kafka: TimeIndex.isFull (4.2)
        """
        if self._file_size < 0:
            self._open()
        return self._count >= self._max_entries - 1

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry; (-1, base offset) if there is none.

        Kafka: TimeIndex.lastEntry (4.2)
        """
        self._open()
        return self._last

    def entry_at(self, slot: int) -> TimestampOffset:
        """Return an entry by its number.

        Raises:
            IndexError: there are fewer.

        Kafka: TimeIndex.entry (4.2)
        """
        columns = self._load()
        if not 0 <= slot < self._count:
            raise IndexError(f"{self.path}: no entry {slot}, there are {self._count}")
        return TimestampOffset(columns.key_view[slot], self.base_offset + columns.value_view[slot])

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> None:
        """Append an entry if ``timestamp`` (ms) is above that of the last one.

        Args:
            timestamp: the largest so far; -1 adds nothing.
            offset: of the batch that has it.
            skip_full_check: use the last slot too.

        Raises:
            ValueError: the index is full, or ``timestamp`` is below that of the last entry.
            InvalidOffsetError: ``offset`` is below that of the last entry.
            OffsetOverflowError: ``offset`` is too far from the base offset.

        Kafka: TimeIndex.maybeAppend (4.2)
        """
        columns = self._appended or self._to_append()
        count = self._count
        last_timestamp, last_offset = self._last
        if not skip_full_check and count >= self._max_entries - 1:
            raise ValueError(f"{self.path}: the index is full, it has {count} entries")
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
            raise ValueError(f"{self.path}: there is no room behind {count} entries")
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
        """Append entries, int64[n] each, written at once: as `maybe_append` one by one does.

        Entries whose timestamp is that of the entry before are left out.

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
            raise InvalidOffsetError(
                f"{self.path}: offsets fall behind the last one, {last_offset}"
            )
        if (timestamps < before).any():
            msg = f"{self.path}: timestamps fall behind the last one, {last_timestamp}"
            raise ValueError(msg)
        added = timestamps > before
        end = count + int(added.sum())
        if end - int(added[-1]) >= self._max_entries - 1:  # before the last of them
            msg = f"{self.path}: the index is full, {self._max_entries - 1} entries have room"
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

    def lookup_many(
        self, target_timestamps: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return timestamps and offsets, int64[n] each, of what `lookup` gives for int64[n]."""
        columns = self._load()
        slots = columns.lower_slots(target_timestamps, self._count)
        return (
            taken(columns.keys, slots, NO_TIMESTAMP),
            taken(columns.values, slots, 0) + self.base_offset,
        )

    def truncate_to(self, offset: int) -> None:
        """Remove the entries for ``offset`` and above.

        Kafka: TimeIndex.truncateTo (4.2)
        """
        with self._lock:
            view = self._load().value_view
            target = offset - self.base_offset
            slot = largest_lower_bound(view, self._count, target, _TIME_SIZE)
            self._cut(slot if slot >= 0 and view[slot] == target else slot + 1)

    def sanity_check(self) -> None:
        """Look at first and last entry and the size.

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

    def _note_last(self) -> None:
        self._last = TimestampOffset(NO_TIMESTAMP, self.base_offset)
        if self._count:
            columns = self._columns
            if columns is None:
                entry = self._read_last()
                timestamp = int.from_bytes(entry[:8], signed=True)
                relative = int.from_bytes(entry[8:], signed=True)
            else:
                timestamp = columns.key_view[self._count - 1]
                relative = columns.value_view[self._count - 1]
            self._last = TimestampOffset(timestamp, self.base_offset + relative)
