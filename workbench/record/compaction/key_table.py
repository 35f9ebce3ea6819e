"""Numbers by keys, in memory of a fixed size.

A key is represented by its SipHash-2-4 of 128 bits under a secret of the table, so that two keys
never count as one, not even keys made to collide.

Kafka: SkimpyOffsetMap (4.2)
"""

import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.layout.compaction import RECORD_PLACE
from workbench.record.columns import BinaryColumn

ENTRY_SIZE: Final = 24  # bytes: a sum of 16 and a number

_WORD: Final = 64  # bits
_OFFSETS_A_BYTE: Final = 4
_LEAST_SHARE: Final = 16  # of the table that marks may take
_NOT_ASCENDING: Final = -2

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Places = npt.NDArray[Any]  # of RECORD_PLACE
Secret = tuple[int, int]


class Marks(NamedTuple):
    """Marks of offsets; see `kernels.compaction.marks`.

    Attributes:
        bits: uint8[n].
        origin: the offset of the first mark.
    """

    bits: Bytes
    origin: int


NO_MARKS: Final = Marks(np.zeros(0, np.uint8), 0)


class KeyTable:
    """Offsets by key. The memory is taken at the first use, and used again. Not thread-safe.

    Args:
        slots: the largest number of keys.

    Attributes:
        marks: the marks of offsets that were put; none unless `mark` was called.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._memory: Longs | None = None
        self._secret = new_secret()
        self.clear()

    def clear(self) -> None:
        """Forget every key, and keep no marks."""
        if self._memory is not None:
            self._memory.fill(0)
        self.marks = NO_MARKS
        self._last = -1  # offset that was put

    def mark(self, start: int, end: int) -> None:
        """Keep marks of the offsets in [start, end) that are put and superseded after this call.

        Marks take a quarter of a byte per offset; without effect if that is much for the table.
        """
        size = (end - start) // _OFFSETS_A_BYTE + 1
        if size <= self.slots * ENTRY_SIZE // _LEAST_SHARE:
            self.marks = Marks(np.zeros(size, np.uint8), start)

    @property
    def _table(self) -> Longs:
        if self._memory is None:
            # Not np.zeros: what is filled at once comes in large pages, where the system has such.
            self._memory = np.empty(self.slots * (ENTRY_SIZE // 8), np.int64)
            self._memory.fill(0)
        return self._memory

    def put(self, data: Bytes, places: Places, start_offset: int, room: int) -> tuple[int, int]:
        """Put the offsets of records under their keys, each replacing an earlier one.

        Without room, it stops at the next key, even if that key is in the table.

        Args:
            data: the bytes with the keys.
            places: RECORD_PLACE[n]; records without a key, or before ``start_offset``, are skipped.
            start_offset: see there.
            room: the number of new keys that can be put.

        Returns:
            The number of records read, fewer than n if there was no more room, and the number of
            new keys.
        """
        passed, new, self._last = dispatch.put_keys(
            data,
            places,
            len(places),
            start_offset,
            self._table,
            room,
            *self._secret,
            *self.marks,
            self._last,
        )
        if self._last == _NOT_ASCENDING:
            self.marks = NO_MARKS
        return passed, new

    def find(
        self,
        data: Bytes,
        places: Places,
        end_offset: int,
        found: Longs,
        marks: Marks = NO_MARKS,
    ) -> None:
        """Look up the keys of records.

        Args:
            data: the bytes with the keys.
            places: RECORD_PLACE[n]; records at or after ``end_offset`` are not looked up.
            end_offset: see ``places``.
            found: int64[n], filled: the offset of each key; -1 if it is not known, there is no
                key or it is not looked up.
            marks: marks to use; for a record marked as superseded, any larger offset is found.
        """
        dispatch.find_keys(
            data,
            places,
            len(places),
            end_offset,
            self._table,
            *self._secret,
            *marks,
            found,
        )


def new_secret() -> Secret:
    """Return 128 random bits, in two signed halves."""
    low, high = (secrets.randbits(_WORD) - (1 << _WORD - 1) for _ in range(2))
    return low, high


def key_sums(keys: BinaryColumn, secret: Secret) -> Longs:
    """Return int64[2, n]: the two halves of each key's SipHash-2-4 of 128 bits.

    Args:
        keys: the keys; a null is summed as an empty key.
        secret: the secret: sums under one secret can be compared.
    """
    places = np.zeros(len(keys), RECORD_PLACE)
    places["key_start"] = keys.offsets[:-1]
    places["key_size"] = np.diff(keys.offsets)
    sums = np.empty((2, len(keys)), np.int64)
    dispatch.sum_keys(keys.data, places, *secret, sums)
    return sums


def places_of_keys(keys: Sequence[bytes], offsets: Longs) -> tuple[Bytes, Places]:
    """Return keys one after the other, and RECORD_PLACE[n] of records that have them."""
    places = np.zeros(len(keys), RECORD_PLACE)
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    places["key_start"] = np.cumsum(sizes) - sizes
    places["key_size"] = sizes
    places["offset"] = offsets
    return np.frombuffer(b"".join(keys) or b"\0", np.uint8), places
