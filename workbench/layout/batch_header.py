"""Header of a record batch, magic 2: 61 bytes before the records. All fields are big-endian.

The CRC is CRC-32C of everything after it, attributes to the end of the batch. The leader epoch
stands before it, so that a broker can set it without touching the CRC. `base_offset`,
`batch_length` and `magic` stand at the same places in every format (`ENTRY_HEADER`).

Kafka: org.apache.kafka.common.record.DefaultRecordBatch (4.2)
"""

from typing import Final

import numpy as np

from workbench.layout.structure import place

BATCH_HEADER: Final = np.dtype([
    ("base_offset", ">i8"),             # of the original batch; kept when compaction drops records
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

BATCH_HEADER_SIZE: Final = BATCH_HEADER.itemsize
LENGTH_END: Final = place(BATCH_HEADER, "partition_leader_epoch")  # what batch_length leaves out
MAGIC_AT: Final = place(BATCH_HEADER, "magic")
ENTRY_HEADER_SIZE: Final = MAGIC_AT + 1  # enough to know an entry's size and format
CRC_FROM: Final = place(BATCH_HEADER, "attributes")
SMALLEST_RECORD: Final = 7  # a length byte and six one-byte fields

assert BATCH_HEADER_SIZE == 61
