"""What every assignor of a broker holds: each partition has one member, and shares are even."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.coordinator.groups.consumer.assignors import GroupSpec, MemberSpec, assign
from workbench.coordinator.groups.consumer.member import ConsumerMember
from workbench.coordinator.groups.consumer.subscriptions import topics_of
from workbench.coordinator.groups.groups import ModernGroup

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


@pytest.mark.parametrize(
    ("named", "resolved", "expected"),
    [
        ("vut", "", "tuv"),
        ("", "vut", "tuv"),
        ("wv", "tuv", "tuvw"),  # the larger set first
        ("zwv", "tu", "vwztu"),
    ],
)
def test_topics_are_in_the_order_of_a_brokers_sets(
    named: str, resolved: str, expected: str
) -> None:
    """It decides between topics whose ids are in one bucket, and Python's sets have none."""
    group = ModernGroup("g", "consumer", regexes={"[tuv]": {"topics": list(resolved)}})
    member = ConsumerMember("m", topics=frozenset(named), regex="[tuv]" if resolved else "")
    assert topics_of(member, group) == list(expected)


IN_ONE_BUCKET = ("nWOop2w-SVW7-1bERoxRPQ", "BRpSccevT-S4QEXd_C8HMw")


def test_a_new_topic_comes_first_in_its_bucket() -> None:
    """`HashMap.computeIfAbsent` puts it there; what a member gives up first follows from it."""
    topics = dict(zip(IN_ONE_BUCKET, (5, 3), strict=True))
    empty = MemberSpec(None, topics, {})
    alone = assign("uniform", GroupSpec({"a": empty}, is_homogeneous=True, owners={}))["a"]
    assert list(alone) == list(reversed(IN_ONE_BUCKET))
    members = {"a": MemberSpec(None, topics, alone), "b": empty}
    targets = assign("uniform", GroupSpec(members, is_homogeneous=True, owners=alone))
    first, second = IN_ONE_BUCKET
    assert targets["a"] == {second: {0, 1, 2}, first: {0}}
    assert targets["b"] == {first: {1, 2, 3, 4}}
