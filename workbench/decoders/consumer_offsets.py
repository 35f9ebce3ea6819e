"""The topic `__consumer_offsets`: committed offsets and the state of groups of every kind.

Types 0 and 1 are both offset commits (0: Kafka 0.8.2), 2 are classic groups; those of consumer
groups are KIP-848's, of share groups KIP-932's, of streams groups KIP-1071's. The early access of
share groups in 4.0 and of streams groups in 4.1 wrote other fields under the same versions. A
transactional commit is an ordinary record in a transactional batch: it holds only once the marker
after it commits.

Kafka: GroupCoordinatorRecordSerde (4.3)
"""

import struct
from typing import Any, Final

from workbench.decoders import typed_records
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.typed_records import RecordType, record_type
from workbench.errors import CorruptRecordError
from workbench.record.message_schema import Message, message

_VERSION: Final = struct.Struct(">h")

SUBSCRIPTION: Final = message("ConsumerProtocolSubscription")
ASSIGNMENT: Final = message("ConsumerProtocolAssignment")


def _expand_members(group: dict[str, Any]) -> None:
    """Decode the bytes of consumers' subscriptions and assignments in place."""
    if group["protocolType"] != "consumer":
        return
    for member in group["members"]:
        for name, known in (("subscription", SUBSCRIPTION), ("assignment", ASSIGNMENT)):
            member[name] = decoded(known, member[name])


def decoded(known: Message, data: bytes) -> Any:
    """Return the fields of a subscription or assignment; bytes that do not fit as they are."""
    if len(data) < _VERSION.size:
        return data
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        return data
    try:
        # A newer version only appends fields.
        values, _ = known.decode(data, min(version, known.highest), _VERSION.size)
    except CorruptRecordError:
        return data
    return values


_OFFSET_COMMIT: Final = record_type("OffsetCommit")

TYPES: Final[dict[int, RecordType]] = {
    0: _OFFSET_COMMIT,
    1: _OFFSET_COMMIT,
    2: record_type("GroupMetadata", refine=_expand_members),
    3: record_type("ConsumerGroupMetadata"),
    4: record_type("ConsumerGroupPartitionMetadata"),
    5: record_type("ConsumerGroupMemberMetadata"),
    6: record_type("ConsumerGroupTargetAssignmentMetadata"),
    7: record_type("ConsumerGroupTargetAssignmentMember"),
    8: record_type("ConsumerGroupCurrentMemberAssignment"),
    9: record_type("ShareGroupPartitionMetadata"),
    10: record_type("ShareGroupMemberMetadata"),
    11: record_type("ShareGroupMetadata"),
    12: record_type("ShareGroupTargetAssignmentMetadata"),
    13: record_type("ShareGroupTargetAssignmentMember"),
    14: record_type("ShareGroupCurrentMemberAssignment"),
    15: record_type("ShareGroupStatePartitionMetadata"),
    16: record_type("ConsumerGroupRegularExpression"),
    17: record_type("StreamsGroupMetadata"),
    18: record_type("StreamsGroupPartitionMetadata"),
    19: record_type("StreamsGroupMemberMetadata"),
    20: record_type("StreamsGroupTargetAssignmentMetadata"),
    21: record_type("StreamsGroupTargetAssignmentMember"),
    22: record_type("StreamsGroupCurrentMemberAssignment"),
    23: record_type("StreamsGroupTopology"),
}
"""By the number in a key: committed offsets; classic, consumer, share and streams groups."""


def decode_key(data: Bytes | None) -> Any:
    """Return type, type_id and data of a key; see `typed_records.decode_key`."""
    return typed_records.decode_key(TYPES, data)


def decode_value(key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, version and data of a value; see `typed_records.decode_value`.

    The subscription and assignment of a consumer in a classic group are decoded too.
    """
    return typed_records.decode_value(TYPES, key, data)


CONSUMER_OFFSETS: Final = Decoder("consumer_offsets", decode_key, decode_value)
