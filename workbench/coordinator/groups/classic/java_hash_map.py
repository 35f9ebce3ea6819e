"""A map that iterates in the order of Java's `HashMap`.

The order of a group's members in its record, the next leader and the winner of a tie between
protocols all follow from it, so a coordinator that writes what Kafka's writes needs it.

Kafka: java.util.HashMap (17)
"""

from collections.abc import Iterator, MutableMapping
from typing import Final, TypeVar

from workbench.coordinator.partitioning import java_hash

V = TypeVar("V")

_FIRST_TABLE: Final = 16  # buckets
_FILLED_AT: Final = (3, 4)  # of the buckets: with more entries than that the table doubles


class JavaHashMap(MutableMapping[str, V]):
    """Strings in the order of `HashMap`: by bucket, within a bucket as they were put in.

    The table doubles when it is three quarters full and never shrinks. Buckets of nine or more
    keys, which Java reorders into trees, keep the order of insertion here; ids do not collide so.
    """

    def __init__(self) -> None:
        self._values: dict[str, V] = {}
        self._hashes: dict[str, int] = {}
        self._table = _FIRST_TABLE

    def __getitem__(self, key: str) -> V:
        return self._values[key]

    def __setitem__(self, key: str, value: V) -> None:
        self._values[key] = value
        if key not in self._hashes:
            self._hashes[key] = _spread(java_hash(key))
        filled, of = _FILLED_AT
        if len(self._values) * of > self._table * filled:
            self._table *= 2

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        del self._hashes[key]

    def __iter__(self) -> Iterator[str]:
        last = self._table - 1
        return iter(sorted(self._values, key=lambda key: self._hashes[key] & last))

    def __len__(self) -> int:
        return len(self._values)


def _spread(value: int) -> int:
    """Return Java's `HashMap.hash` of a hash code, as 32 bits without a sign."""
    bits = value & 0xFFFFFFFF
    return bits ^ (bits >> 16)
