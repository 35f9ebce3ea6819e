"""A map that iterates in the order of Java's `HashMap`.

The order of a group's members in its record, the next leader and the winner of a tie between
protocols all follow from it, so a coordinator that writes what Kafka's writes needs it.

Kafka: java.util.HashMap (17)
"""

import base64
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Final, TypeVar

from workbench.coordinator.runtime.partitioning import java_hash

K = TypeVar("K")
V = TypeVar("V")

_FIRST_TABLE: Final = 16  # buckets
_SPREAD: Final = -7046029254386353131  # of a `TimelineHashMap`: slots are the product's first bits
_FILLED_AT: Final = (3, 4)  # of the buckets: with more entries than that the table doubles


class JavaHashMap(MutableMapping[str, V]):
    """Strings in the order of `HashMap`: by bucket, within a bucket as they were put in.

    The table doubles when it is three quarters full and never shrinks. Buckets of nine or more
    keys, which Java reorders into trees, keep the order of insertion here; ids do not collide so.
    Hashes are computed when the order is asked for.
    """

    def __init__(self) -> None:
        self._values: dict[str, V] = {}
        self._hashes: dict[str, int] = {}
        self._table = _FIRST_TABLE

    def __getitem__(self, key: str) -> V:
        return self._values[key]

    def __setitem__(self, key: str, value: V) -> None:
        self._values[key] = value
        filled, of = _FILLED_AT
        if len(self._values) * of > self._table * filled:
            self._table *= 2

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._hashes.pop(key, None)

    def __iter__(self) -> Iterator[str]:
        last = self._table - 1
        return iter(sorted(self._values, key=lambda key: self._hash(key) & last))

    def _hash(self, key: str) -> int:
        found = self._hashes.get(key)
        if found is None:
            found = self._hashes[key] = _spread(java_hash(key))
        return found

    def __len__(self) -> int:
        return len(self._values)

    def unordered(self) -> Iterable[V]:
        """Return the values in any order."""
        return self._values.values()


def in_hash_order(
    keys: Iterable[K], hash_of: Callable[[K], int], *, is_copied: bool = False
) -> list[K]:
    """Return different keys in the order of a `HashMap` or `HashSet` that has them.

    Args:
        keys: the keys, in the order in which they are put in.
        hash_of: returns Java's hash code of a key.
        is_copied: whether the set was made from another collection, which decides its size.
    """
    distinct = list(dict.fromkeys(keys))
    filled, of = _FILLED_AT
    table, size = _FIRST_TABLE, len(distinct)
    while table < size * of // filled + 1 if is_copied else size * of > table * filled:
        table *= 2
    return sorted(distinct, key=lambda key: _spread(hash_of(key)) & (table - 1))


def text_order(keys: Iterable[str]) -> list[str]:
    """Return texts in the order of a `HashMap`."""
    return in_hash_order(keys, java_hash)


def timeline_order(keys: Iterable[str], most: int) -> list[str]:
    """Return texts in the order of a `TimelineHashMap`, in which a coordinator keeps its state.

    Args:
        keys: the texts, in the order in which they were put in.
        most: the largest number of them that were in the map at a time.

    Kafka: BaseHashTable.findSlot, baseAddOrReplace (4.2)
    """
    filled, of = _FILLED_AT
    bits = 1
    while most * filled > of << bits:
        bits += 1

    def slot(key: str) -> int:
        return (java_hash(key) * _SPREAD & 0xFFFFFFFFFFFFFFFF) >> (64 - bits)

    newest_first = list(keys)[::-1]  # within a slot
    return sorted(newest_first, key=slot)


def uuid_hash(text: str) -> int:
    """Return the hash code of Kafka's `Uuid`, of its text.

    Kafka: Uuid.hashCode (4.2)
    """
    data = base64.urlsafe_b64decode(text + "==")
    both = int.from_bytes(data[:8]) ^ int.from_bytes(data[8:])
    return (both >> 32 ^ both) & 0xFFFFFFFF


def number_hash(number: int) -> int:
    """Return the hash code of an `Integer`."""
    return number


def _spread(value: int) -> int:
    """Return Java's `HashMap.hash` of a hash code, as 32 bits without a sign."""
    bits = value & 0xFFFFFFFF
    return bits ^ (bits >> 16)
