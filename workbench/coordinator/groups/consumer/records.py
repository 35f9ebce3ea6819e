"""The records that a change of a consumer group writes.

Kafka: GroupCoordinatorRecordHelpers (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.coordinator.groups.consumer.member import Assignment, ConsumerMember, fields_of
from workbench.coordinator.runtime.records import CoordinatorRecord, encode_record
from workbench.decoders.consumer_offsets import TYPES

_GROUP: Final = 3
_MEMBER: Final = 5
_TARGET_EPOCH: Final = 6
_TARGET: Final = 7
_CURRENT: Final = 8
_REGEX: Final = 16
_PARTITION_METADATA: Final = 4  # which brokers of 4.0 wrote


def _record(
    type_id: int, key: dict[str, Any], value: dict[str, Any] | None = None
) -> CoordinatorRecord:
    return encode_record(TYPES[type_id], type_id, key, value)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a group's epoch."""
    return _record(_GROUP, {"groupId": group_id}, {"epoch": epoch, "metadataHash": metadata_hash})


def member_metadata(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of what a member's client says."""
    return _record(_MEMBER, _of(group_id, member.member_id), member.metadata())


def target_assignment(
    group_id: str, member_id: str, partitions: Assignment, *, is_ascending: bool = False
) -> CoordinatorRecord:
    """Return the record of what a member is to get."""
    topics = fields_of(partitions, is_ascending=is_ascending)
    return _record(_TARGET, _of(group_id, member_id), {"topicPartitions": topics})


def target_epoch(group_id: str, epoch: int) -> CoordinatorRecord:
    """Return the record of the epoch of the target assignment."""
    return _record(_TARGET_EPOCH, {"groupId": group_id}, {"assignmentEpoch": epoch})


def current_assignment(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Return the record of what a member has."""
    return _record(_CURRENT, _of(group_id, member.member_id), member.current())


def regular_expression(group_id: str, regex: str, resolved: Mapping[str, Any]) -> CoordinatorRecord:
    """Return the record of what a regular expression resolves to."""
    key = {"groupId": group_id, "regularExpression": regex}
    return _record(_REGEX, key, dict(resolved))


def regular_expression_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Return the tombstone of a regular expression that no member has any more."""
    return _record(_REGEX, {"groupId": group_id, "regularExpression": regex})


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the tombstone of the topics' metadata that brokers of 4.0 wrote."""
    return _record(_PARTITION_METADATA, {"groupId": group_id})


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the tombstones of a member."""
    return [_record(each, _of(group_id, member_id)) for each in (_CURRENT, _TARGET, _MEMBER)]


def _of(group_id: str, member_id: str) -> dict[str, Any]:
    return {"groupId": group_id, "memberId": member_id}
