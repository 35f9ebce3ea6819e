"""The topic `__remote_log_metadata`: which segments are in remote storage. Its keys are null.

Kafka: RemoteLogMetadataSerde (4.3)
"""

from typing import Any, Final

from workbench.decoders import api_records
from workbench.decoders.decoder import Bytes, Decoder
from workbench.decoders.hex import decode
from workbench.record.message_schema import Message, message

MESSAGES: Final[dict[int, Message]] = {
    0: message("RemoteLogSegmentMetadataRecord"),
    1: message("RemoteLogSegmentMetadataUpdateRecord"),
    2: message("RemotePartitionDeleteMetadataRecord"),
    3: message("RemoteLogSegmentMetadataSnapshotRecord"),
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
