"""Header of a record batch, magic 2: 61 bytes before the records. All fields are big-endian.

The CRC is CRC-32C of everything after it, attributes to the end of the batch. The leader epoch
comes before it, so a broker can set the epoch without touching the CRC. `base_offset`,
`batch_length` and `magic` are at the same positions in every magic (`ENTRY_HEADER`).

Kafka: org.apache.kafka.common.record.DefaultRecordBatch (4.2)
"""

from typing import Final

import numpy as np

from workbench.layout.structure import place

BATCH_HEADER: Final = np.dtype([
    ("base_offset", ">i8"),             # first of the original batch; compaction keeps it
    ("batch_length", ">i4"),            # bytes after this field
    ("partition_leader_epoch", ">i4"),  # -1 until a leader appends it
    ("magic", ">i1"),
    ("crc", ">u4"),
    ("attributes", ">i2"),              # bits in layout.attributes
    ("last_offset_delta", ">i4"),       # kept by compaction: may exceed record_count - 1
    ("base_timestamp", ">i8"),          # ms; the delete horizon when attribute bit 6 is set
    ("max_timestamp", ">i8"),           # ms
    ("producer_id", ">i8"),             # -1: not idempotent
    ("producer_epoch", ">i2"),
    ("base_sequence", ">i4"),           # wraps from 2**31 - 1 to 0
    ("record_count", ">i4"),            # 0 in a batch kept only for its producer state
])  # fmt: skip

BATCH_LENGTH_AT: Final = place(BATCH_HEADER, "batch_length")
PARTITION_LEADER_EPOCH_AT: Final = place(BATCH_HEADER, "partition_leader_epoch")
MAGIC_AT: Final = place(BATCH_HEADER, "magic")
CRC_AT: Final = place(BATCH_HEADER, "crc")
ATTRIBUTES_AT: Final = place(BATCH_HEADER, "attributes")
LAST_OFFSET_DELTA_AT: Final = place(BATCH_HEADER, "last_offset_delta")
BASE_TIMESTAMP_AT: Final = place(BATCH_HEADER, "base_timestamp")
MAX_TIMESTAMP_AT: Final = place(BATCH_HEADER, "max_timestamp")
PRODUCER_ID_AT: Final = place(BATCH_HEADER, "producer_id")
PRODUCER_EPOCH_AT: Final = place(BATCH_HEADER, "producer_epoch")
BASE_SEQUENCE_AT: Final = place(BATCH_HEADER, "base_sequence")
RECORD_COUNT_AT: Final = place(BATCH_HEADER, "record_count")

BATCH_HEADER_SIZE: Final = BATCH_HEADER.itemsize
LENGTH_END: Final = PARTITION_LEADER_EPOCH_AT  # batch_length does not count these bytes
ENTRY_HEADER_SIZE: Final = MAGIC_AT + 1  # enough to know an entry's size and magic
CRC_FROM: Final = ATTRIBUTES_AT
SMALLEST_RECORD: Final = 7  # a length byte and six one-byte fields

assert BATCH_HEADER_SIZE == 61
