"""The binary search of a broker in an index, step by step as it is.

Wherever entries ascend, every binary search gives the same, and a library's is used. Where they do
not, in a damaged file, the result depends on the steps; a broker's are these. The last 8 KiB of
entries are searched first, because they stay in memory (the *warm section*).

Kafka: AbstractIndex.indexSlotRangeFor (4.2)
"""

from collections.abc import Callable, Sequence
from typing import Final

WARM_SIZE: Final = 8192  # bytes of entries

NONE: Final = -1  # no such slot


def largest_lower_bound(numbers: Sequence[int], count: int, target: int, entry_size: int) -> int:
    """Return the slot of the last of ``count`` numbers at or before ``target``; -1 if none is.

    Args:
        numbers: one of the two numbers of each entry.
        count: how many of them are in use.
        target: what is looked for.
        entry_size: bytes of an entry in the file.

    Kafka: AbstractIndex.largestLowerBoundSlotFor (4.2)
    """
    lower, _ = _search(numbers, count, target, entry_size)
    return lower


def smallest_upper_bound(numbers: Sequence[int], count: int, target: int, entry_size: int) -> int:
    """Return the slot of the first of ``count`` numbers at or behind ``target``; -1 if none is.

    But a first entry that is equal to ``target`` is passed over, as a broker does. For arguments
    see `largest_lower_bound`.

    Kafka: AbstractIndex.smallestUpperBoundSlotFor (4.2)
    """
    _, upper = _search(numbers, count, target, entry_size)
    return upper


def probed_slots(numbers: Sequence[int], count: int, target: int, entry_size: int) -> list[int]:
    """Return the slots that `largest_lower_bound` looks at, in its order; for those who watch."""
    probed: list[int] = []
    _search(numbers, count, target, entry_size, probed.append)
    return probed


def _search(
    numbers: Sequence[int],
    count: int,
    target: int,
    entry_size: int,
    look: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Return the slots of the largest lower and the smallest upper bound.

    ``look`` is told each slot that is compared with the target.
    """
    if count == 0:
        return NONE, NONE
    warm = max(0, count - 1 - WARM_SIZE // entry_size)
    if look is not None:
        look(warm)
        if warm and numbers[warm] >= target:
            look(0)
    if numbers[warm] < target:
        low, high = warm, count - 1
    elif numbers[0] > target:
        return NONE, 0
    else:
        low, high = 0, warm
    while low < high:
        middle = (low + high + 1) // 2
        found = numbers[middle]
        if look is not None:
            look(middle)
        if found > target:
            high = middle - 1
        elif found < target:
            low = middle
        else:
            return middle, middle
    return low, NONE if low == count - 1 else low + 1
