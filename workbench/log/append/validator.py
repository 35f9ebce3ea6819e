"""Check the records that a leader appends, and assign offsets, epoch, time and codec.

Bytes that need not change stay: a batch that keeps its format and codec is changed in place, only
in its header. Only batches that are converted or recompressed are rebuilt.

Kafka: LogValidator (4.2)
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from workbench.config.changed_defaults import told
from workbench.config.log_config import LogConfig
from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedForMessageFormatError,
)
from workbench.layout import problems
from workbench.layout.attributes import (
    CODEC_NAMES,
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    NONE,
)
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import columns_of
from workbench.record.reading.reader import KEYS
from workbench.record.writing.batch_checks import (
    AppendedBatch,
    CheckedBatch,
    LogBatch,
    RecordRules,
    check_batches,
    verbatim_records,
    wrapped_messages,
)
from workbench.record.writing.batch_fields import (
    set_last_offset,
    set_max_timestamp,
    set_offset_and_epoch,
)
from workbench.record.writing.builder import RecordsBuilder

APPEND_TIME: Final = "LogAppendTime"
_SHOWN: Final = 3  # record errors that a message shows; the exception has all
_MOST_KEPT: Final = 256
_KEPT: Final[dict[int, tuple[LogConfig, RecordRules]]] = {}
_NO_OFFSET: Final = -1


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
    batches: Sequence[LogBatch]
    next_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time: int
    message_size_maybe_changed: bool = False


def rules_of(config: LogConfig) -> RecordRules:
    """Return the rules that a topic's configuration sets for records; the same object each time.

    Kafka: the arguments of LogValidator (4.2)
    """
    kept = _KEPT.get(id(config))
    if kept is not None and kept[0] is config:
        return kept[1]
    codec = config.target_codec
    rules = RecordRules(
        needs_keys=config.compact,
        has_append_time=config.message_timestamp_type == APPEND_TIME,
        before_ms=config.message_timestamp_before_max_ms,
        after_ms=config.message_timestamp_after_max_ms,
        codec=None if codec is None else CODEC_NAMES.index(codec),
    )
    if len(_KEPT) >= _MOST_KEPT:
        _KEPT.clear()
    _KEPT[id(config)] = (config, rules)  # keeping the config alive keeps its id from being reused
    return rules


class _CheckedRecords(NamedTuple):
    """What is known about records that break no rule.

    Attributes:
        is_in_order: whether their offsets are 0, 1, 2 …
        record_count: number of records.
        max_timestamp: ms, -1: none.
    """

    is_in_order: bool
    record_count: int
    max_timestamp: int


class LogValidator:
    """Checks one append and assigns its offsets.

    Args:
        topic_partition: the partition, named in errors.
        config: the topic's configuration.
        origin: the source of the records; a client's batches are checked in full.
        leader_epoch: the epoch to assign to the batches.
        now: ms; the time of the append.
        magic: the log's magic.
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
        """Check the records and assign offsets that start at ``offset``.

        Args:
            records: complete batches; changed in place unless they are rebuilt.
            batches: the result of `check_batches` with the rules of `rules_of`.
            offset: the first record's offset.

        Raises:
            InvalidRecordError: a batch or record breaks a rule; the error says which records.
            InvalidTimestampError: a record's timestamp is too far from now, or not of its producer.
            CorruptRecordError: a batch cannot be decompressed, or a message in it has a bad CRC.
            UnsupportedForMessageFormatError: the log's format has no transactions or producer ids.

        Kafka: LogValidator.validateMessagesAndAssignOffsets (4.2)
        """
        if not batches:
            raise InvalidRecordError(f"{self._where}: the append has no batch")
        rules, first = self._rules, batches[0]
        if first.is_ready and len(batches) == 1 and self._magic == 2 and rules.keeps(first.codec):
            return self._number_ready(records, first, offset)
        source = NONE
        for batch in batches:
            source = batch.codec or source
        if len(batches) > 1 and (first.magic >= 2 or source != NONE):
            raise InvalidRecordError(
                f"{self._where}: found {len(batches)} batches, but only one is allowed "
                "if it is of magic 2 or compressed"
            )
        target = source if rules.codec is None else rules.codec
        if source == NONE and target == NONE:
            if all(batch.magic == self._magic for batch in batches):
                return self._number_plain(records, batches, offset)
            for batch in batches:  # Kafka measures all records before it checks headers
                self._check_structure(batch)
            self._check_all(records, batches)
            return self._build(records, batches, offset, NONE)
        return self._number_compressed(records, batches, offset, (source, target))

    def _number_ready(
        self, records: MemoryRecords, batch: CheckedBatch, offset: int
    ) -> ValidationResult:
        """Assign offsets to the one batch of an append, as usual; nothing else in it changes."""
        size, largest, last_offset = batch.size, batch.max_timestamp, offset + batch.last_offset
        set_offset_and_epoch(records.buffer, 0, size, offset, self._epoch)
        numbered = [AppendedBatch(2, size, offset, last_offset, largest, self._epoch)]
        where = _NO_OFFSET if largest == NO_TIMESTAMP else last_offset
        return ValidationResult(records, numbered, last_offset + 1, largest, where, self._now)

    def _number_plain(
        self, records: MemoryRecords, batches: list[CheckedBatch], offset: int
    ) -> ValidationResult:
        """Assign offsets to uncompressed batches that keep their format.

        Kafka: LogValidator.assignOffsetsNonCompressed (4.2)
        """
        self._check_all(records, batches)
        largest, where = NO_TIMESTAMP, _NO_OFFSET
        numbered = []
        for batch in batches:
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
        """Assign offsets to one batch that is or gets compressed, in place if possible.

        Kafka: LogValidator.validateMessagesAndAssignOffsetsCompressed (4.2)
        """
        source, target = codecs
        first = batches[0]
        stays = source == target and first.magic == self._magic and self._magic > 0
        if source == NONE and first.is_control:  # control records are not compressed
            stays = True
        is_in_order, count, largest = self._check_all(records, batches)
        if self._magic > 0 and not is_in_order:
            if stays and first.magic == 2 and source != NONE:
                raise InvalidRecordError(
                    f"{self._where}: the offsets of a compressed batch are not 0, 1, 2 …"
                )
            stays = False  # some old producers assign wrong offsets to their messages
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
        """Set offsets, epoch and time in a header, and return its new values."""
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
        """Rebuild the records, in the log's format and another codec.

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
        except ValueError as error:  # records that cannot be read, or that the format cannot hold
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
        """Append all records to a builder, with consecutive offsets."""
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
        """Append the records' bytes unchanged if encoding them would give the same bytes."""
        if batch.timestamp_type != CREATE_TIME or batch.base_timestamp < NO_TIMESTAMP:
            return False
        encoded = verbatim_records(records.buffer, batch)
        if encoded is None:
            return False
        builder.append_encoded(
            encoded, batch.record_count, batch.base_timestamp, batch.largest_timestamp
        )
        return True

    # --- the rules ---------------------------------------------------------------------------

    def _check_all(
        self, records: MemoryRecords, batches: Iterable[CheckedBatch]
    ) -> _CheckedRecords:
        """Check batches and their records, including those inside messages.

        Raises:
            AppendError, CorruptRecordError: see `_check_batch` and `_check_records`; or a message
                inside a compressed one has an invalid CRC.
        """
        first, is_in_order, count, largest = None, True, 0, NO_TIMESTAMP
        for batch in batches:
            first = first or batch
            self._check_batch(first, batch)
            if batch.magic < 2 and batch.codec != NONE:
                found = self._check_wrapped(records, batch, count)
            else:
                self._check_records(records, batch)
                checked = batch.checked_count
                in_order = batch.is_in_order == 1
                found = _CheckedRecords(in_order, checked, batch.largest_timestamp)
            if batch.magic > 0:
                is_in_order &= found.is_in_order
                largest = max(largest, found.max_timestamp)
            count += found.record_count
        return _CheckedRecords(is_in_order, count, largest)

    def _check_wrapped(
        self, records: MemoryRecords, batch: CheckedBatch, expected: int
    ) -> _CheckedRecords:
        """Check the messages inside a message; ``expected`` is the first expected offset."""
        errors = _RecordErrors(self._where, self._rules, self._now)
        has_append_time = batch.timestamp_type == LOG_APPEND_TIME
        is_in_order, largest = True, NO_TIMESTAMP
        messages = wrapped_messages(records.buffer, batch)
        for index, message in enumerate(messages):
            if message.is_compressed:
                words = problems.WORDS[problems.NESTED_COMPRESSION]
                raise InvalidRecordError(f"{self._where}: {words}")
            if message.magic != batch.magic:
                errors.add(
                    index,
                    f"its magic {message.magic} is not the outer message's {batch.magic}",
                )
                continue
            if not message.is_valid:
                problem = f"the CRC of message {index} inside a compressed one does not match"
                raise CorruptRecordError(str(self._where), batch.position, problem)
            errors.check(
                index,
                message.offset,
                message.timestamp,
                has_key=message.key is not None,
                has_append_time=has_append_time,
            )
            is_in_order &= message.offset == expected + index
            largest = max(largest, message.timestamp)
        errors.raise_any()
        return _CheckedRecords(is_in_order, len(messages), largest)

    def _check_batch(self, first: CheckedBatch, batch: CheckedBatch) -> None:
        """Check the header of a batch; ``first`` is the append's first batch.

        Raises:
            InvalidRecordError: the header is invalid, or a client must not send it.
            UnsupportedForMessageFormatError: the log's format does not support it.

        Kafka: LogValidator.validateBatch (4.2)
        """
        if batch.problem == problems.UNKNOWN_CODEC:
            self._refuse(f"codec {batch.codec} is unknown")
        if batch.magic != first.magic:
            self._refuse(f"a batch of magic {batch.magic} follows one of magic {first.magic}")
        if self._origin is AppendOrigin.CLIENT:
            self._check_of_client(batch)
        if self._magic < 2 and (batch.is_transactional or batch.producer_id > -1):
            what = "transactions" if batch.is_transactional else "producer ids"
            raise UnsupportedForMessageFormatError(
                f"{self._where}: magic {self._magic} does not support {what}"
            )

    def _check_of_client(self, batch: CheckedBatch) -> None:
        """Check for what a client must not send."""
        if batch.magic >= 2:
            span = batch.last_offset - batch.base_offset + 1
            if span <= 0:
                self._refuse(
                    f"a batch has invalid offsets [{batch.base_offset}, {batch.last_offset}]"
                )
            if batch.record_count <= 0:
                self._refuse(f"a batch has {batch.record_count} records")
            if span != batch.record_count:
                self._refuse(f"a batch has {span} offsets, but {batch.record_count} records")
        if batch.is_control:
            self._refuse("clients must not write control records")
        if batch.producer_id > -1 and batch.base_sequence < 0:
            self._refuse(f"producer {batch.producer_id} sent sequence number {batch.base_sequence}")

    def _check_records(self, records: MemoryRecords, batch: CheckedBatch) -> None:
        """Raise for what the check of a batch noted about its records.

        Raises:
            InvalidRecordError: the records cannot be separated, or a record breaks a rule.
            InvalidTimestampError: a record has a wrong timestamp.
            CorruptRecordError: the records cannot be decompressed.
        """
        self._check_structure(batch)
        if batch.refused_count:
            errors = _RecordErrors(self._where, self._rules, self._now)
            errors.check_batch(records.buffer, batch)
            errors.raise_any()

    def _check_structure(self, batch: CheckedBatch) -> None:
        """Raise if the records of a batch cannot be separated.

        Raises:
            InvalidRecordError: they cannot be separated.
            CorruptRecordError: the records cannot be decompressed.
        """
        if batch.record_problem != problems.OK:
            words = problems.WORDS[batch.record_problem]
            if batch.record_problem == problems.BAD_COMPRESSION:
                raise CorruptRecordError(str(self._where), batch.position, words)
            self._refuse(f"{words}, at byte {batch.record_problem_at}")

    def _refuse(self, problem: str) -> NoReturn:
        raise InvalidRecordError(f"{self._where}: {problem}")


class _RecordErrors:
    """The refused records of one batch; if there is one, the whole batch is refused.

    Args:
        where: the partition.
        rules: the topic's rules.
        now: ms; the time of the append.
    """

    def __init__(self, where: object, rules: RecordRules, now: int) -> None:
        self._where = where
        self._rules = rules
        self._now = now
        self._found: dict[int, str] = {}
        self._has_wrong_time = False

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, index: int, problem: str) -> None:
        """Refuse a record of the batch."""
        self._found[index] = problem

    def check(
        self, index: int, offset: int, timestamp: int, *, has_key: bool, has_append_time: bool
    ) -> None:
        """Refuse a record if it breaks a rule of the topic.

        Args:
            index: the record's index in its batch.
            offset: the record's offset as received.
            timestamp: ms, -1: none.
            has_append_time: whether its batch says that its timestamps are append times.
        """
        rules, now = self._rules, self._now
        if rules.needs_keys and not has_key:
            self.add(index, "it has no key, which a compacted topic needs")
        elif not rules.has_append_time and timestamp != NO_TIMESTAMP:
            age = _wrapped(now - timestamp)
            if age > rules.before_ms or _wrapped(-age) > rules.after_ms:
                first, last = now - rules.before_ms, now + rules.after_ms
                self._has_wrong_time = True
                limit = told("message.timestamp.after.max.ms", rules.after_ms)
                why = f": message.timestamp.after.max.ms = {limit}" if timestamp > last else ""
                problem = f"timestamp {timestamp} at offset {offset} is not within"
                self.add(index, f"{problem} [{first}, {last}]{why}")
        elif has_append_time:
            self._has_wrong_time = True
            self.add(index, "a producer must not send a batch of timestamp type LogAppendTime")

    def check_batch(self, buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> None:
        """Refuse a batch's records that break a rule; not for messages inside messages.

        Raises:
            InvalidRecordError: its records cannot be separated.
        """
        whole = MemoryRecords(buffer[batch.position : batch.position + batch.size])
        try:
            columns = columns_of(whole.buffer, whole.batches().rows, KEYS)
        except CorruptRecordError as error:
            raise InvalidRecordError(f"{self._where}: {error}") from error
        assert columns.keys is not None
        rows = zip(
            columns.offsets.tolist(),
            columns.timestamps.tolist(),
            (~columns.keys.is_null()).tolist(),
            strict=True,
        )
        has_append_time = batch.timestamp_type == LOG_APPEND_TIME
        for index, (offset, timestamp, has_key) in enumerate(rows):
            self.check(index, offset, timestamp, has_key=has_key, has_append_time=has_append_time)

    def raise_any(self) -> None:
        """Refuse the batch if one of its records was refused.

        Raises:
            InvalidTimestampError: a record has a wrong timestamp, whatever the others have.
            InvalidRecordError: no record has, but another rule is broken.
        """
        if not self._found:
            return
        shown = "; ".join(
            f"record {index}: {problem}" for index, problem in list(self._found.items())[:_SHOWN]
        )
        more = len(self._found) - _SHOWN
        if more > 0:
            shown += f"; and {more} more"
        kind = InvalidTimestampError if self._has_wrong_time else InvalidRecordError
        raise kind(f"{self._where}: {shown}", self._found)


def _wrapped(value: int) -> int:
    """Wrap a number like Java's int64."""
    return (value + 2**63) % 2**64 - 2**63
