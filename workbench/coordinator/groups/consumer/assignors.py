"""The assignors of a broker: `uniform` and `range`.

The order in which members and topics are visited determines which member gets which partition. It
is that of Java's maps, so a group gets the assignment that a broker of 4.2 would give it.

Kafka: UniformAssignor, UniformHomogeneousAssignmentBuilder, RangeAssignor (4.2)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from workbench.coordinator.groups.classic.java_hash_map import (
    in_hash_order,
    number_hash,
    uuid_hash,
)
from workbench.coordinator.groups.consumer.heterogeneous import (
    HeterogeneousAssignment,
    joined,
)
from workbench.coordinator.groups.consumer.member import Assignment

RANGE: Final = "range"

Targets = dict[str, Assignment]
"""Member id → what it is to get."""


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member as an assignor sees it.

    Attributes:
        instance_id: the id of a static member.
        topics: topic id → number of partitions, of the topics that it subscribes to.
        assignment: its target assignment so far.
    """

    instance_id: str | None
    topics: Mapping[str, int]
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group as an assignor sees it.

    Attributes:
        members: member id → member, in the order of Java's map.
        is_homogeneous: whether all members subscribe to the same topics.
        owners: topic id → the partitions that are assigned so far, to whomever.
    """

    members: Mapping[str, MemberSpec]
    is_homogeneous: bool
    owners: Mapping[str, frozenset[int]]


def assign(assignor: str, group: GroupSpec) -> Targets:
    """Return the target assignment of a group; a member without an entry gets nothing.

    Args:
        assignor: "uniform" or "range".
        group: the group.
    """
    if not group.members:
        return {}
    if assignor == RANGE:
        return _range(group)
    if group.is_homogeneous:
        return _uniform(group)
    return HeterogeneousAssignment(
        {name: member.topics for name, member in group.members.items()},
        {name: member.assignment for name, member in group.members.items()},
    ).build()


# range


@dataclass(slots=True)
class _Topic:
    """A topic whose partitions are given out in ranges."""

    partitions: int
    members: int = 0
    given: int = 0
    receivers: int = 0

    def take(self) -> range:
        """Return the next range; the first members get one partition more if it is uneven."""
        least, extra = divmod(self.partitions, self.members)
        start = self.given
        self.given += least + (self.receivers < extra)
        self.receivers += 1
        return range(start, self.given)


def _range(group: GroupSpec) -> Targets:
    """Kafka: RangeAssignor.assignHomogeneousGroup, assignHeterogeneousGroup (4.2)."""

    def position(name: str) -> tuple[bool, bytes]:
        instance_id = group.members[name].instance_id
        text = name if instance_id is None else instance_id
        return instance_id is None, text.encode("utf-16-be", "surrogatepass")

    names = sorted(group.members, key=position)
    topics: dict[str, _Topic] = {}
    for name in names:
        for topic_id, count in group.members[name].topics.items():
            topics.setdefault(topic_id, _Topic(count)).members += 1
    targets: Targets = {}
    for name in names:
        taken = {each: frozenset(topics[each].take()) for each in group.members[name].topics}
        targets[name] = {each: partitions for each, partitions in taken.items() if partitions}
    return targets


# uniform, of members with the same subscriptions


def _uniform(group: GroupSpec) -> Targets:
    """Kafka: UniformHomogeneousAssignmentBuilder.build (4.2)."""
    counts = next(iter(group.members.values())).topics
    if not counts:
        return {}
    unassigned = [
        (topic_id, number)
        for topic_id in in_hash_order(counts, uuid_hash, is_copied=True)
        for number in range(counts[topic_id])
        if number not in group.owners.get(topic_id, ())
    ]
    least, extra = divmod(sum(counts.values()), len(group.members))
    targets: dict[str, dict[str, set[int]]] = {}
    unfilled: list[tuple[str, int]] = []
    for index, (name, member) in enumerate(group.members.items()):
        quota, has_extra = least + (extra > 0), extra > 0
        kept = targets[name] = dict[str, set[int]]()
        for topic_id in in_hash_order(member.assignment, uuid_hash):
            partitions = member.assignment[topic_id]
            if topic_id not in counts:
                continue
            ordered = in_hash_order(sorted(partitions), number_hash, is_copied=True)
            if quota:
                kept[topic_id] = set(ordered[:quota])
            unassigned += [(topic_id, number) for number in ordered[quota:]]
            quota -= min(quota, len(ordered))
        if quota and has_extra and len(group.members) - index > extra:
            quota, has_extra = quota - 1, False
        if quota:
            unfilled.append((name, quota))
        extra -= has_extra
    waiting = iter(unassigned)
    added: dict[str, dict[str, set[int]]] = {}
    for name, quota in unfilled:
        kept, new = targets[name], added.setdefault(name, {})
        for topic_id, number in islice(waiting, quota):
            (kept if topic_id in kept else new).setdefault(topic_id, set()).add(number)
    return {name: joined(target, added.get(name, {})) for name, target in targets.items()}
