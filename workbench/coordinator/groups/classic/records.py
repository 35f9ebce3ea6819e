"""The records of a classic group: its metadata, and the empty group of a first join.

Kafka: GroupCoordinatorRecordHelpers, GroupMetadataManager.replay (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.coordinator.groups.classic.group import ClassicGroup
from workbench.coordinator.groups.classic.member import ClassicGroupMember
from workbench.coordinator.groups.classic.messages import Protocol
from workbench.coordinator.groups.classic.state import EMPTY, STABLE
from workbench.coordinator.groups.group_records import GROUP_METADATA
from workbench.coordinator.groups.groups import ClassicGroup as LoadedGroup
from workbench.coordinator.groups.groups import Served
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES
from workbench.decoders.typed_records import read_value
from workbench.runtime.clock import Clock

VALUE_VERSION: Final = 3
"""The version that Kafka 2.3 to 4.2 writes."""

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
    fields = _fields(group)
    for member in fields["members"]:
        member["subscription"] = group.members[member["memberId"]].metadata(group.protocol_name)
        member["assignment"] = assignments[member["memberId"]]
    return _record(group, fields)


def _fields(group: ClassicGroup) -> dict[str, Any]:
    """Return the fields of a group's record; each member's metadata is that of its first choice."""
    return {
        "protocolType": group.protocol_type or "",
        "generation": group.generation_id,
        "protocol": group.protocol_name,
        "leader": group.leader_id,
        "members": [
            {
                "memberId": member.member_id,
                "clientId": member.client_id,
                "groupInstanceId": member.group_instance_id,
                "clientHost": member.client_host,
                "rebalanceTimeout": member.rebalance_timeout_ms,
                "sessionTimeout": member.session_timeout_ms,
                "subscription": next((each.metadata for each in member.supported_protocols), b""),
                "assignment": member.assignment,
            }
            for member in group.members.values()
        ],
    }


def as_loaded(group: ClassicGroup) -> LoadedGroup:
    """Return a group as readers see groups, in the state that it is in now."""
    fields = _fields(group) | {"currentStateTimestamp": _stamp(group)}
    if _TYPE.refine is not None:
        _TYPE.refine(fields)
    loaded = LoadedGroup.of_record(group.group_id, fields, None, None)
    loaded.served = Served(str(group.state), group.subscribed_topics)
    return loaded


def empty_group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return the record that the first join of a group writes, whatever comes of the join."""
    empty = {"protocolType": "", "generation": 0, "protocol": None, "leader": None, "members": []}
    return _record(group, empty)


def _record(group: ClassicGroup, fields: dict[str, Any]) -> CoordinatorRecord:
    fields["currentStateTimestamp"] = _stamp(group)
    key = {"group": group.group_id}
    return encode_record(_TYPE, GROUP_METADATA, key, fields, VALUE_VERSION)


def _stamp(group: ClassicGroup) -> int:
    return _UNKNOWN if group.state_timestamp is None else group.state_timestamp


def group_of_record(group_id: str, value: bytes, clock: Clock) -> ClassicGroup:
    """Return the group that a record's value makes: stable with its members, or empty.

    A member knows only the chosen protocol, and one without rebalance timeout has the session's.

    Raises:
        CorruptRecordError: the bytes do not fit.
        UnsupportedFormatError: the value's version is unknown.
        GroupStateError: two members have one instance id.
    """
    fields = read_value(_TYPE, value, refines=False).fields
    group = ClassicGroup(group_id, clock, STABLE if fields["members"] else EMPTY)
    stamp = fields.get("currentStateTimestamp", _UNKNOWN)
    group.state_timestamp = None if stamp == _UNKNOWN else stamp
    group.generation_id = fields["generation"]
    group.protocol_type = fields["protocolType"] or None
    group.protocol_name = fields["protocol"]
    group.leader_id = fields["leader"]
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
