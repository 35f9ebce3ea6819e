"""Check the records that a leader appends, and assign offsets, epoch, time and codec.

Bytes that need not change stay: a batch that keeps its format and codec is changed in place, only
in its header. Only batches that are converted or recompressed are rebuilt.

Kafka: LogValidator (4.2)
"""

from typing import Final

from workbench.config.log_config import LogConfig
from workbench.errors import InvalidRecordError
from workbench.layout.attributes import CODEC_NAMES
from workbench.log.append.append_info import ValidationResult
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.append.numbering import number_in_place, number_ready
from workbench.log.append.rebuilding import Form, rebuild
from workbench.log.append.record_rules import Judge
from workbench.record.memory_records import MemoryRecords
from workbench.record.writing.batch_checks import CheckedBatch, RecordRules

APPEND_TIME: Final = "LogAppendTime"
_MOST_KEPT: Final = 256
_KEPT: Final[dict[int, tuple[LogConfig, RecordRules]]] = {}


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
        level=None if codec is None else config.compression_level,
        largest=config.max_message_bytes,
    )
    if len(_KEPT) >= _MOST_KEPT:
        _KEPT.clear()
    _KEPT[id(config)] = (config, rules)  # keeping the config alive keeps its id from being reused
    return rules


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
        rules, first = self._rules, batches[0]
        if first.is_ready and len(batches) == 1 and self._magic == 2 and rules.keeps(first.codec):
            return number_ready(records, first, offset, self._epoch, self._now)
        judge = Judge(self._where, rules, self._origin, self._now, self._magic)
        found, stays, target = judge.check(records, batches)
        if stays:
            sets_time = rules.has_append_time
            return number_in_place(
                records, batches, found, offset, self._epoch, self._now, sets_time=sets_time
            )
        time = self._now if rules.has_append_time else None
        form = Form(self._magic, CODEC_NAMES[target], rules.level, time)
        try:
            return rebuild(records, batches, form, offset, self._epoch, self._now)
        except ValueError as error:  # records that cannot be read, or that the format cannot hold
            raise InvalidRecordError(f"{self._where}: {error}") from error
