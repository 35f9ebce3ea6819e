"""A producer snapshot: one header, then one entry for each producer id. All fields are big-endian.

The CRC is CRC-32C of everything after it. Entries have no order.

Kafka: ProducerStateManager, ProducerSnapshot.json (4.0)
"""

from typing import Final

import numpy as np

from workbench.layout.structure import place

SNAPSHOT_HEADER: Final = np.dtype([
    ("version", ">i2"),  # 1
    ("crc", ">u4"),
    ("count", ">i4"),    # entries
])  # fmt: skip

PRODUCER_ENTRY: Final = np.dtype([
    ("producer_id", ">i8"),
    ("producer_epoch", ">i2"),
    ("last_sequence", ">i4"),       # -1: no data batch since the last marker was written
    ("last_offset", ">i8"),         # the newest data batch's; -1: none
    ("offset_delta", ">i4"),        # last_offset - first offset of that batch
    ("timestamp", ">i8"),           # ms; that batch's, or the newest marker's
    ("coordinator_epoch", ">i4"),   # the newest marker's; -1: none
    ("current_transaction_first_offset", ">i8"),  # -1: no open transaction
])  # fmt: skip

SNAPSHOT_VERSION: Final = 1  # the only one
CRC_FROM: Final = place(SNAPSHOT_HEADER, "count")  # the first byte that the CRC covers

assert SNAPSHOT_HEADER.itemsize == 10
assert PRODUCER_ENTRY.itemsize == 46
