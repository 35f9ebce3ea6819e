"""A consumer group of KIP-848 as admin clients see it.

Kafka: ConsumerGroup.asDescribedGroup, ConsumerGroupMember.asConsumerGroupDescribeMember (4.2)
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.coordinator.groups.groups import ModernGroup, ModernMember
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.messages.consumer_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
)

_CLASSIC, _CONSUMER = 0, 1  # types of a member: the protocol that it speaks
_NO_FIELDS: Final[Mapping[str, Any]] = {}


def described_consumer_group(group: ModernGroup, names_by_id: Mapping[str, str]) -> DescribedGroup:
    """Return what a response says of a group.

    Args:
        group: the group.
        names_by_id: topic id → topic; partitions of others are left out.
    """
    return {
        "errorCode": ErrorCode.NONE,
        "groupId": group.group_id,
        "groupState": group.state,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.assignment_epoch,
        "assignorName": group.protocol or "",
        "members": [
            _member(member, group.targets.get(member.member_id, _NO_FIELDS), names_by_id)
            for member in group.members.values()
        ],
    }


def _member(
    member: ModernMember, target: Mapping[str, Any], names_by_id: Mapping[str, str]
) -> Member:
    metadata, current = member.metadata or _NO_FIELDS, member.current or _NO_FIELDS
    is_classic = metadata.get("classicMemberMetadata") is not None
    return {
        "memberId": member.member_id,
        "instanceId": metadata.get("instanceId"),
        "rackId": metadata.get("rackId"),
        "memberEpoch": member.epoch,
        "clientId": metadata.get("clientId", ""),
        "clientHost": metadata.get("clientHost", ""),
        "subscribedTopicNames": metadata.get("subscribedTopicNames", []),
        "subscribedTopicRegex": metadata.get("subscribedTopicRegex"),
        "assignment": _assignment(current.get("assignedPartitions", ()), names_by_id),
        "targetAssignment": _assignment(target.get("topicPartitions", ()), names_by_id),
        "memberType": _CLASSIC if is_classic else _CONSUMER,
    }


def _assignment(topics: Iterable[Mapping[str, Any]], names_by_id: Mapping[str, str]) -> Assignment:
    return {
        "topicPartitions": [
            {
                "topicId": topic["topicId"],
                "topicName": names_by_id[topic["topicId"]],
                "partitions": topic["partitions"],
            }
            for topic in topics
            if topic["topicId"] in names_by_id
        ]
    }
