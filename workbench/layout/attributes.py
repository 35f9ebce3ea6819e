"""Bits of the attributes of batches and messages, and the ids and names in them.

Bits 0-2 hold the codec, bit 3 the timestamp type; bits 4 to 6 exist in magic 2 only.

Kafka: DefaultRecordBatch, LegacyRecord, CompressionType, TimestampType (4.2)
"""

from typing import Final

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40  # base_timestamp is the delete horizon (KIP-534, since 3.1)

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")
LARGEST_CODEC: Final = len(CODEC_NAMES) - 1

NO_TIMESTAMP_TYPE: Final = -1
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1
TIMESTAMP_TYPE_NAMES: Final = {CREATE_TIME: "CreateTime", LOG_APPEND_TIME: "LogAppendTime"}

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1
UNKNOWN: Final = -1  # an offset or count that the header does not have


def codec_name(codec: int) -> str:
    """Return Kafka's name for a codec id, or ``unknown (5)``."""
    return CODEC_NAMES[codec] if 0 <= codec < len(CODEC_NAMES) else f"unknown ({codec})"
