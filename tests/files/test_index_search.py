"""Searching entries: a broker's steps, and the library's search where both must agree."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.files.indexes.entry_columns import EntryColumns
from workbench.files.indexes.search import largest_lower_bound, smallest_upper_bound

LOWER, UPPER = "lower", "upper"
OFFSET_SIZE, TIME_SIZE = 8, 12


def kafka_slot(entries: Sequence[int], target: int, warm: int, kind: str) -> int:
    """Return what AbstractIndex.indexSlotRangeFor of Kafka 4.2 finds, step by step."""
    if not entries:
        return -1

    def binary_search(begin: int, end: int) -> int:
        lo, hi = begin, end
        while lo < hi:
            mid = (lo + hi + 1) >> 1
            if entries[mid] > target:
                hi = mid - 1
            elif entries[mid] < target:
                lo = mid
            else:
                return mid
        if kind == LOWER:
            return lo
        return -1 if lo == len(entries) - 1 else lo + 1

    first_hot = max(0, len(entries) - 1 - warm)
    if entries[first_hot] < target:
        return binary_search(first_hot, len(entries) - 1)
    if entries[0] > target:
        return -1 if kind == LOWER else 0
    return binary_search(0, first_hot)


def columns_of(numbers: list[int], entry_size: int = OFFSET_SIZE) -> EntryColumns:
    column = np.array([*numbers, 0, 0], np.int32)  # room for more than is in use
    return EntryColumns(column, column, len(numbers), entry_size)


small = st.lists(st.integers(-5, 20), max_size=12)
target = st.integers(-7, 22)


@given(small, target)
def test_a_search_takes_the_steps_of_a_broker(numbers: list[int], wanted: int) -> None:
    for size in (OFFSET_SIZE, TIME_SIZE):
        warm = 8192 // size
        found = largest_lower_bound(numbers, len(numbers), wanted, size)
        assert found == kafka_slot(numbers, wanted, warm, LOWER)
        found = smallest_upper_bound(numbers, len(numbers), wanted, size)
        assert found == kafka_slot(numbers, wanted, warm, UPPER)


@given(st.randoms(use_true_random=False), st.integers(0, 3000), st.integers(0, 200))
def test_a_search_in_a_long_damaged_index_looks_at_its_end_first(
    chance: Random, count: int, damage: int
) -> None:
    """The result shows which section was searched when entries do not ascend."""
    numbers = sorted(chance.sample(range(10_000), count))
    for _ in range(damage if numbers else 0):
        numbers[chance.randrange(count)] = chance.randrange(10_000)
    for size in (OFFSET_SIZE, TIME_SIZE):
        columns = columns_of(numbers, size)
        for wanted in [chance.randrange(-1, 10_001) for _ in range(20)]:
            assert columns.lower_slot(wanted, count) == kafka_slot(
                numbers, wanted, 8192 // size, LOWER
            )
            assert columns.upper_slot(wanted, count) == kafka_slot(
                numbers, wanted, 8192 // size, UPPER
            )


@given(small, target)
def test_columns_are_searched_as_a_broker_does_whatever_they_hold(
    numbers: list[int], wanted: int
) -> None:
    for entries in (numbers, sorted(set(numbers)), sorted(numbers)):
        columns = columns_of(entries)
        count = len(entries)
        assert columns.keys_ascend == all(a < b for a, b in pairwise(entries))
        assert columns.lower_slot(wanted, count) == kafka_slot(entries, wanted, 1024, LOWER)
        assert columns.upper_slot(wanted, count) == kafka_slot(entries, wanted, 1024, UPPER)


def test_columns_that_grew_meanwhile_are_searched_as_far_as_they_go() -> None:
    columns = columns_of([1, 2, 3])
    grown = columns.grown(3, 10)
    grown.key_view[3] = 9
    assert len(columns.keys) == 5
    assert columns.lower_slot(100, 10) == 4
    assert grown.lower_slot(100, 4) == 3
    assert grown.keys_ascend
