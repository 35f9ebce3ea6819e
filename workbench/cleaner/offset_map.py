"""The newest offset of each key, in memory of a fixed size.

A key is known by a 128-bit BLAKE2b of it under a secret of this map, so that two keys are never
taken for one, not even keys that were made for it. Kafka keeps MD5 sums. An entry takes as much
room as Kafka's, and the map is full at the same record.

Kafka: SkimpyOffsetMap (4.2)
"""

import secrets
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

Digests = npt.NDArray[np.uint64]  # [n, 2]
Longs = npt.NDArray[np.int64]

ENTRY_SIZE: Final = 24  # bytes: a digest of 16 and an offset
NOT_FOUND: Final = -1
_DIGEST_SIZE: Final = 16
_SECRET_SIZE: Final = 16


class OffsetMap:
    """Offsets by key. Not thread-safe.

    Args:
        memory: bytes.
        load_factor: share of the slots that may be taken.

    Attributes:
        slots: entries that the memory holds.
        most: entries that the load factor allows.
        size: entries.
        latest_offset: up to where the log is in the map, inclusive; -1 at first.

    Raises:
        ValueError: not even two entries are allowed: cleaning would never get on.

    Kafka: SkimpyOffsetMap (4.2)
    """

    def __init__(self, memory: int, load_factor: float = 0.9) -> None:
        self.slots = memory // ENTRY_SIZE
        if self.slots * load_factor <= 1:
            raise ValueError(
                f"{memory} bytes at load factor {load_factor} hold no offset map: more than "
                f"{ENTRY_SIZE / load_factor:.0f} are needed"
            )
        self.most = int(self.slots * load_factor)
        self._secret = secrets.token_bytes(_SECRET_SIZE)
        self.clear()

    def clear(self) -> None:
        """Forget every key.

        Kafka: SkimpyOffsetMap.clear (4.2)
        """
        self._digests = np.zeros((self.slots, 2), np.uint64)
        self._next_offsets = np.zeros(self.slots, np.int64)  # offset + 1; 0: the slot is empty
        self.size = 0
        self.latest_offset = -1

    @property
    def utilization(self) -> float:
        """Share of the slots that are taken.

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
        slots, found = self._find(self._digests_of(keys))
        return np.where(found, self._next_offsets[slots] - 1, NOT_FOUND)

    def put(self, keys: Sequence[bytes], offsets: Longs) -> int:
        """Take keys in, one after the other, each with its offset in the place of an earlier one.

        The first key that comes when the map is full ends it, even if it is known.

        Args:
            keys: of records in the order of the log.
            offsets: int64[n].

        Returns:
            How many were taken; fewer than were given: the map is full.

        Kafka: SkimpyOffsetMap.put, Cleaner.buildOffsetMapForSegment (4.2)
        """
        if not len(keys):
            return 0
        digests = self._digests_of(keys)
        slots, found = self._find(digests)
        firsts = _first_of_each(digests, np.flatnonzero(~found))
        is_first = np.zeros(len(digests), np.int64)
        is_first[firsts] = 1
        before = self.size + np.cumsum(is_first) - is_first
        refused = np.flatnonzero(before >= self.most)
        count = int(refused[0]) if len(refused) else len(digests)
        if not count:
            return 0
        firsts = firsts[firsts < count]
        self._claim(digests[firsts], slots[firsts], offsets[firsts])
        if len(firsts):
            slots, _ = self._find(digests[:count])
        self._next_offsets[slots[:count]] = offsets[:count] + 1  # of equal keys the last one stays
        self.size += len(firsts)
        self.latest_offset = int(offsets[count - 1])
        return count

    def _digests_of(self, keys: Sequence[bytes]) -> Digests:
        secret = self._secret
        sums = [blake2b(key, digest_size=_DIGEST_SIZE, key=secret).digest() for key in keys]
        return np.frombuffer(b"".join(sums), np.uint64).reshape(-1, 2)

    def _find(self, digests: Digests) -> tuple[Longs, npt.NDArray[np.bool_]]:
        """Return for each digest its slot and True, or the empty slot where it would be.

        A full map has no empty slot; all slots were looked at then.
        """
        slots = (digests[:, 0] % np.uint64(self.slots)).astype(np.int64)
        found = np.zeros(len(digests), np.bool_)
        open_ones = np.arange(len(digests))
        for _ in range(self.slots):
            if not len(open_ones):
                break
            at = slots[open_ones]
            is_taken = self._next_offsets[at] != 0
            is_equal = is_taken & (self._digests[at] == digests[open_ones]).all(axis=1)
            found[open_ones[is_equal]] = True
            open_ones = open_ones[is_taken & ~is_equal]
            slots[open_ones] = (slots[open_ones] + 1) % self.slots
        return slots, found

    def _claim(self, digests: Digests, slots: Longs, offsets: Longs) -> None:
        """Put digests that differ, and are not in the map, at or behind slots."""
        open_ones = np.arange(len(digests))
        slots = slots.copy()
        while len(open_ones):
            empty = open_ones[self._next_offsets[slots[open_ones]] == 0]
            _, chosen = np.unique(slots[empty], return_index=True)
            winners = empty[chosen]
            self._digests[slots[winners]] = digests[winners]
            self._next_offsets[slots[winners]] = offsets[winners] + 1
            open_ones = np.setdiff1d(open_ones, winners, assume_unique=True)
            slots[open_ones] = np.where(
                self._next_offsets[slots[open_ones]] != 0,
                (slots[open_ones] + 1) % self.slots,
                slots[open_ones],
            )


def _first_of_each(digests: Digests, picks: Longs) -> Longs:
    """Return int64[k], ascending: which of ``picks`` are the first ones of their digest."""
    whole = np.ascontiguousarray(digests[picks]).view(f"V{_DIGEST_SIZE}").ravel()
    seen: dict[bytes, int] = {}
    for pick, digest in zip(picks.tolist(), whole.tolist(), strict=True):
        seen.setdefault(digest, pick)
    return np.fromiter(seen.values(), np.int64, len(seen))
