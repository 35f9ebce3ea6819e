"""The records of a classic group: its metadata, the empty group of a first join, the tombstone.

Kafka: GroupCoordinatorRecordHelpers, GroupMetadataManager.replay (4.2)
"""

import struct
from collections.abc import Mapping
from typing import Any, Final

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import Protocol
from workbench.coordinator.groups.classic.state import EMPTY, STABLE
from workbench.coordinator.groups.group_records import GROUP_METADATA
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES
from workbench.runtime.clock import Clock

VALUE_VERSION: Final = 3
"""The version that Kafka 2.3 to 4.2 writes."""

_NUMBER: Final = struct.Struct(">h")
_UNKNOWN: Final = -1
_TYPE: Final = TYPES[GROUP_METADATA]


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
    return _record(
        group,
        {
            "protocolType": group.protocol_type or "",
            "generation": group.generation_id,
            "protocol": group.protocol_name,
            "leader": group.leader_id,
            "members": [
                {
                    "memberId": member.member_id,
                    "groupInstanceId": member.group_instance_id,
                    "clientId": member.client_id,
                    "clientHost": member.client_host,
                    "rebalanceTimeout": member.rebalance_timeout_ms,
                    "sessionTimeout": member.session_timeout_ms,
                    "subscription": member.metadata(group.protocol_name),
                    "assignment": assignments[member.member_id],
                }
                for member in group.members.values()
            ],
        },
    )


def empty_group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return the record that the first join of a group writes, whatever comes of the join."""
    empty = {"protocolType": "", "generation": 0, "protocol": None, "leader": None, "members": []}
    return _record(group, empty)


def group_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes a group."""
    return encode_record(_TYPE, GROUP_METADATA, {"group": group_id})


def _record(group: ClassicGroup, fields: dict[str, Any]) -> CoordinatorRecord:
    stamp = group.state_timestamp
    fields["currentStateTimestamp"] = _UNKNOWN if stamp is None else stamp
    key = {"group": group.group_id}
    return encode_record(_TYPE, GROUP_METADATA, key, fields, VALUE_VERSION)


def group_of_record(group_id: str, value: bytes, clock: Clock) -> ClassicGroup:
    """Return the group that a record's value makes: stable with its members, or empty.

    A member knows only the chosen protocol, and one without rebalance timeout has the session's.

    Raises:
        CorruptRecordError: the bytes do not fit.
        UnsupportedFormatError: the value's version is unknown.
        GroupStateError: two members have one instance id.
    """
    (version,) = _NUMBER.unpack_from(value)
    fields, _ = _TYPE.value.decode(value, version, _NUMBER.size)
    group = ClassicGroup(group_id, clock, STABLE if fields["members"] else EMPTY)
    stamp = fields["currentStateTimestamp"]
    group.state_timestamp = None if stamp == _UNKNOWN else stamp
    group.generation_id = fields["generation"]
    group.protocol_type = fields["protocolType"] or None
    group.protocol_name = fields["protocol"]
    group.leader_id = fields["leader"]
    for member in fields["members"]:
        rebalance, session = member["rebalanceTimeout"], member["sessionTimeout"]
        group.add(
            ClassicGroupMember(
                member["memberId"],
                member["groupInstanceId"],
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
