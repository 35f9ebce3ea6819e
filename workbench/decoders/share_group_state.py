"""The topic `__share_group_state`: which records of a partition a share group has delivered.

A snapshot holds the whole state of a share-partition, updates its later changes. Delivery states:
0 available, 2 acknowledged, 4 archived.

Kafka: ShareCoordinatorRecordSerde (4.3)
"""

from typing import Any, Final

from workbench.decoders import typed_records
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.typed_records import RecordType, record_type

_KEY: Final = """
    groupId: string
    topicId: uuid
    partition: int32
"""
_STATE_BATCHES: Final = """
    stateBatches: [
        firstOffset: int64
        lastOffset: int64
        deliveryState: int8
        deliveryCount: int16
    ]
"""

TYPES: Final[dict[int, RecordType]] = {
    0: record_type(
        "ShareSnapshot",
        _KEY,
        f"""
        snapshotEpoch: int32
        stateEpoch: int32
        leaderEpoch: int32
        startOffset: int64
        deliveryCompleteCount: int32 = -1 tag 0
        createTimestamp: int64
        writeTimestamp: int64
        {_STATE_BATCHES}
        """,
    ),
    1: record_type(
        "ShareUpdate",
        _KEY,
        f"""
        snapshotEpoch: int32
        leaderEpoch: int32
        startOffset: int64
        deliveryCompleteCount: int32 = -1 tag 0
        {_STATE_BATCHES}
        """,
    ),
}


def decode_key(data: Bytes | None) -> Any:
    """Return type, type_id and data of a key; see `typed_records.decode_key`."""
    return typed_records.decode_key(TYPES, data)


def decode_value(key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, version and data of a value; see `typed_records.decode_value`."""
    return typed_records.decode_value(TYPES, key, data)


SHARE_GROUP_STATE: Final = Decoder("share_group_state", decode_key, decode_value)
