"""The order in which Scala 2.13 goes through its hash collections.

A broker writes the partitions of a transaction in this order. It means nothing to a reader; with it
our records have the same bytes as the broker's.

Kafka: TransactionLog.valueToBytes (4.2)
"""

from collections.abc import Iterable

from workbench.coordinator.runtime.partitioning import java_hash

_BITS = 5  # of the hash, for each level of an immutable map
_WORD = 0xFFFFFFFF


def order_of_map(names: Iterable[str]) -> list[str]:
    """Return keys in the order of an immutable map that holds them.

    Scala: immutable.HashMap, Hashing.improve (2.13)
    """
    return _level([(_improved(java_hash(name)), name) for name in names], 0)


def _level(keys: list[tuple[int, str]], shift: int) -> list[str]:
    """Return the keys below one node: first those that are alone in their slot."""
    slots: dict[int, list[tuple[int, str]]] = {}
    for key in keys:
        slots.setdefault(key[0] >> shift & (1 << _BITS) - 1, []).append(key)
    ordered = [slots[slot] for slot in sorted(slots)]
    found = [slot[0][1] for slot in ordered if len(slot) == 1]
    for slot in ordered:
        if len(slot) > 1:
            is_deep = shift + _BITS >= 32  # the hashes are equal
            found += sorted(key[1] for key in slot) if is_deep else _level(slot, shift + _BITS)
    return found


def _improved(code: int) -> int:
    word = code & _WORD
    word = (word + (~(word << 9) & _WORD)) & _WORD
    word ^= word >> 14
    word = (word + (word << 4)) & _WORD
    return word ^ (word >> 10)


def order_of_set(numbers: Iterable[int]) -> list[int]:
    """Return int32 numbers, 0 or more, in the order of a mutable set made with room for them.

    Scala: mutable.HashSet.from (2.13)
    """
    chosen = set(numbers)
    room = max(int((len(chosen) + 1) / 0.75) - 1, 4)
    buckets = 1 << room.bit_length()
    return sorted(chosen, key=lambda each: ((each ^ each >> 16) & (buckets - 1), each ^ each >> 16))
