"""The topic `__remote_log_metadata`: which segments are in remote storage. Its keys are null.

Kafka: RemoteLogMetadataSerde (4.3)
"""

from typing import Any, Final

from workbench.decoders import api_records
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.hex import decode
from workbench.record.message_schema import Message, declare

_TOPIC_ID_PARTITION: Final = """
    topicIdPartition: {
        name: string
        id: uuid
        partition: int32
    }
"""
_SEGMENT_ID: Final = f"""
    remoteLogSegmentId: {{
        {_TOPIC_ID_PARTITION}
        id: uuid
    }}
"""
_SEGMENT: Final = """
    startOffset: int64
    endOffset: int64
    brokerId: int32
    maxTimestampMs: int64
    eventTimestampMs: int64
    segmentLeaderEpochs: [
        leaderEpoch: int32
        offset: int64
    ]
    segmentSizeInBytes: int32
    customMetadata: ?bytes
    remoteLogSegmentState: int8
    txnIndexEmpty: bool tag 0
"""

MESSAGES: Final[dict[int, Message]] = {
    0: declare(
        "RemoteLogSegmentMetadataRecord",
        f"""
        {_SEGMENT_ID}
        {_SEGMENT}
        brokerLeaderEpoch: int32 tag 1 versions 1+
        """,
        highest=1,
    ),
    1: declare(
        "RemoteLogSegmentMetadataUpdateRecord",
        f"""
        {_SEGMENT_ID}
        brokerId: int32
        eventTimestampMs: int64
        customMetadata: ?bytes
        remoteLogSegmentState: int8
        """,
    ),
    2: declare(
        "RemotePartitionDeleteMetadataRecord",
        f"""
        {_TOPIC_ID_PARTITION}
        brokerId: int32
        eventTimestampMs: int64
        remotePartitionDeleteState: int8
        """,
    ),
    3: declare(
        "RemoteLogSegmentMetadataSnapshotRecord",
        f"""
        segmentId: uuid
        {_SEGMENT}
        """,
    ),
}

SEGMENT_STATE_NAMES: Final = {
    0: "COPY_SEGMENT_STARTED",
    1: "COPY_SEGMENT_FINISHED",
    2: "DELETE_SEGMENT_STARTED",
    3: "DELETE_SEGMENT_FINISHED",
}


def decode_value(_key: Bytes | None, data: Bytes | None) -> Any:
    """Return type, type_id, version and data, and ``state``, the name of a segment's state."""
    if data is None:
        return None
    value = api_records.decode_value(MESSAGES, data)
    number = value.get("data", {}).get("remoteLogSegmentState")
    if number is not None:
        value["state"] = SEGMENT_STATE_NAMES.get(number, f"unknown ({number})")
    return value


REMOTE_LOG_METADATA: Final = Decoder("remote_log_metadata", decode, decode_value)
