"""The newest offset of each key, in memory of a fixed size.

An entry takes as many bytes as Kafka's, which holds an MD5 sum, so the map is full at the same
record.

Kafka: SkimpyOffsetMap (4.2)
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import ConfigError
from workbench.layout.integers import INT64_MAX
from workbench.record.compaction.key_table import (
    ENTRY_SIZE,
    NO_MARKS,
    KeyTable,
    Marks,
    places_of_keys,
)
from workbench.record.compaction.locating import Located

__all__ = ["ENTRY_SIZE", "MOST_OFFSET", "NOT_FOUND", "OffsetMap"]

NOT_FOUND: Final = -1
MOST_OFFSET: Final = INT64_MAX
_SLOTS_PER_KEY: Final = 2  # half of them are free: a key is found at its first or second slot

Longs = npt.NDArray[np.int64]


class OffsetMap:
    """The newest offset of each key. Not thread-safe.

    Args:
        memory: bytes; allocated at the first use, and reused after `clear`.
        load_factor: share of the slots that may be used.
        keys: largest number of keys, for which less memory may be enough; None: as many as fit.

    Attributes:
        slots: number of entries that the memory holds.
        most: number of entries that the load factor allows.
        size: number of entries.
        latest_offset: last offset of the log that is in the map; -1 at first.

    Raises:
        ConfigError: fewer than two entries are allowed: cleaning would make no progress.

    Kafka: SkimpyOffsetMap (4.2)
    """

    def __init__(self, memory: int, load_factor: float = 0.9, *, keys: int | None = None) -> None:
        self.slots = memory // ENTRY_SIZE
        if self.slots * load_factor <= 1:
            problem = (
                f"{memory} bytes at load factor {load_factor} hold no offset map "
                f"(expected more than {ENTRY_SIZE / load_factor:.0f})"
            )
            raise ConfigError("log.cleaner.dedupe.buffer.size", problem)
        self.most = int(self.slots * load_factor)
        slots = self.slots if keys is None else min(self.slots, _SLOTS_PER_KEY * keys + 1)
        self._table = KeyTable(slots)
        self._room = min(self.most, slots)
        self.clear()

    def clear(self) -> None:
        """Forget every key.

        Kafka: SkimpyOffsetMap.clear (4.2)
        """
        self._table.clear()
        self.size = 0
        self.latest_offset = -1

    @property
    def utilization(self) -> float:
        """Share of the slots that are used.

        Kafka: OffsetMap.utilization (4.2)
        """
        return self.size / self.slots

    def get(self, key: bytes) -> int:
        """Return the offset of a key; -1 if it is not known.

        Kafka: SkimpyOffsetMap.get (4.2)
        """
        return int(self.lookup([key])[0])

    def lookup(self, keys: Sequence[bytes]) -> Longs:
        """Return int64[n]: the offset of each key; -1 where it is not known."""
        data, places = places_of_keys(keys, np.zeros(len(keys), np.int64))
        found = np.empty(len(keys), np.int64)
        self._table.find(data, places, 1, found)
        return found

    def put(self, keys: Sequence[bytes], offsets: Longs) -> int:
        """Put keys in, one after the other; each replaces the offset of an earlier one.

        The first key that comes when the map is full ends this, even if it is known.

        Args:
            keys: the records' keys in the order of the log.
            offsets: int64[n], the records' offsets.

        Returns:
            How many were put in; fewer than were given if the map is full.

        Kafka: SkimpyOffsetMap.put, Cleaner.buildOffsetMapForSegment (4.2)
        """
        data, places = places_of_keys(keys, offsets)
        passed, new = self._table.put(data, places, 0, self._room - self.size)
        self.size += new
        if passed:
            self.latest_offset = int(offsets[passed - 1])
        return passed

    def put_records(self, located: Located, start: int) -> int:
        """Put in the keys of records at or after offset ``start``; see `put`.

        Returns:
            How many records were processed; fewer than there are if the map is full.
            `latest_offset` does not change.
        """
        data, places = located.data, located.places
        passed, new = self._table.put(data, places, start, self._room - self.size)
        self.size += new
        return passed

    def mark(self, start: int, end: int) -> None:
        """Remember in `marks` which of the offsets in [start, end) are superseded."""
        self._table.mark(start, end)

    @property
    def marks(self) -> Marks:
        """Which offsets of `mark` are superseded; none if that is not known."""
        return self._table.marks

    def newest_of(
        self, located: Located, newest: Longs, end: int = MOST_OFFSET, marks: Marks = NO_MARKS
    ) -> None:
        """Look up the keys of records.

        Args:
            located: the n records.
            newest: int64[n], filled: the newest offset of each key; -1 if it is not known, there is
                no key, or the record is at or after ``end``.
            end: first offset that is not looked up.
            marks: where they say that a record is superseded, any larger offset will do.
        """
        self._table.find(located.data, located.places, end, newest, marks)
