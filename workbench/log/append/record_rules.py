"""The rules for the batches and records that a leader appends.

They judge the facts that `record.writing.batch_checks` collected; nothing is changed.

Kafka: LogValidator.validateBatch, validateRecord (4.2)
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn

from workbench.config.changed_defaults import told
from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedForMessageFormatError,
)
from workbench.layout import problems
from workbench.layout.attributes import LOG_APPEND_TIME, NO_TIMESTAMP, NONE
from workbench.log.append.append_origin import AppendOrigin
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import (
    CheckedBatch,
    ReceivedRecord,
    RecordRules,
    received_records,
)

_SHOWN: Final = 3  # record errors that a message shows; the exception has all


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


class Judge:
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
                limit = told("message.timestamp.after.max.ms", rules.after_ms)
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
