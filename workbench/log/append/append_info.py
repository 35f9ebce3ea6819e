"""What is known about an append before and after the write.

Kafka: LogAppendInfo, LogValidator.ValidationResult (4.2)
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch

UNKNOWN_OFFSET: Final = -1


@dataclass(slots=True)
class LogAppendInfo:
    """The result of an append.

    Attributes:
        first_offset: -1 if a follower's first batch has magic 0 or 1, which does not store it.
        last_offset: inclusive; -1 when nothing was appended.
        last_leader_epoch: the last batch's epoch; None if it has none.
        max_timestamp: ms; -1 if no record has one.
        log_append_time: ms; -1 unless `message.timestamp.type` is LogAppendTime.
        log_start_offset: the log's at that time.
        source_codec: the records' codec as received.
        valid_bytes: bytes of the complete batches.
        last_offset_of_first_batch: -1 when there is none.
        has_producers: whether any of its batches has a producer id.
        is_duplicate: whether a producer sent these records before; they are not written twice.

    Kafka: LogAppendInfo (4.2)
    """

    first_offset: int
    last_offset: int
    last_leader_epoch: int | None
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    source_codec: int
    valid_bytes: int
    last_offset_of_first_batch: int
    has_producers: bool = False
    is_duplicate: bool = False

    @property
    def first_or_last_offset_of_first_batch(self) -> int:
        """The first offset if it is known, otherwise the last of the first batch."""
        if self.first_offset != UNKNOWN_OFFSET:
            return self.first_offset
        return self.last_offset_of_first_batch


class ValidationResult(NamedTuple):
    """The checked records and their offsets.

    Attributes:
        records: the given records, or new ones.
        batches: their batches after the change.
        next_offset: offset after the last record.
        max_timestamp: ms, -1: none.
        offset_of_max_timestamp: last offset of the first batch that has it; -1: none.
        log_append_time: ms; the time of the append, for any timestamp type of the topic.
        message_size_maybe_changed: whether the records were rebuilt.

    Kafka: LogValidator.ValidationResult (4.2)
    """

    records: MemoryRecords
    batches: list[CheckedBatch]
    next_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time: int
    message_size_maybe_changed: bool = False
