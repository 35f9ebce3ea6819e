"""What is kept in memory of what was read: the last used of it, up to a limit.

The one policy of the caches. Each belongs to an object that was opened, and is freed with it; keys
name the version of a file, so nothing old is returned.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _one(_value: object) -> int:
    return 1


class Kept(Generic[K, V]):
    """A cache. Threads may share it.

    Args:
        most: the most that all values together may weigh.
        weight: returns what a value weighs; by default each is 1.
    """

    def __init__(self, most: int, weight: Callable[[V], int] = _one) -> None:
        self._most = most
        self._weight = weight
        self._values: OrderedDict[K, V] = OrderedDict()
        self._sum = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return what is kept under a key, which was used now; None if nothing is."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value; what was not used for the longest time is dropped if there is too much."""
        with self._lock:
            if key in self._values:
                self._sum -= self._weight(self._values.pop(key))
            self._values[key] = value
            self._sum += self._weight(value)
            while self._sum > self._most:
                _, dropped = self._values.popitem(last=False)
                self._sum -= self._weight(dropped)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._values.clear()
            self._sum = 0
