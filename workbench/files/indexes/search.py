"""Search an index with the exact steps of a broker's binary search.

If entries ascend, every binary search gives the same result, and a library's is used. If they do
not, in a damaged file, the result depends on the steps; a broker's are these. The last 8 KiB of
entries are searched first, because they remain in memory (the *warm section*).

Kafka: AbstractIndex.indexSlotRangeFor (4.2)
"""

from collections.abc import Callable, Sequence
from typing import Final

WARM_SIZE: Final = 8192  # bytes of entries

NO_SLOT: Final = -1  # no such slot


def largest_lower_bound(numbers: Sequence[int], count: int, target: int, entry_size: int) -> int:
    """Return the slot of the last of ``count`` numbers at or before ``target``; -1 if none is.

    Args:
        numbers: one of the two numbers of each entry.
        count: how many of them are in use.
        target: the number to find.
        entry_size: bytes per entry in the file.

    Kafka: AbstractIndex.largestLowerBoundSlotFor (4.2)
    """
    lower, _ = _search(numbers, count, target, entry_size)
    return lower


def smallest_upper_bound(numbers: Sequence[int], count: int, target: int, entry_size: int) -> int:
    """Return the slot of the first of ``count`` numbers at or after ``target``; -1 if none is.

    But a first entry that is equal to ``target`` is skipped, as in a broker. For arguments see
    `largest_lower_bound`.

    Kafka: AbstractIndex.smallestUpperBoundSlotFor (4.2)
    """
    _, upper = _search(numbers, count, target, entry_size)
    return upper


def probed_slots(numbers: Sequence[int], count: int, target: int, entry_size: int) -> list[int]:
    """Return the slots that `largest_lower_bound` compares, in its order, for observers."""
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

    ``look`` receives each slot that is compared with the target.
    """
    if count == 0:
        return NO_SLOT, NO_SLOT
    warm = max(0, count - 1 - WARM_SIZE // entry_size)
    if look is not None:
        look(warm)
        if warm and numbers[warm] >= target:
            look(0)
    if numbers[warm] < target:
        low, high = warm, count - 1
    elif numbers[0] > target:
        return NO_SLOT, 0
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
    return low, NO_SLOT if low == count - 1 else low + 1
