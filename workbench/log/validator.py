"""Check the records that a leader appends, and give them offsets, epoch, time and codec.

What need not change is left as it is: a batch that keeps its format and codec is changed in place,
in its header alone. Only what is converted or compressed anew is built anew.

Kafka: LogValidator (4.2)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.errors import (
    InvalidRecordError,
)
from workbench.layout.attributes import (
    CODEC_NAMES,
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    NONE,
)
from workbench.log.append_origin import AppendOrigin
from workbench.log.batch_checks import BatchChecks
from workbench.log.config import LogConfig
from workbench.log.record_rules import rules_of
from workbench.record.batch_fields import (
    set_last_offset,
    set_max_timestamp,
    set_offset_and_epoch,
)
from workbench.record.batch_records import columns_of
from workbench.record.builder import RecordsBuilder
from workbench.record.memory_records import MemoryRecords
from workbench.record.validation import (
    AppendedBatch,
    CheckedBatch,
    LogBatch,
    RecordRules,
    check_batches,
    verbatim_records,
)

_NO_OFFSET = -1


class ValidationResult(NamedTuple):
    """What was checked and numbered.

    Attributes:
        records: the same, or new ones.
        batches: what stands in them now.
        next_offset: behind the last record.
        max_timestamp: ms, -1: none.
        offset_of_max_timestamp: the last offset of the first batch that has it; -1: none.
        log_append_time: ms; the time of the append, whatever the topic's timestamps are.
        message_size_maybe_changed: whether the records were built anew.

    Kafka: LogValidator.ValidationResult (4.2)
    """

    records: MemoryRecords
    batches: Sequence[LogBatch]
    next_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time: int
    message_size_maybe_changed: bool = False


def number_ready(
    records: MemoryRecords,
    batches: list[CheckedBatch],
    rules: RecordRules,
    offset: int,
    leader_epoch: int,
) -> AppendedBatch | None:
    """Number the one batch of an append if that is all it needs, as nearly all do; else None.

    Args:
        records: changed in place.
        batches: what was found of them, of their records too.
        rules: of the topic, whose log has magic 2.
        offset: of the first record.
        leader_epoch: that the batch gets.
    """
    batch = batches[0]
    if not batch.is_ready or len(batches) > 1 or not rules.keeps(batch.codec):
        return None
    size, last_offset = batch.size, offset + batch.last_offset
    set_offset_and_epoch(records.buffer, 0, size, offset, leader_epoch)
    return AppendedBatch(2, size, offset, last_offset, batch.max_timestamp, leader_epoch)


class LogValidator:
    """Checks one append.

    Args:
        topic_partition: named in errors.
        config: of the topic.
        origin: a client's batches are checked in full.
        leader_epoch: that the batches get.
        now: ms; the time of the append.
        magic: the format that the log has.
    """

    __slots__ = ("_config", "_epoch", "_magic", "_now", "_origin", "_rules", "_where")

    def __init__(
        self,
        topic_partition: object,
        config: LogConfig,
        origin: AppendOrigin,
        leader_epoch: int,
        now: int,
        magic: int = 2,
    ) -> None:
        self._where = topic_partition
        self._config = config
        self._rules = rules_of(config)
        self._origin = origin
        self._epoch = leader_epoch
        self._now = now
        self._magic = magic

    def validate_and_assign(
        self, records: MemoryRecords, batches: list[CheckedBatch], offset: int
    ) -> ValidationResult:
        """Check the records and number them from ``offset`` on.

        Args:
            records: whole batches; changed in place where they are not built anew.
            batches: what `check_batches` says of them. If it was not asked for the records with the
                rules of `rules_of`, it is now.
            offset: of the first record.

        Raises:
            InvalidRecordError: a batch or record breaks a rule; which records is in the error.
            InvalidTimestampError: the time of a record is too far from now, or not its producer's.
            CorruptRecordError: a batch cannot be decompressed, or a message inside has a wrong CRC.
            UnsupportedForMessageFormatError: the log's format has no transactions or producer ids.

        Kafka: LogValidator.validateMessagesAndAssignOffsets (4.2)
        """
        if not batches:
            raise InvalidRecordError(f"{self._where}: there is no batch")
        rules = self._rules
        for batch in batches:
            if batch.checked_count < 0 and (batch.magic == 2 or batch.codec == NONE):
                batches = check_batches(records, rules, self._now)
                break
        ready = None
        if self._magic == 2:
            ready = number_ready(records, batches, rules, offset, self._epoch)
        if ready is None:
            return self._number_any(records, batches, offset)
        largest, last = ready.max_timestamp, ready.last_offset
        where = _NO_OFFSET if largest == NO_TIMESTAMP else last
        return ValidationResult(records, [ready], last + 1, largest, where, self._now)

    def _number_any(
        self, records: MemoryRecords, batches: list[CheckedBatch], offset: int
    ) -> ValidationResult:
        """Check and number what is not as nearly all appends are."""
        rules = self._rules
        source = NONE
        for batch in batches:
            source = batch.codec or source
        first = batches[0]
        if len(batches) > 1 and (first.magic >= 2 or source != NONE):
            raise InvalidRecordError(
                f"{self._where}: {len(batches)} batches, one is allowed when it is of magic 2 or "
                f"compressed"
            )
        target = source if rules.codec is None else rules.codec
        if source == NONE and target == NONE:
            if all(batch.magic == self._magic for batch in batches):
                return self._number_plain(records, batches, offset)
            checks = self._checks()
            for batch in batches:  # Kafka measures all records before it looks at headers
                checks.check_structure(batch)
            checks.check_all(records, batches)
            return self._build(records, batches, offset, NONE)
        return self._number_compressed(records, batches, offset, (source, target))

    def _checks(self) -> BatchChecks:
        return BatchChecks(str(self._where), self._rules, self._origin, self._now, self._magic)

    def _number_plain(
        self, records: MemoryRecords, batches: list[CheckedBatch], offset: int
    ) -> ValidationResult:
        """Number uncompressed batches that keep their format.

        Kafka: LogValidator.assignOffsetsNonCompressed (4.2)
        """
        first, largest, where = batches[0], NO_TIMESTAMP, _NO_OFFSET
        checks, numbered = self._checks(), []
        for batch in batches:
            checks.check_batch(first, batch)
            checks.check_records(records, batch)
            offset += batch.checked_count
            if batch.largest_timestamp > largest:
                largest, where = batch.largest_timestamp, offset - 1
            numbered.append(self._set_header(records, batch, offset - 1, batch.largest_timestamp))
        if self._rules.has_append_time and self._magic > 0:
            largest, where = self._now, numbered[0].last_offset
        return ValidationResult(records, numbered, offset, largest, where, self._now)

    def _number_compressed(
        self,
        records: MemoryRecords,
        batches: list[CheckedBatch],
        offset: int,
        codecs: tuple[int, int],
    ) -> ValidationResult:
        """Number one batch that is compressed or to be, in place if it can stay as it is.

        Kafka: LogValidator.validateMessagesAndAssignOffsetsCompressed (4.2)
        """
        source, target = codecs
        first = batches[0]
        stays = source == target and first.magic == self._magic and self._magic > 0
        if source == NONE and first.is_control:  # control records are not compressed
            stays = True
        is_in_order, count, largest = self._checks().check_all(records, batches)
        if self._magic > 0 and not is_in_order:
            if stays and first.magic == 2 and source != NONE:
                raise InvalidRecordError(
                    f"{self._where}: the offsets of a compressed batch do not go 0, 1, 2 …"
                )
            stays = False  # some old producers number their messages badly
        if not stays:
            return self._build(records, batches, offset, target)
        offset += count
        if self._rules.has_append_time:
            largest = self._now
        numbered = [self._set_header(records, first, offset - 1, largest)]
        where = _NO_OFFSET if largest == NO_TIMESTAMP else offset - 1
        return ValidationResult(records, numbered, offset, largest, where, self._now)

    def _set_header(
        self, records: MemoryRecords, batch: CheckedBatch, last_offset: int, largest: int
    ) -> AppendedBatch:
        """Set offsets, epoch and time in a header, and return what stands there now."""
        base_offset, epoch = batch.base_offset, -1
        if batch.magic == 2:
            base_offset += last_offset - batch.last_offset
            epoch = self._epoch
            set_offset_and_epoch(records.buffer, batch.position, batch.size, base_offset, epoch)
        else:
            set_last_offset(records.buffer, batch.position, last_offset)
            if base_offset >= 0:
                base_offset = last_offset
        if batch.magic > 0:
            timestamp_type = CREATE_TIME
            if self._rules.has_append_time:
                timestamp_type, largest = LOG_APPEND_TIME, self._now
            if timestamp_type != batch.timestamp_type or largest != batch.max_timestamp:
                set_max_timestamp(records.buffer, batch.position, timestamp_type, largest)
        return AppendedBatch(batch.magic, batch.size, base_offset, last_offset, largest, epoch)

    def _build(
        self, records: MemoryRecords, batches: list[CheckedBatch], offset: int, codec: int
    ) -> ValidationResult:
        """Build the records anew, in the log's format and another codec.

        Kafka: LogValidator.buildRecordsAndAssignOffsets (4.2)
        """
        first = batches[0]
        try:
            builder = RecordsBuilder(
                self._magic,
                CODEC_NAMES[codec],
                self._config.compression_level if self._rules.codec is not None else None,
                "LogAppendTime" if self._rules.has_append_time else "CreateTime",
                offset,
                self._now,
                producer_id=first.producer_id,
                producer_epoch=first.producer_epoch,
                base_sequence=first.base_sequence,
                is_transactional=bool(first.is_transactional),
                partition_leader_epoch=self._epoch,
            )
            self._copy(records, batches, builder)
            built = builder.build()
        except ValueError as error:  # what cannot be read or the format cannot have
            raise InvalidRecordError(f"{self._where}: {error}") from error
        largest, where = (NO_TIMESTAMP if fact is None else fact for fact in builder.info)
        return ValidationResult(
            built,
            check_batches(built),
            builder.next_offset,
            largest,
            where,
            self._now,
            message_size_maybe_changed=True,
        )

    def _copy(
        self, records: MemoryRecords, batches: list[CheckedBatch], builder: RecordsBuilder
    ) -> None:
        """Append all records to a builder, one offset after the other."""
        if len(batches) == 1 and batches[0].magic == self._magic == 2:
            if not self._copy_encoded(records, batches[0], builder):
                columns = columns_of(records.buffer, records.batches().rows)
                first = builder.next_offset
                offsets = np.arange(first, first + len(columns), dtype=np.int64)
                builder.append_columns(replace(columns, offsets=offsets))
            return
        for record in records.records():
            builder.append(record.timestamp, record.key, record.value, record.headers)

    @staticmethod
    def _copy_encoded(records: MemoryRecords, batch: CheckedBatch, builder: RecordsBuilder) -> bool:
        """Append the records as they stand if encoding them would give the same bytes."""
        if batch.timestamp_type != CREATE_TIME or batch.base_timestamp < NO_TIMESTAMP:
            return False
        encoded = verbatim_records(records.buffer, batch)
        if encoded is None:
            return False
        builder.append_encoded(
            encoded, batch.record_count, batch.base_timestamp, batch.largest_timestamp
        )
        return True
