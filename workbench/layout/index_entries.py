"""Entries of the three index files of a segment. All fields are big-endian.

None of the files has a header or a checksum: they are runs of these entries. Relative offsets count
from the segment's base offset, which is in the file's name.

Kafka: OffsetIndex, TimeIndex, AbortedTxn of org.apache.kafka.storage.internals.log (4.0)
"""

from typing import Final

import numpy as np

OFFSET_ENTRY: Final = np.dtype([
    ("relative_offset", ">i4"),  # first offset of the batch up to Kafka 1.1, last offset since 2.0
    ("position", ">i4"),         # the batch's, in the .log file; 0 is never indexed
])  # fmt: skip

TIME_ENTRY: Final = np.dtype([
    ("timestamp", ">i8"),        # ms; the segment's largest so far
    ("relative_offset", ">i4"),  # the batch's (or record's, before 3.8) with that timestamp
])  # fmt: skip

ABORTED_TRANSACTION: Final = np.dtype([
    ("version", ">i2"),             # 0; a broker reads only the first of the two bytes
    ("producer_id", ">i8"),
    ("first_offset", ">i8"),        # the transaction's first record's
    ("last_offset", ">i8"),         # the ABORT marker's
    ("last_stable_offset", ">i8"),  # the log's once this transaction was decided
])  # fmt: skip

ABORTED_TRANSACTION_VERSION: Final = 0  # the only one

assert OFFSET_ENTRY.itemsize == 8
assert TIME_ENTRY.itemsize == 12
assert ABORTED_TRANSACTION.itemsize == 34
