"""Limit the memory of all indexes that hold their entries in memory."""

import threading
import weakref
from collections import deque
from typing import Final, Protocol

_MOST: Final = 128 << 20  # bytes of entries of all indexes of the process


class KeptIndex(Protocol):
    """An index that holds its entries in memory."""

    def forget(self) -> None:
        """Drop the entries, if they can be read again."""


class KeptIndexes:
    """The indexes whose entries are in memory: above a limit, the oldest drop theirs."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._indexes: deque[tuple[weakref.ref[KeptIndex], int]] = deque()
        self._lock = threading.Lock()

    def add(self, index: KeptIndex, size: int) -> None:
        """Add an index that takes ``size`` bytes."""
        with self._lock:
            self._indexes.append((weakref.ref(index), size))
            self._size += size
            while self._size > self._limit and len(self._indexes) > 1:
                oldest, its_size = self._indexes.popleft()
                self._size -= its_size
                found = oldest()
                if found is not None and found is not index:
                    found.forget()


KEPT: Final = KeptIndexes(_MOST)
