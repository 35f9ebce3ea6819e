"""The records of a classic group: its metadata, and the empty group of a first join.

Kafka: GroupCoordinatorRecordHelpers, GroupMetadataManager.replay (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.coordinator.groups.classic.group import GROUP_METADATA, ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import Protocol
from workbench.coordinator.groups.classic.state import EMPTY, STABLE
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES

VALUE_VERSION: Final = 3
"""The version that Kafka 2.3 to 4.2 writes."""

_UNKNOWN: Final = -1


def group_metadata_record(
    group: ClassicGroup, assignments: Mapping[str, bytes]
) -> CoordinatorRecord:
    """Return the record of a group with its members and these assignments.

    Args:
        group: the group; with members it has a protocol.
        assignments: member id → assignment, for every member.

    Raises:
        ValueError: a member does not support the group's protocol.
        KeyError: a member has no assignment.
    """
    fields = group.fields()
    for member in fields["members"]:
        member["subscription"] = group.members[member["memberId"]].metadata(group.protocol)
        member["assignment"] = assignments[member["memberId"]]
    return _record(group, fields)


def empty_group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return the record that the first join of a group writes, whatever comes of the join."""
    empty = {"protocolType": "", "generation": 0, "protocol": None, "leader": None, "members": []}
    return _record(group, group.fields() | empty)


def _record(group: ClassicGroup, fields: dict[str, Any]) -> CoordinatorRecord:
    key = {"group": group.group_id}
    return encode_record(TYPES[GROUP_METADATA], GROUP_METADATA, key, fields, VALUE_VERSION)


def group_of_record(
    group_id: str, fields: Mapping[str, Any], offset: int | None, timestamp: int | None
) -> ClassicGroup:
    """Return the group that a record makes: stable with its members, or empty.

    A member knows only the chosen protocol, and one without rebalance timeout has the session's.

    Args:
        group_id: its name.
        fields: the fields of the value; the members' subscriptions and assignments are bytes.
        offset, timestamp: those of the record.

    Raises:
        GroupStateError: two members have one instance id.

    Kafka: GroupMetadataManager.replay (4.2), GroupMetadata.loadGroup (3.9)
    """
    stamp = fields.get("currentStateTimestamp", _UNKNOWN)
    state = STABLE if fields["members"] else EMPTY
    group = ClassicGroup(group_id, None if stamp == _UNKNOWN else stamp, state)
    group.record_offset, group.record_timestamp = offset, timestamp
    group.generation = fields["generation"]
    group.protocol_type = fields["protocolType"]
    group.protocol = fields["protocol"]
    group.leader = fields["leader"]
    for member in fields["members"]:
        rebalance, session = member.get("rebalanceTimeout", _UNKNOWN), member["sessionTimeout"]
        group.add(
            ClassicGroupMember(
                member["memberId"],
                member.get("groupInstanceId"),
                member["clientId"],
                member["clientHost"],
                session if rebalance == _UNKNOWN else rebalance,
                session,
                fields["protocolType"],
                (Protocol(fields["protocol"], member["subscription"]),),
                member["assignment"],
            )
        )
    group.subscribed_topics = group.compute_subscribed_topics()
    return group
