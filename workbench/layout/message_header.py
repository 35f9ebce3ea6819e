"""Entries of magic 0 and 1: offset, size, then one message. All fields are big-endian.

The CRC is CRC-32 (zlib's) of everything after it, from the magic to the end of the message.
After the header come `key size` (int32, negative: null), the key, `value size`, the value. With a
codec in the attributes the message is a *wrapper*: its key is null and its value a compressed run
of entries. The wrapper's offset is its last entry's; inner offsets are absolute in magic 0
and relative to the first in magic 1.

Kafka: org.apache.kafka.common.record.LegacyRecord, AbstractLegacyRecordBatch (4.2)
"""

from typing import Final

import numpy as np

from workbench.layout.structure import place

MESSAGE_V0: Final = np.dtype([
    ("offset", ">i8"),     # the message's; in a wrapper the last inner message's
    ("size", ">i4"),       # bytes after this field
    ("crc", ">u4"),
    ("magic", ">i1"),
    ("attributes", ">i1"), # bits 0-2: codec
])  # fmt: skip

MESSAGE_V1: Final = np.dtype(
    [
        *[(name, MESSAGE_V0[name]) for name in MESSAGE_V0.names or ()],
        ("timestamp", ">i8"),  # ms, -1: none; attribute bit 3: LogAppendTime
    ]
)

MESSAGE_SIZE_AT: Final = place(MESSAGE_V0, "size")
MESSAGE_CRC_AT: Final = place(MESSAGE_V0, "crc")
MESSAGE_CRC_FROM: Final = place(MESSAGE_V0, "magic")
MESSAGE_ATTRIBUTES_AT: Final = place(MESSAGE_V0, "attributes")
MESSAGE_TIMESTAMP_AT: Final = place(MESSAGE_V1, "timestamp")
SMALLEST_MESSAGE: Final = (
    14  # crc, magic, attributes and two sizes: Kafka's "minimum record overhead"
)
SMALLEST_ENTRY: Final = MESSAGE_CRC_AT + SMALLEST_MESSAGE

assert MESSAGE_V0.itemsize == 18
assert MESSAGE_V1.itemsize == 26
