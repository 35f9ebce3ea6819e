"""The outputs and options of the validation kernels: one row of numbers per appended batch.

A row is int64[COLUMNS], which Python converts as a whole to a `CheckedRow`.
"""

from typing import Final, NamedTuple

# Options of the validation kernels.
CHECK_RECORDS: Final = 1  # check the records of uncompressed batches, too
NEEDS_KEYS: Final = 2  # the topic is compacted: a record without a key is rejected
APPEND_TIME: Final = 4  # the topic's timestamps are append times
HEADS_ONLY: Final = 8  # as Kafka skips compressed records: their lengths are not trusted


class CheckedRow(NamedTuple):
    """What the validation kernels find out about a batch. -1: none, or not in the header.

    Attributes:
        position: the batch's position in the records.
        size: the size in bytes.
        base_offset: -1 for a compressed message of magic 0 or 1.
        base_timestamp, max_timestamp: ms, as stored.
        codec: its id.
        timestamp_type: 0 CreateTime, 1 LogAppendTime, -1 in magic 0.
        is_transactional, is_control: 0 or 1.
        record_count: as stored; -1 for a compressed message of magic 0 or 1.
        crc, computed_crc: as stored, and of the bytes.
        problem: one of `layout.problems`, with the whole batch: too short, CRC, unknown codec.
        record_problem: one of `layout.problems`, with its records. This and the following fields
            are set only if the records are checked and are not messages inside messages.
        record_problem_at: the problem's position; in the decompressed records if compressed.
        checked_count: the number of records checked; -1: none were to be.
        largest_timestamp: the records' largest timestamp in ms.
        refused_count: the number of records without a required key, or with an invalid time.
        is_in_order: 1 if the records' offsets are 0, 1, 2 …, as a producer numbers them.
        is_ready: 1 for a batch of magic 2 from a producer that breaks no rule, and in which a
            leader need set nothing but offset and epoch.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    base_timestamp: int
    max_timestamp: int
    partition_leader_epoch: int
    magic: int
    attributes: int
    codec: int
    timestamp_type: int
    is_transactional: int
    is_control: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    record_count: int
    crc: int
    computed_crc: int
    problem: int
    record_problem: int
    record_problem_at: int
    checked_count: int
    largest_timestamp: int
    refused_count: int
    is_in_order: int
    is_ready: int


COLUMNS: Final = len(CheckedRow._fields)
AT: Final = CheckedRow(*range(COLUMNS))
"""The column of each fact: `row[AT.magic]`."""
