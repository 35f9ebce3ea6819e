"""Check the records that a leader appends, and assign offsets, epoch, time and codec.

Bytes that need not change are kept: a batch that keeps its format and codec is changed in place,
only in its header. Only batches that are converted or recompressed are rebuilt; records of magic 2
are then copied as bytes if encoding them again would give the same bytes.

Kafka: LogValidator (4.2)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, NoReturn

import numpy as np

from workbench.config.changed_defaults import with_default_note
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
from workbench.log.append.append_info import ValidationResult
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import Record, columns_of
from workbench.record.writing.batch_checks import (
    CheckedBatch,
    ReceivedRecord,
    RecordRules,
    canonical_records,
    check_batches,
    received_records,
    set_last_offset,
    set_max_timestamp,
    set_offset_and_epoch,
)
from workbench.record.writing.builder import RecordsBuilder

NO_OFFSET: Final = -1
_SHOWN: Final = 3  # record errors that a message shows; the exception has all


class LogValidator:
    """Checks one append and assigns its offsets.

    Args:
        topic_partition: the partition, named in errors.
        rules: the topic's rules for records.
        origin: the source of the records; a client's batches are checked in full.
        leader_epoch: the epoch to assign to the batches.
        now: ms; the time of the append.
        magic: the log's magic.
    """

    __slots__ = ("_epoch", "_magic", "_now", "_origin", "_rules", "_where")

    def __init__(
        self,
        topic_partition: object,
        rules: RecordRules,
        origin: AppendOrigin,
        leader_epoch: int,
        now: int,
        magic: int = 2,
    ) -> None:
        self._where = topic_partition
        self._rules = rules
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
        rules = self._rules
        checks = RecordChecks(self._where, rules, self._origin, self._now, self._magic)
        found, stays, target = checks.check(records, batches)
        if stays:
            sets_time = rules.has_append_time
            return assign_offsets_in_place(
                records, batches, found, offset, self._epoch, self._now, sets_time=sets_time
            )
        time = self._now if rules.has_append_time else None
        form = TargetFormat(self._magic, CODEC_NAMES[target], rules.level, time)
        try:
            return rebuild(records, batches, form, offset, self._epoch, self._now)
        except ValueError as error:  # records that cannot be read, or that the format cannot hold
            raise InvalidRecordError(f"{self._where}: {error}") from error


class CheckedRecords(NamedTuple):
    """What is known about the records of a batch, which break no rule.

    Attributes:
        is_in_order: whether their offsets are 0, 1, 2 …
        record_count: number of records, or of messages inside a message.
        max_timestamp: ms, -1: none.
    """

    is_in_order: bool
    record_count: int
    max_timestamp: int


class RecordChecks:
    """Applies the rules to the batches of one append.

    Args:
        where: the partition, named in errors.
        rules: the topic's rules for records.
        origin: the source of the records; a client's batches are checked in full.
        now: ms; the time of the append.
        magic: the log's magic.
    """

    def __init__(
        self, where: object, rules: RecordRules, origin: AppendOrigin, now: int, magic: int
    ) -> None:
        self._where = where
        self._rules = rules
        self._origin = origin
        self._now = now
        self._magic = magic

    def check(
        self, records: MemoryRecords, batches: Sequence[CheckedBatch]
    ) -> tuple[list[CheckedRecords], bool, int]:
        """Check batches and their records, including those inside messages.

        Returns:
            What is known about the records of each batch; whether the batches can be changed in
            place, otherwise they must be rebuilt; and the id of the codec to store them in.

        Raises:
            InvalidRecordError: a batch or record breaks a rule, or records cannot be separated.
            InvalidTimestampError: a record has a wrong timestamp.
            CorruptRecordError: a batch cannot be decompressed, or a message in it has a bad CRC.
            UnsupportedForMessageFormatError: the log's format does not support the batch.
        """
        first, source = batches[0], NONE
        for batch in batches:
            source = batch.codec or source
        if len(batches) > 1 and (first.magic >= 2 or source != NONE):
            self._refuse(
                f"found {len(batches)} batches, but only one is allowed "
                "if it is of magic 2 or compressed"
            )
        target = source if self._rules.codec is None else self._rules.codec
        is_plain = source == NONE and target == NONE
        stays = self._keeps_form(batches, source, target)
        if is_plain and not stays:  # Kafka measures all records before it checks headers
            for batch in batches:
                self._check_structure(batch)
        found = self._check_all(records, batches)
        if stays and not is_plain and first.magic > 0 and not found[0].is_in_order:
            if first.magic == 2 and source != NONE:
                self._refuse("the offsets of a compressed batch are not 0, 1, 2 …")
            stays = False  # some old producers assign wrong offsets to their messages
        return found, stays, target

    def _keeps_form(self, batches: Sequence[CheckedBatch], source: int, target: int) -> bool:
        """Return whether batches that came in one codec keep it, and their format, in another."""
        first = batches[0]
        if source != target:
            return source == NONE and bool(first.is_control)  # control records are not compressed
        if source == NONE:
            return all(batch.magic == self._magic for batch in batches)
        return first.magic == self._magic and self._magic > 0

    def _check_all(
        self, records: MemoryRecords, batches: Sequence[CheckedBatch]
    ) -> list[CheckedRecords]:
        first, expected, found = batches[0], 0, []
        for batch in batches:
            self._check_batch(first, batch)
            received: list[ReceivedRecord] = []
            is_wrapper = batch.magic < 2 and batch.codec != NONE
            if not is_wrapper:
                self._check_structure(batch)
            if is_wrapper or batch.refused_count:
                try:
                    received = received_records(records.buffer, batch)
                except InvalidRecordError as error:
                    raise InvalidRecordError(f"{self._where}: {error}") from error
                self._check_records(batch, received)
            if is_wrapper:
                ordered = all(one.offset == n for n, one in enumerate(received, expected))
                largest = max(NO_TIMESTAMP, *(one.timestamp for one in received))
                checked = CheckedRecords(ordered, len(received), largest)
            else:
                ordered = batch.is_in_order == 1
                checked = CheckedRecords(ordered, batch.checked_count, batch.largest_timestamp)
            expected += checked.record_count
            found.append(checked)
        return found

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

    def _check_records(self, batch: CheckedBatch, received: Sequence[ReceivedRecord]) -> None:
        """Check the records of a batch, or the messages inside a message.

        Raises:
            InvalidRecordError: a record breaks a rule.
            InvalidTimestampError: a record has a wrong timestamp.
            CorruptRecordError: a message has a bad CRC.
        """
        errors = _RecordErrors(self._where, self._rules, self._now)
        has_append_time = batch.timestamp_type == LOG_APPEND_TIME
        for index, record in enumerate(received):
            if record.is_compressed:
                self._refuse(problems.WORDS[problems.NESTED_COMPRESSION])
            if record.magic != batch.magic:
                problem = f"its magic {record.magic} is not the outer message's {batch.magic}"
                errors.add(index, problem)
            elif not record.is_valid:
                problem = f"the CRC of message {index} inside a compressed one does not match"
                raise CorruptRecordError(str(self._where), batch.position, problem)
            else:
                errors.check(index, record, has_append_time=has_append_time)
        errors.raise_any()

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

    def add(self, index: int, problem: str) -> None:
        """Refuse a record of the batch."""
        self._found[index] = problem

    def check(self, index: int, record: ReceivedRecord, *, has_append_time: bool) -> None:
        """Refuse a record if it breaks a rule of the topic.

        Args:
            index: the record's index in its batch.
            record: its facts.
            has_append_time: whether its batch says that its timestamps are append times.
        """
        rules, now, timestamp = self._rules, self._now, record.timestamp
        if rules.needs_keys and not record.has_key:
            self.add(index, "it has no key, which a compacted topic needs")
        elif not rules.has_append_time and timestamp != NO_TIMESTAMP:
            age = _wrapped(now - timestamp)
            if age > rules.before_ms or _wrapped(-age) > rules.after_ms:
                first, last = now - rules.before_ms, now + rules.after_ms
                self._has_wrong_time = True
                limit = with_default_note("message.timestamp.after.max.ms", rules.after_ms)
                why = f": message.timestamp.after.max.ms = {limit}" if timestamp > last else ""
                problem = f"timestamp {timestamp} at offset {record.offset} is not within"
                self.add(index, f"{problem} [{first}, {last}]{why}")
        elif has_append_time:
            self._has_wrong_time = True
            self.add(index, "a producer must not send a batch of timestamp type LogAppendTime")

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


def assign_offsets_in_place(
    records: MemoryRecords,
    batches: Sequence[CheckedBatch],
    found: Sequence[CheckedRecords],
    offset: int,
    epoch: int,
    now: int,
    *,
    sets_time: bool,
) -> ValidationResult:
    """Assign offsets to batches that keep their format and codec.

    Args:
        records: changed in place.
        batches: its batches.
        found: what is known about the records of each.
        offset: the first record's offset.
        epoch: the leader epoch to set; magic 0 and 1 have none.
        now: ms; the time of the append.
        sets_time: whether that becomes the records' time; otherwise they keep theirs.
    """
    numbered = []
    largest, where = NO_TIMESTAMP, NO_OFFSET
    for batch, checked in zip(batches, found, strict=True):
        offset += checked.record_count
        last_offset, max_timestamp = offset - 1, checked.max_timestamp
        at, base_offset, leader_epoch = batch.position, batch.base_offset, -1
        bits, kind, crc = batch.attributes, batch.timestamp_type, batch.crc
        if batch.magic == 2:
            base_offset, leader_epoch = base_offset + last_offset - batch.last_offset, epoch
            set_offset_and_epoch(records.buffer, at, batch.size, base_offset, epoch)
        else:
            set_last_offset(records.buffer, at, last_offset)
            if base_offset >= 0:
                base_offset = last_offset
        if batch.magic > 0:
            kind = CREATE_TIME
            if sets_time:
                kind, max_timestamp = LOG_APPEND_TIME, now
            if kind != batch.timestamp_type or max_timestamp != batch.max_timestamp:
                bits, crc = set_max_timestamp(records.buffer, at, kind, max_timestamp)
        numbered.append(
            batch._replace(
                base_offset=base_offset,
                last_offset=last_offset,
                max_timestamp=max_timestamp,
                partition_leader_epoch=leader_epoch,
                attributes=bits,
                timestamp_type=kind,
                crc=crc,
                computed_crc=crc,
            )
        )
        if max_timestamp > largest:
            largest, where = max_timestamp, last_offset
    return ValidationResult(records, numbered, offset, largest, where, now)


class TargetFormat(NamedTuple):
    """How the records are to be stored.

    Attributes:
        magic: the log's magic.
        codec: its name.
        level: the codec's level; None: its default.
        append_time: ms, the time of all records; None: they keep theirs.
    """

    magic: int
    codec: str
    level: int | None
    append_time: int | None


def rebuild(
    records: MemoryRecords,
    batches: Sequence[CheckedBatch],
    form: TargetFormat,
    offset: int,
    epoch: int,
    now: int,
) -> ValidationResult:
    """Return one batch with all records, at consecutive offsets.

    Args:
        records: not changed.
        batches: its batches, which were checked; if there are several, of magic 0 or 1.
        form: how they are to be stored.
        offset: the first record's offset.
        epoch: the leader epoch to set.
        now: ms; the time of the append.

    Raises:
        ValueError: the format cannot hold a record.
        CorruptRecordError: a batch or record cannot be read.

    Kafka: LogValidator.buildRecordsAndAssignOffsets (4.2)
    """
    first = batches[0]
    encoded = columns = None
    singles: list[Record] = []
    if first.magic < 2 or form.magic < 2:
        singles = records.records()
    else:
        if first.timestamp_type == CREATE_TIME and first.base_timestamp >= NO_TIMESTAMP:
            encoded = canonical_records(records.buffer, first)
        if encoded is None:
            columns = columns_of(records.buffer, records.batches().rows)
    builder = RecordsBuilder(
        form.magic,
        form.codec,
        form.level,
        "CreateTime" if form.append_time is None else "LogAppendTime",
        offset,
        form.append_time,
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        base_sequence=first.base_sequence,
        is_transactional=bool(first.is_transactional),
        partition_leader_epoch=epoch,
    )
    if encoded is not None:
        builder.append_encoded(
            encoded, first.record_count, first.base_timestamp, first.largest_timestamp
        )
    elif columns is not None:
        offsets = np.arange(offset, offset + len(columns), dtype=np.int64)
        builder.append_columns(replace(columns, offsets=offsets))
    for record in singles:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    built = builder.build()
    largest, where = builder.info
    return ValidationResult(
        built,
        check_batches(built),
        builder.next_offset,
        NO_TIMESTAMP if largest is None else largest,
        NO_OFFSET if where is None else where,
        now,
        message_size_maybe_changed=True,
    )
