"""The outputs and options of the validation kernels: one row of numbers per appended batch.

A row is int64[COLUMNS], which Python converts as a whole; `CheckedBatch` of
`record.writing.batch_checks` has the same fields in the same order and documents them.
"""

from typing import Final

# Options of the validation kernels.
CHECK_RECORDS: Final = 1  # check the records of uncompressed batches, too
NEEDS_KEYS: Final = 2  # the topic is compacted: a record without a key is rejected
APPEND_TIME: Final = 4  # the topic's timestamps are append times
HEADS_ONLY: Final = 8  # as Kafka skips compressed records: their lengths are not trusted

# Columns of a row.
POSITION: Final = 0
SIZE: Final = 1
BASE_OFFSET: Final = 2
LAST_OFFSET: Final = 3
BASE_TIMESTAMP: Final = 4
MAX_TIMESTAMP: Final = 5
LEADER_EPOCH: Final = 6
MAGIC: Final = 7
ATTRIBUTES: Final = 8
CODEC: Final = 9
TIMESTAMP_TYPE: Final = 10
IS_TRANSACTIONAL: Final = 11
IS_CONTROL: Final = 12
PRODUCER_ID: Final = 13
PRODUCER_EPOCH: Final = 14
BASE_SEQUENCE: Final = 15
LAST_SEQUENCE: Final = 16
RECORD_COUNT: Final = 17
CRC: Final = 18
COMPUTED_CRC: Final = 19
PROBLEM: Final = 20
RECORD_PROBLEM: Final = 21
RECORD_PROBLEM_AT: Final = 22
CHECKED_COUNT: Final = 23
LARGEST_TIMESTAMP: Final = 24
REFUSED_COUNT: Final = 25
IS_IN_ORDER: Final = 26
IS_READY: Final = 27
COLUMNS: Final = 28
