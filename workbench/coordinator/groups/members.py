"""Members of groups of every kind in one shape, with partitions by name.

Kafka: MemberDescription, ShareMemberDescription, StreamsGroupMemberDescription (4.2)
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.coordinator.groups.classic.group import CONSUMER, ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.groups import Fields, Group, ModernGroup
from workbench.decoders.consumer_offsets import ASSIGNMENT, SUBSCRIPTION, decoded
from workbench.files.names import TopicPartition
from workbench.tables.groups import MemberRow


def members_of(group: Group, topic_names: Mapping[str, str]) -> Iterator[MemberRow]:
    """Yield the members of a group.

    Args:
        group: a group of any kind.
        topic_names: topic id → name; a topic without one is named by its id.
    """
    if isinstance(group, ClassicGroup):
        for member in group.members.values():
            yield _classic(group, member)
    else:
        for name in group.members:
            yield modern_member(group, name, topic_names)


def assigned_partitions(group: Group, topic_names: Mapping[str, str]) -> set[TopicPartition]:
    """Return the partitions that the members of a group have now; none of a streams group's tasks.

    Args:
        group, topic_names: see `members_of`.
    """
    found = set()
    for member in members_of(group, topic_names):
        for each in member.assignment or () if group.kind != "streams" else ():
            topic, _, number = each.rpartition("-")
            found.add(TopicPartition(topic, int(number)))
    return found


def _classic(group: ClassicGroup, member: ClassicGroupMember) -> MemberRow:
    subscription = rack = None
    assignment = None if member.assignment else list[str]()
    if group.protocol_type == CONSUMER:
        subscribes, assigned = (
            decoded(SUBSCRIPTION, member.subscription),
            decoded(ASSIGNMENT, member.assignment),
        )
        if isinstance(subscribes, dict):
            subscription = sorted(subscribes["topics"])
            rack = subscribes.get("rackId")
        if isinstance(assigned, dict):
            assignment = _named(
                (each["topic"], each["partitions"]) for each in assigned["assignedPartitions"]
            )
    return MemberRow(
        group.group_id,
        group.kind,
        member.member_id,
        member.group_instance_id,
        rack,
        member.client_id,
        member.client_host,
        None,
        None,
        member.member_id == group.leader,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        subscription,
        assignment,
        None,
        None,
    )


def modern_member(group: ModernGroup, name: str, topic_names: Mapping[str, str]) -> MemberRow:
    """Return one member of a group of the newer kinds.

    Raises:
        KeyError: the group has no such member.
    """
    member = group.members[name]
    fields = member.metadata or {}
    classic = fields.get("classicMemberMetadata") or {}
    pattern = fields.get("subscribedTopicRegex")
    topics = fields.get("subscribedTopicNames")
    subscription = None if topics is None else sorted(topics) + ([pattern] if pattern else [])
    return MemberRow(
        group.group_id,
        group.kind,
        name,
        fields.get("instanceId"),
        fields.get("rackId"),
        fields.get("clientId"),
        fields.get("clientHost"),
        member.epoch,
        member.state,
        is_leader=False,
        session_timeout_ms=classic.get("sessionTimeoutMs"),
        rebalance_timeout_ms=fields.get("rebalanceTimeoutMs"),
        subscription=subscription,
        assignment=_assigned(member.current, topic_names),
        target=_assigned(group.targets.get(name), topic_names),
        revoking=_revoking(member.current, topic_names),
    )


def _assigned(fields: Fields | None, topic_names: Mapping[str, str]) -> list[str]:
    """Return partitions or active tasks of an assignment by name."""
    if fields is None:
        return []
    if "activeTasks" in fields:
        return _tasks(fields["activeTasks"])
    listed: list[dict[str, Any]] = fields.get("assignedPartitions", fields.get("topicPartitions"))
    return _partitions(listed, topic_names)


def _revoking(fields: Fields | None, topic_names: Mapping[str, str]) -> list[str]:
    """Return partitions or active tasks that an assignment still has to give up, by name."""
    if fields is None:
        return []
    if "activeTasksPendingRevocation" in fields:
        return _tasks(fields["activeTasksPendingRevocation"])
    return _partitions(fields.get("partitionsPendingRevocation", ()), topic_names)


def _tasks(tasks: Iterable[Fields]) -> list[str]:
    return sorted(
        f"{task['subtopologyId']}_{number}" for task in tasks for number in task["partitions"]
    )


def _partitions(listed: Iterable[Fields], topic_names: Mapping[str, str]) -> list[str]:
    return _named(
        (topic_names.get(each["topicId"], each["topicId"]), each["partitions"]) for each in listed
    )


def _named(topics: Any) -> list[str]:
    pairs = sorted((topic, number) for topic, numbers in topics for number in numbers)
    return [f"{topic}-{number}" for topic, number in pairs]
