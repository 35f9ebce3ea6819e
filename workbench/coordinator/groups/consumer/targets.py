"""The target assignment of a group's epoch, and the records of what changes.

Kafka: TargetAssignmentBuilder (4.2)
"""

from collections.abc import Mapping

from workbench.coordinator.groups.classic.java_hash_map import text_order, timeline_order
from workbench.coordinator.groups.consumer import records
from workbench.coordinator.groups.consumer.assignors import RANGE, GroupSpec, MemberSpec, assign
from workbench.coordinator.groups.consumer.member import (
    NOTHING,
    Assignment,
    ConsumerMember,
    assignment_of,
)
from workbench.coordinator.groups.consumer.subscriptions import Subscriptions, topics_of
from workbench.coordinator.groups.consumer.topics import AssignableTopics
from workbench.coordinator.groups.groups import ModernGroup
from workbench.coordinator.runtime.records import CoordinatorRecord


def target_of(group: ModernGroup, member_id: str) -> Assignment:
    """Return the target assignment of a member."""
    fields = group.targets.get(member_id)
    return NOTHING if fields is None else assignment_of(fields["topicPartitions"])


def new_targets(
    group: ModernGroup,
    epoch: int,
    members: Mapping[str, ConsumerMember],
    subscriptions: Subscriptions,
    topics: AssignableTopics,
    replaced: Mapping[str, str],
) -> tuple[list[CoordinatorRecord], dict[str, Assignment]]:
    """Return the records of a new target assignment, and each member's.

    Args:
        group: the group.
        epoch: its epoch.
        members: its members, as they will be.
        subscriptions: what they subscribe to.
        topics: the topics.
        replaced: id of a static member → the id that it had before.
    """
    specs = {}
    ordered = timeline_order(group.members, group.most_members)
    for name in text_order(name for name in (*ordered, *members) if name in members):
        member = members[name]
        before = target_of(group, replaced.get(name, name))
        subscribed = topics.ids_of(topics_of(member, group))
        specs[name] = MemberSpec(member.instance_id, subscribed, before)
    owners: dict[str, set[int]] = {}
    for name in group.targets:
        for topic_id, numbers in target_of(group, name).items():
            owners.setdefault(topic_id, set()).update(numbers)
    frozen = {topic_id: frozenset(numbers) for topic_id, numbers in owners.items()}
    spec = GroupSpec(specs, subscriptions.is_homogeneous, frozen)
    targets = assign(subscriptions.assignor, spec)
    is_range = subscriptions.assignor == RANGE
    written = [
        records.target_assignment(
            group.group_id, name, targets.get(name, NOTHING), is_ascending=is_range
        )
        for name in specs
        if name not in group.targets or targets.get(name, NOTHING) != target_of(group, name)
    ]
    return [*written, records.target_epoch(group.group_id, epoch)], targets
