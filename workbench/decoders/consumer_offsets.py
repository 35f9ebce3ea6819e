"""The topic `__consumer_offsets`: committed offsets and the state of groups of every kind.

Types 0 and 1 are both offset commits (0: Kafka 0.8.2), 2 are classic groups. A transactional commit
is an ordinary record in a transactional batch: it holds only once the marker after it commits.

Kafka: GroupCoordinatorRecordSerde (4.3)
"""

import struct
from typing import Any, Final

from workbench.decoders import typed_records
from workbench.decoders.consumer_groups import CONSUMER_GROUP_TYPES
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.share_groups import SHARE_GROUP_TYPES
from workbench.decoders.streams_groups import STREAMS_GROUP_TYPES
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
    **CONSUMER_GROUP_TYPES,
    **SHARE_GROUP_TYPES,
    **STREAMS_GROUP_TYPES,
}


def decode_key(data: Bytes | None) -> Any:
    """Return type, type_id and data of a key; see `typed_records.decode_key`."""
    return typed_records.decode_key(TYPES, data)


def decode_value(key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, version and data of a value; see `typed_records.decode_value`.

    The subscription and assignment of a consumer in a classic group are decoded too.
    """
    return typed_records.decode_value(TYPES, key, data)


CONSUMER_OFFSETS: Final = Decoder("consumer_offsets", decode_key, decode_value)
