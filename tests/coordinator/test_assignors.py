"""What every assignor of a broker holds: each partition has one member, and shares are even."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.coordinator.groups.consumer.assignors import GroupSpec, MemberSpec, assign

TOPIC = "MTIzNDU2Nzg5MDEyMzQ1Ng"


@pytest.mark.parametrize("assignor", ["uniform", "range"])
@given(
    count=st.integers(1, 40),
    members=st.integers(1, 12),
    before=st.lists(st.integers(-1, 11), min_size=40, max_size=40),
)
def test_each_partition_has_one_member(
    assignor: str, count: int, members: int, before: list[int]
) -> None:
    held = [
        frozenset(number for number in range(count) if before[number] == member)
        for member in range(members)
    ]
    specs = {
        f"member-{index}": MemberSpec(None, {TOPIC: count}, {TOPIC: numbers} if numbers else {})
        for index, numbers in enumerate(held)
    }
    group = GroupSpec(specs, is_homogeneous=True, owners={TOPIC: frozenset().union(*held)})
    targets = assign(assignor, group)
    shares = [sorted(targets.get(name, {}).get(TOPIC, ())) for name in specs]
    assert Counter(number for share in shares for number in share) == Counter(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
