"""Keys and values of control records: transaction markers, and records of a KRaft quorum.

A control batch has attribute bit 5 and holds at least one record. Keys are a `CONTROL_KEY`; a
transaction marker's value is an `END_TRANSACTION`, other values are flexible messages
(`record.control`). All fields are big-endian. Newer versions may append fields: a longer one is
read as version 0.

Kafka: ControlRecordType, EndTransactionMarker (4.2)
"""

from typing import Final

import numpy as np

CONTROL_KEY: Final = np.dtype([
    ("version", ">i2"),  # 0
    ("type", ">i2"),     # one of the numbers below
])  # fmt: skip

END_TRANSACTION: Final = np.dtype([
    ("version", ">i2"),            # 0
    ("coordinator_epoch", ">i4"),
])  # fmt: skip

ABORT: Final = 0
COMMIT: Final = 1
LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
KRAFT_VERSION: Final = 5
KRAFT_VOTERS: Final = 6
CONTROL_TYPE_NAMES: Final = {
    ABORT: "abort",
    COMMIT: "commit",
    LEADER_CHANGE: "leader_change",
    SNAPSHOT_HEADER: "snapshot_header",
    SNAPSHOT_FOOTER: "snapshot_footer",
    KRAFT_VERSION: "kraft_version",
    KRAFT_VOTERS: "kraft_voters",
}

CONTROL_VERSION: Final = 0  # version of keys and transaction markers; the only one

assert CONTROL_KEY.itemsize == 4
assert END_TRANSACTION.itemsize == 6
