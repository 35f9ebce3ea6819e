"""The rules that the batches of a leader's append must keep, and their records.

Kafka: LogValidator.validateBatch, validateRecord (4.2)
"""

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from workbench.errors import (
    CorruptRecordError,
    InvalidRecordError,
    UnsupportedForMessageFormatError,
)
from workbench.layout import problems
from workbench.layout.attributes import LOG_APPEND_TIME, NO_TIMESTAMP, NONE
from workbench.log.append_origin import AppendOrigin
from workbench.log.record_rules import RecordErrors
from workbench.record.memory_records import MemoryRecords
from workbench.record.validation import CheckedBatch, RecordRules
from workbench.record.wrapped_messages import wrapped_messages


class CheckedRecords(NamedTuple):
    """What is known of records that break no rule.

    Attributes:
        is_in_order: their offsets go 0, 1, 2 …
        record_count: how many there are.
        max_timestamp: ms, -1: none.
    """

    is_in_order: bool
    record_count: int
    max_timestamp: int


class BatchChecks:
    """Checks the batches of one append.

    Args:
        where: the partition, named in errors.
        rules: of the topic.
        origin: a client's batches are checked in full.
        now: ms; the time of the append.
        magic: the format that the log has.
    """

    def __init__(
        self, where: str, rules: RecordRules, origin: AppendOrigin, now: int, magic: int
    ) -> None:
        self._where = where
        self._rules = rules
        self._origin = origin
        self._now = now
        self._magic = magic

    def check_all(self, records: MemoryRecords, batches: Iterable[CheckedBatch]) -> CheckedRecords:
        """Check batches and their records, also those inside messages; offsets from the first on.

        Raises:
            AppendError, CorruptRecordError: as `check_batch` and `check_records`; a message inside
                a compressed one has a wrong CRC.
        """
        first, is_in_order, count, largest = None, True, 0, NO_TIMESTAMP
        for batch in batches:
            first = first or batch
            self.check_batch(first, batch)
            if batch.magic < 2 and batch.codec != NONE:
                found = self._check_wrapped(records, batch, count)
            else:
                self.check_records(records, batch)
                checked = batch.checked_count
                in_order = batch.is_in_order == 1
                found = CheckedRecords(in_order, checked, batch.largest_timestamp)
            if batch.magic > 0:
                is_in_order &= found.is_in_order
                largest = max(largest, found.max_timestamp)
            count += found.record_count
        return CheckedRecords(is_in_order, count, largest)

    def _check_wrapped(
        self, records: MemoryRecords, batch: CheckedBatch, expected: int
    ) -> CheckedRecords:
        """Check the messages inside a message; ``expected`` is the first offset wanted."""
        errors = RecordErrors(self._where, self._rules, self._now)
        has_append_time = batch.timestamp_type == LOG_APPEND_TIME
        is_in_order, largest = True, NO_TIMESTAMP
        messages = wrapped_messages(records.buffer, batch)
        for index, message in enumerate(messages):
            if message.is_compressed:
                words = problems.WORDS[problems.NESTED_COMPRESSION]
                raise InvalidRecordError(f"{self._where}: {words}")
            if message.magic != batch.magic:
                errors.add(
                    index, f"its magic {message.magic} is not the {batch.magic} of what it is in"
                )
                continue
            if not message.is_valid:
                problem = f"the CRC of message {index} inside a compressed one does not match"
                raise CorruptRecordError(self._where, batch.position, problem)
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
        return CheckedRecords(is_in_order, len(messages), largest)

    def check_batch(self, first: CheckedBatch, batch: CheckedBatch) -> None:
        """Check what the header of a batch says; ``first`` is the first one of the append.

        Raises:
            InvalidRecordError: it cannot be, or a client may not send it.
            UnsupportedForMessageFormatError: the log's format has no such thing.

        Kafka: LogValidator.validateBatch (4.2)
        """
        if batch.problem == problems.UNKNOWN_CODEC:
            self._refuse(f"codec {batch.codec} is not known")
        if batch.magic != first.magic:
            self._refuse(f"a batch of magic {batch.magic} behind one of magic {first.magic}")
        if self._origin is AppendOrigin.CLIENT:
            self._check_of_client(batch)
        if self._magic < 2 and (batch.is_transactional or batch.producer_id > -1):
            what = "transactions" if batch.is_transactional else "producer ids"
            raise UnsupportedForMessageFormatError(
                f"{self._where}: magic {self._magic} does not have {what}"
            )

    def _check_of_client(self, batch: CheckedBatch) -> None:
        """Check what a client may not send."""
        if batch.magic >= 2:
            span = batch.last_offset - batch.base_offset + 1
            if span <= 0:
                self._refuse(f"offsets [{batch.base_offset}, {batch.last_offset}] of a batch")
            if batch.record_count <= 0:
                self._refuse(f"a batch with {batch.record_count} records")
            if span != batch.record_count:
                self._refuse(f"a batch of {span} offsets with {batch.record_count} records")
        if batch.is_control:
            self._refuse("clients may not write control records")
        if batch.producer_id > -1 and batch.base_sequence < 0:
            self._refuse(f"sequence number {batch.base_sequence} from producer {batch.producer_id}")

    def check_records(self, records: MemoryRecords, batch: CheckedBatch) -> None:
        """Raise for what one pass over a batch told of its records.

        Raises:
            InvalidRecordError: they cannot be told apart, or a record breaks a rule.
            InvalidTimestampError: a record has a wrong time.
            CorruptRecordError: they cannot be decompressed.
        """
        self.check_structure(batch)
        if batch.refused_count:
            errors = RecordErrors(self._where, self._rules, self._now)
            errors.check_batch(records.buffer, batch)
            errors.raise_any()

    def check_structure(self, batch: CheckedBatch) -> None:
        """Raise if the records of a batch cannot be told apart.

        Raises:
            InvalidRecordError: so it is.
            CorruptRecordError: they cannot be decompressed.
        """
        if batch.record_problem != problems.OK:
            words = problems.WORDS[batch.record_problem]
            if batch.record_problem == problems.BAD_COMPRESSION:
                raise CorruptRecordError(self._where, batch.position, words)
            self._refuse(f"{words}, at byte {batch.record_problem_at}")

    def _refuse(self, problem: str) -> NoReturn:
        raise InvalidRecordError(f"{self._where}: {problem}")
