"""What a topic asks of each record that its leader appends, and what is told of those refused.

Kafka: LogValidator.validateKey, validateTimestamp, processRecordErrors (4.2)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError, InvalidRecordError, InvalidTimestampError
from workbench.layout.attributes import CODEC_NAMES, LOG_APPEND_TIME, NO_TIMESTAMP
from workbench.log.config import LogConfig
from workbench.record.batch_records import columns_of
from workbench.record.memory_records import MemoryRecords
from workbench.record.reader import KEYS
from workbench.record.validation import CheckedBatch, RecordRules

APPEND_TIME: Final = "LogAppendTime"
_SHOWN: Final = 3  # errors of records that a message shows; all are in the error
_MOST_KEPT: Final = 256
_KEPT: Final[dict[int, tuple[LogConfig, RecordRules]]] = {}


def rules_of(config: LogConfig) -> RecordRules:
    """Return what a topic's configuration asks of records; the same object each time.

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
    _KEPT[id(config)] = (config, rules)  # holding it keeps its number from being used again
    return rules


class RecordErrors:
    """The refused records of one batch; if there is one, the whole batch is refused.

    Args:
        where: the partition.
        rules: of its topic.
        now: ms; the time of the append.
    """

    def __init__(self, where: str, rules: RecordRules, now: int) -> None:
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
            index: of the record in its batch.
            offset: as it came.
            timestamp: ms, -1: none.
            has_append_time: its batch says that its timestamps are those of appending.
        """
        rules, now = self._rules, self._now
        if rules.needs_keys and not has_key:
            self.add(index, "it has no key, which a compacted topic needs")
        elif not rules.has_append_time and timestamp != NO_TIMESTAMP:
            age = _wrapped(now - timestamp)
            if age > rules.before_ms or _wrapped(-age) > rules.after_ms:
                first, last = now - rules.before_ms, now + rules.after_ms
                self._has_wrong_time = True
                self.add(
                    index,
                    f"timestamp {timestamp} at offset {offset} is not within [{first}, {last}]",
                )
        elif has_append_time:
            self._has_wrong_time = True
            self.add(index, "a producer may not send timestamps of appending")

    def check_batch(self, buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> None:
        """Refuse the records of a batch that break a rule; not for messages inside messages.

        Raises:
            InvalidRecordError: its records cannot be told apart.
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
        """Refuse the batch if a record of it was.

        Raises:
            InvalidTimestampError: one has a wrong time; whatever the others have.
            InvalidRecordError: none has, but there are others.
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
    """Return what an int64 of Java would be."""
    return (value + 2**63) % 2**64 - 2**63
