"""Hold the entries of an index in memory, and search them as a broker searches the file.

Kafka: AbstractIndex.largestLowerBoundSlotFor, smallestUpperBoundSlotFor (4.2)
"""

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.files.indexes.search import (
    NO_SLOT,
    largest_lower_bound,
    probed_slots,
    smallest_upper_bound,
)

Integers = npt.NDArray[np.signedinteger[Any]]


class EntryColumns:
    """The two numbers of each entry, one column each.

    Single numbers are read and searched through views, several times as fast as through arrays.

    Args:
        keys, values: in native byte order, with room for more entries than are in use.
        count: number of entries in use.
        entry_size: bytes per entry in the file.

    Attributes:
        keys, values: as given.
        key_view, value_view: the same memory.
        keys_ascend, values_ascend: whether each number in use is above the one before. In a damaged
            file perhaps not; then the search repeats a broker's exact steps.
    """

    __slots__ = (
        "entry_size",
        "key_view",
        "keys",
        "keys_ascend",
        "value_view",
        "values",
        "values_ascend",
    )

    def __init__(self, keys: Integers, values: Integers, count: int, entry_size: int) -> None:
        self.keys = keys
        self.values = values
        self.entry_size = entry_size
        self.key_view = memoryview(keys)
        self.value_view = memoryview(values)
        self.keys_ascend = self.values_ascend = True
        if count > 1:
            self.keys_ascend = bool((keys[1:count] > keys[: count - 1]).all())
            self.values_ascend = bool((values[1:count] > values[: count - 1]).all())

    @property
    def both(self) -> tuple[Integers, Integers]:
        """Keys and values."""
        return self.keys, self.values

    def grown(self, count: int, room: int) -> "EntryColumns":
        """Return columns with the first ``count`` entries and room for ``room`` in all."""
        keys, values = np.empty(room, self.keys.dtype), np.empty(room, self.values.dtype)
        keys[:count], values[:count] = self.keys[:count], self.values[:count]
        columns = EntryColumns(keys, values, 0, self.entry_size)
        columns.keys_ascend, columns.values_ascend = self.keys_ascend, self.values_ascend
        return columns

    def lower_slot(self, target: int, count: int) -> int:
        """Return the slot of the last of ``count`` keys at or before ``target``; -1 if none is."""
        view = self.key_view
        count = min(count, len(view))  # entries were added since these columns were returned
        if self.keys_ascend:
            return bisect_right(view, target, 0, count) - 1
        return largest_lower_bound(view, count, target, self.entry_size)

    def probed_slots(self, target: int, count: int) -> list[int]:
        """Return the slots that a broker compares with ``target`` on its way to `lower_slot`."""
        return probed_slots(self.key_view, min(count, len(self.keys)), target, self.entry_size)

    def upper_slot(self, target: int, count: int) -> int:
        """Return the slot of the first of ``count`` values at or after ``target``; -1 if none is.

        A first value that is equal to ``target`` is skipped, as in a broker.
        """
        view = self.value_view
        count = min(count, len(view))
        if not self.values_ascend:
            return smallest_upper_bound(view, count, target, self.entry_size)
        slot = bisect_left(view, target, 0, count)
        if slot == 0 and count and view[0] == target:
            slot = 1
        return slot if slot < count else NO_SLOT
