"""Which indexes hold their entries in memory: together they take no more than a limit."""

import threading
import weakref
from collections import deque
from typing import Final, Protocol

_MOST: Final = 256 << 20  # bytes of entries of all indexes of the process


class KeptIndex(Protocol):
    """An index that holds its entries in memory."""

    def forget(self) -> None:
        """Drop them, if they can be read again."""


class KeptIndexes:
    """The indexes whose entries were read into memory: beyond a limit, the first are forgotten."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._indexes: deque[tuple[weakref.ref[KeptIndex], int]] = deque()
        self._lock = threading.Lock()

    def add(self, index: KeptIndex, size: int) -> None:
        """Remember that an index takes ``size`` bytes now."""
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
