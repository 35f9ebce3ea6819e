"""Check the batches of an append: headers and CRCs, and for a leader the records of each.

One pass over the bytes gives what the checks of an append ask for; what breaks a rule is only told,
for who appends knows which rule comes first.

Kafka: UnifiedLog.analyzeAndValidateRecords, LogValidator (4.2)
"""

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.kernels.checks import (
    APPEND_TIME,
    CHECK_RECORDS,
    COLUMNS,
    HEADS_ONLY,
    NEEDS_KEYS,
)
from workbench.layout import problems
from workbench.layout.attributes import NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE, LENGTH_END, MAGIC_AT
from workbench.layout.message_header import SMALLEST_MESSAGE
from workbench.record.arena import DecompressionError
from workbench.record.batch_records import thread_arena
from workbench.record.compression import decompress_into
from workbench.record.memory_records import MemoryRecords

_ROWS: Final = 64  # batches that one call of a kernel has room for


class CheckedBatch(NamedTuple):
    """What one pass over a batch tells. -1: none, or not told by the header.

    Attributes:
        position: byte place in the records.
        size: bytes.
        base_offset: -1 for a compressed message of magic 0 or 1.
        base_timestamp, max_timestamp: ms, as stored.
        codec: its id.
        timestamp_type: 0 CreateTime, 1 LogAppendTime, -1 in magic 0.
        is_transactional, is_control: 0 or 1.
        record_count: as stored; -1 for a compressed message of magic 0 or 1.
        crc, computed_crc: as stored, and of the bytes.
        problem: of `layout.problems`, with the whole batch: too short, CRC, unknown codec.
        record_problem: of `layout.problems`, with its records. This and what follows are told only
            where the records were asked for and can be told of without messages inside messages.
        record_problem_at: byte place; in the decompressed records of a compressed batch.
        checked_count: records looked at; -1: none were to be.
        largest_timestamp: ms, of the records.
        refused_count: records without a key where one is needed, or with a wrong time.
        is_in_order: 1 if the records' offsets go 0, 1, 2 …, as a producer numbers them.
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

    @property
    def is_valid(self) -> bool:
        """Whether the batch is as long as its header and has the CRC that it says.

        Kafka: DefaultRecordBatch.isValid, LegacyRecord.isValid (4.2)
        """
        return self.problem not in _NOT_VALID


class AppendedBatch(NamedTuple):
    """What a log needs to know of a batch with its offsets; a `CheckedBatch` of it tells it too."""

    magic: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    partition_leader_epoch: int


LogBatch = AppendedBatch | CheckedBatch
_NOT_VALID: Final = {problems.SHORT_BATCH, problems.CRC_MISMATCH}


@dataclass(frozen=True)
class RecordRules:
    """What a topic asks of the records that its leader appends.

    Attributes:
        needs_keys: the topic is compacted.
        has_append_time: `message.timestamp.type` is LogAppendTime.
        before_ms, after_ms: how far a record's time may lie from that of the append.
        codec: the topic's, its id; None: the producer's. A batch that keeps its codec is skipped
            through, one that changes it is read in full, and the second finds more that is wrong.
        options: the same as bits, for the kernels.
    """

    needs_keys: bool = False
    has_append_time: bool = False
    before_ms: int = 2**63 - 1
    after_ms: int = 2**63 - 1
    codec: int | None = None
    options: int = field(init=False)

    def keeps(self, codec: int) -> bool:
        """Return whether records that came in a codec are stored in it."""
        return self.codec is None or self.codec == codec

    def __post_init__(self) -> None:
        bits = NEEDS_KEYS if self.needs_keys else 0
        object.__setattr__(self, "options", bits | (APPEND_TIME if self.has_append_time else 0))


class _Rows(threading.local):
    """What each thread's kernels fill."""

    def __init__(self) -> None:
        self.rows = np.zeros((_ROWS, COLUMNS), np.int64)
        self.first = self.rows[0]


_MEMORY: Final = _Rows()
_BAD_ENDS: Final = {problems.BAD_SIZE, problems.UNKNOWN_MAGIC}
_checked: Final = partial(tuple.__new__, CheckedBatch)  # `_make` without its check of the length


def check_batches(
    records: MemoryRecords, rules: RecordRules | None = None, now: int = 0
) -> list[CheckedBatch]:
    """Check the whole batches of an append; one that is unfinished at the end does not count.

    Args:
        records: any magic; not changed.
        rules: look at the records, too, except those of compressed messages of magic 0 and 1.
        now: ms; the time of the append, for the rules.

    Raises:
        CorruptRecordError: a size is below the smallest, or the magic is not 0, 1 or 2; what stands
            before it is not told either.
    """
    buffer, memory = records.buffer, _MEMORY
    options, before, after = 0, 0, 0
    if rules is not None:
        options, before, after = rules.options | CHECK_RECORDS, rules.before_ms, rules.after_ms
    checked: list[CheckedBatch] = []
    position, code = 0, problems.ROWS_FULL
    while code == problems.ROWS_FULL:
        count, position, code = dispatch.check_batches(
            buffer, position, memory.rows, options, now, before, after
        )
        if count == 1:  # as nearly always: without a list of lists
            batch = _checked(memory.first.tolist())
            found = [batch]
            is_any_compressed = batch.codec != NONE
        else:
            found = [_checked(row) for row in memory.rows[:count].tolist()]
            is_any_compressed = True
        if is_any_compressed and rules is not None:
            for index, batch in enumerate(found):
                if batch.codec != NONE and batch.magic == 2 and batch.problem == problems.OK:
                    row = memory.rows[index]
                    found[index] = _check_compressed(buffer, batch, row, rules, now)
        checked = checked + found if checked else found
    if code in _BAD_ENDS:
        raise _not_a_batch(buffer, int(position), int(code))
    return checked


def verbatim_records(buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> memoryview | None:
    """Return the records of a batch of magic 2 as a builder would write them as its first ones.

    Those of a compressed batch are valid until this thread decompresses again. None: there are no
    records, or the builder would write them in another way.

    Raises:
        CorruptRecordError: they cannot be decompressed.
    """
    if batch.record_count <= 0:
        return None
    data, start, end = buffer, batch.position + BATCH_HEADER_SIZE, batch.position + batch.size
    if batch.codec != NONE:
        arena = thread_arena()
        try:
            start, end = decompress_into(batch.codec, memoryview(buffer)[start:end], arena, 2)
        except DecompressionError as error:
            words = problems.WORDS[problems.BAD_COMPRESSION]
            raise CorruptRecordError(None, batch.position, f"{words}: {error}") from error
        data = arena.data
    if not dispatch.are_verbatim(data, start, end, batch.record_count, batch.base_timestamp):
        return None
    return memoryview(data)[start:end]


def _check_compressed(
    buffer: npt.NDArray[np.uint8],
    batch: CheckedBatch,
    row: npt.NDArray[np.int64],
    rules: RecordRules,
    now: int,
) -> CheckedBatch:
    """Return what is known of a compressed batch of magic 2 with its records looked at."""
    if batch.record_count <= 0:  # Kafka does not decompress it
        bad = problems.BAD_COUNT if batch.record_count < 0 else problems.OK
        return batch._replace(record_problem=bad, checked_count=0)
    start, end = batch.position + BATCH_HEADER_SIZE, batch.position + batch.size
    arena = thread_arena()
    try:
        first, last = decompress_into(batch.codec, memoryview(buffer)[start:end], arena, 2)
    except DecompressionError:
        return batch._replace(record_problem=problems.BAD_COMPRESSION, checked_count=0)
    options = rules.options
    if rules.keeps(batch.codec):
        options |= HEADS_ONLY
    dispatch.check_records(
        arena.data, first, last, row, options, now, rules.before_ms, rules.after_ms
    )
    return _checked(row.tolist())


def _not_a_batch(buffer: npt.NDArray[np.uint8], position: int, code: int) -> CorruptRecordError:
    if code == problems.UNKNOWN_MAGIC:
        magic = int(buffer[position + MAGIC_AT : position + MAGIC_AT + 1].view(np.int8)[0])
        problem = f"magic {magic} is not known: 0, 1 and 2 are"
        return CorruptRecordError(None, position + MAGIC_AT, problem)
    size = int.from_bytes(buffer[position + 8 : position + LENGTH_END].tobytes(), signed=True)
    problem = f"the size of a batch is {size}, at least {SMALLEST_MESSAGE} is needed"
    return CorruptRecordError(None, position + 8, problem)
