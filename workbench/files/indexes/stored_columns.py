"""Search the entries of an index in its file, for a file too large to hold in memory.

A healthy index has some megabytes. A damaged one can have gigabytes, mostly a hole: here each
comparison of a search reads one entry, some thirty for the largest file.

Kafka: AbstractIndex.largestLowerBoundSlotFor, smallestUpperBoundSlotFor (4.2)
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, overload

import numpy as np

from workbench.file_system.local import File
from workbench.files.indexes.search import largest_lower_bound, probed_slots, smallest_upper_bound


class StoredColumn(Sequence[int]):
    """One of the two numbers of each entry, read from the file one by one.

    Args:
        file: the index.
        entry: the fields of an entry.
        field: the one to read.
        count: number of entries.
    """

    def __init__(self, file: File, entry: np.dtype[Any], field: str, count: int) -> None:
        fields: Mapping[str, Any] = entry.fields or {}
        self._file = file
        self._count = count
        self._entry_size: Final = entry.itemsize
        self._size: Final = fields[field][0].itemsize
        self._start: Final = fields[field][1]

    @overload
    def __getitem__(self, slot: int) -> int: ...
    @overload
    def __getitem__(self, slot: slice) -> Sequence[int]: ...
    def __getitem__(self, slot: int | slice) -> int | Sequence[int]:
        """Return the number in a slot; 0 if another program truncated the file before it."""
        if isinstance(slot, slice):
            return [self[each] for each in range(*slot.indices(self._count))]
        position = slot * self._entry_size + self._start
        return int.from_bytes(self._file.read_bytes(position, self._size), signed=True)

    def __len__(self) -> int:
        return self._count


class StoredColumns:
    """The two numbers of each entry, searched in the file; see `EntryColumns`.

    Args:
        file: the index, opened when it is first read.
        entry: the fields of an entry.
        count: number of entries.

    Attributes:
        key_view, value_view: the two numbers of all entries.
    """

    def __init__(self, file: File, entry: np.dtype[Any], count: int) -> None:
        key, value = entry.names or ()
        self.key_view = StoredColumn(file, entry, key, count)
        self.value_view = StoredColumn(file, entry, value, count)
        self._entry_size = entry.itemsize

    def lower_slot(self, target: int, count: int) -> int:
        """Return the slot of the last of ``count`` keys at or before ``target``; -1 if none is."""
        return largest_lower_bound(self.key_view, count, target, self._entry_size)

    def probed_slots(self, target: int, count: int) -> list[int]:
        """Return the slots that a broker compares with ``target`` on its way to `lower_slot`."""
        return probed_slots(self.key_view, count, target, self._entry_size)

    def upper_slot(self, target: int, count: int) -> int:
        """Return the slot of the first of ``count`` values at or after ``target``; -1 if none."""
        return smallest_upper_bound(self.value_view, count, target, self._entry_size)
