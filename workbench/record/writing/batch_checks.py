"""The batches of an append: check them, and set in place the fields that a broker sets.

One pass over the bytes collects the facts for the checks of an append: headers and CRCs, and for a
leader the records of each batch. It only reports violations, because the caller knows which rule
comes first. The messages inside a compressed message of magic 0 or 1 are a second step,
`received_records`.

The CRC does not cover the offset, nor in magic 2 the leader epoch; it covers times and their type,
so it is recomputed when they change.

Kafka: UnifiedLog.analyzeAndValidateRecords, LogValidator, MutableRecordBatch; DefaultRecordBatch,
AbstractLegacyRecordBatch (4.2)
"""

import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError, InvalidRecordError
from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import KEYS
from workbench.kernels.writing.checks import (
    APPEND_TIME,
    AT,
    CHECK_RECORDS,
    COLUMNS,
    HEADS_ONLY,
    NEEDS_KEYS,
    CheckedRow,
)
from workbench.layout import problems
from workbench.layout.attributes import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    NONE,
    TRANSACTIONAL_BIT,
    ZSTD,
)
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BATCH_HEADER_SIZE,
    CRC_AT,
    CRC_FROM,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
)
from workbench.layout.integers import INT32_MAX, INT64_MAX
from workbench.layout.message_header import (
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_AT,
    MESSAGE_CRC_FROM,
    MESSAGE_TIMESTAMP_AT,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_MESSAGE,
)
from workbench.record.codecs.compression import decompress_batch
from workbench.record.codecs.registry import CODECS
from workbench.record.limits import LARGEST_CONTENT, MOST_RECORDS
from workbench.record.memory_records import MemoryRecords, too_small, unknown_magic
from workbench.record.reading.arena import DecompressionError, TooLargeError
from workbench.record.reading.batch_records import columns_of
from workbench.record.reading.wrapper import WrapperError, wrapper_value
from workbench.record.writing.streamed_checks import WINDOW, check_streamed

_MOST_HELD: Final = 8 * LARGEST_CONTENT
"""Bytes to which a batch can decompress that is stored in another codec, or cannot be streamed."""

_ROWS: Final = 64  # batches that one call of a kernel has room for
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_CRC: Final = struct.Struct(">I")
_OFFSET_AND_EPOCH: Final = struct.Struct(">qii")
OFFSET_AND_EPOCH_SIZE: Final = _OFFSET_AND_EPOCH.size
"""Bytes at the start of a batch of magic 2 that `set_offset_and_epoch` sets, all of them."""
_ATTRIBUTES: Final = struct.Struct(">h")
_KEPT_BITS: Final = CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT

Bytes = npt.NDArray[np.uint8]


class CheckedBatch(CheckedRow):
    """The facts from one pass over a batch: the kernels' row."""

    __slots__ = ()

    @property
    def is_valid(self) -> bool:
        """Whether the batch is as long as its header and its stored CRC is valid.

        Kafka: DefaultRecordBatch.isValid, LegacyRecord.isValid (4.2)
        """
        return self.problem not in _NOT_VALID

    def number(self, buffer: Bytes, base_offset: int, leader_epoch: int) -> "CheckedBatch":
        """Set the offset and the epoch of a ready batch; return its facts with them.

        As a list, which takes a quarter of `_replace`: every append calls it.

        Args:
            buffer: the bytes of the append, changed in place.
            base_offset: of a batch whose own base offset is 0.
            leader_epoch: the epoch to set.
        """
        set_offset_and_epoch(buffer, self.position, self.size, base_offset, leader_epoch)
        row = [*self]
        row[AT.base_offset] = base_offset
        row[AT.last_offset] += base_offset
        row[AT.partition_leader_epoch] = leader_epoch
        return _checked(row)


class ReceivedRecord(NamedTuple):
    """What the rules of a topic need to know about a record, or a message inside a message.

    Attributes:
        offset: as received; of a message inside a message the absolute one.
        timestamp: the time in ms, -1: none.
        magic: as the message says; of a batch of magic 2 its own.
        is_compressed: whether a message claims to hold messages itself, which is not allowed.
        is_valid: whether a message's CRC is valid.
    """

    offset: int
    timestamp: int
    has_key: bool
    magic: int
    is_compressed: bool = False
    is_valid: bool = True


_NOT_VALID: Final = {problems.SHORT_BATCH, problems.CRC_MISMATCH}


@dataclass(frozen=True)
class RecordRules:
    """A topic's rules for the records that its leader appends.

    Attributes:
        needs_keys: whether the topic is compacted.
        has_append_time: whether `message.timestamp.type` is LogAppendTime.
        before_ms, after_ms: the largest difference of a record's time from the append's.
        codec: the id of the topic's codec; None: the producer's. A batch that keeps its codec is
            only skimmed, a batch that changes it is read in full, which finds more problems.
        level: the level of the topic's codec; None: the codec's default.
        largest: bytes of a batch; larger ones are refused, so their records are not checked.
        options: the same as bits, for the kernels.
    """

    needs_keys: bool = False
    has_append_time: bool = False
    before_ms: int = INT64_MAX
    after_ms: int = INT64_MAX
    codec: int | None = None
    level: int | None = None
    largest: int = INT32_MAX
    options: int = field(init=False)

    def keeps(self, codec: int) -> bool:
        """Return whether records that came in a codec are stored in it."""
        return self.codec is None or self.codec == codec

    def __post_init__(self) -> None:
        bits = NEEDS_KEYS if self.needs_keys else 0
        object.__setattr__(self, "options", bits | (APPEND_TIME if self.has_append_time else 0))


class _Rows(threading.local):
    """The outputs of each thread's kernels."""

    def __init__(self) -> None:
        self.rows = np.zeros((_ROWS, COLUMNS), np.int64)
        self.first = self.rows[0]


_MEMORY: Final = _Rows()
_BAD_ENDS: Final = {problems.BAD_SIZE, problems.UNKNOWN_MAGIC}
_checked: Final = partial(tuple.__new__, CheckedBatch)  # `_make` without its check of the length


def check_batches(
    records: MemoryRecords, rules: RecordRules | None = None, now: int = 0
) -> list[CheckedBatch]:
    """Check the complete batches of an append; ignore an incomplete one at the end.

    Args:
        records: any magic; not changed.
        rules: the rules for the records; those of compressed messages of magic 0 and 1 are not
            checked. None: check no records.
        now: the time of the append in ms, for the rules.

    Raises:
        CorruptRecordError: a size is below the smallest, or the magic is not 0, 1 or 2; the batches
            before it are not returned either.
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
                is_sound = batch.magic == 2 and batch.problem == problems.OK
                if batch.codec != NONE and is_sound and batch.size <= rules.largest:
                    row = memory.rows[index]
                    found[index] = _check_compressed(buffer, batch, row, rules, now)
        checked = checked + found if checked else found
    if code in _BAD_ENDS:
        raise _not_a_batch(buffer, int(position), int(code))
    return checked


def received_records(buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> list[ReceivedRecord]:
    """Return the records of a batch, or the messages inside a compressed one.

    Raises:
        InvalidRecordError: a record cannot be read; or a compressed message has no value or no
            messages in it, a codec that its format lacks, or an offset below that of its last one.
        CorruptRecordError: a message cannot be decompressed, or sizes inside are invalid.
    """
    if batch.magic < 2 and batch.codec != NONE:
        return _wrapped_messages(buffer, batch)
    if batch.record_count > MOST_RECORDS:
        raise InvalidRecordError(
            f"{batch.refused_count} of its {batch.record_count} records break a rule of the topic"
        )
    whole = MemoryRecords(buffer[batch.position : batch.position + batch.size])
    try:
        columns = columns_of(whole.buffer, whole.batches().rows, KEYS, _MOST_HELD)
    except CorruptRecordError as error:
        raise InvalidRecordError(str(error)) from error
    keys = columns.keys
    assert keys is not None
    offsets, timestamps = columns.offsets.tolist(), columns.timestamps.tolist()
    has_key = (~keys.is_null()).tolist()
    return list(map(ReceivedRecord, offsets, timestamps, has_key, repeat(batch.magic)))


def _wrapped_messages(buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> list[ReceivedRecord]:
    """Return the messages inside a compressed one, without an incomplete one at the end."""
    if batch.codec == ZSTD:
        raise InvalidRecordError(f"magic {batch.magic} does not have zstd")
    view = memoryview(buffer)[batch.position : batch.position + batch.size]
    try:
        first, last = wrapper_value(view)
    except WrapperError as error:
        raise InvalidRecordError(str(error)) from error
    value = view[first:last]
    content, start, end = decompress_batch(batch.codec, value, batch.magic, batch.position)
    data = content[start:end].tobytes()
    found, at = [], 0
    while len(data) - at >= LENGTH_END:
        (size,) = _INT.unpack_from(data, at + 8)
        if size < SMALLEST_MESSAGE:
            problem = f"a message inside a compressed one has size {size}"
            raise CorruptRecordError(None, batch.position, problem)
        end = at + LENGTH_END + size
        if end > len(data):
            break
        found.append(_message(data[at:end], batch))
        at = end
    if not found:
        raise InvalidRecordError(problems.WORDS[problems.EMPTY_WRAPPER])
    if batch.magic == 0 or batch.last_offset == 0:  # some producers leave the wrapper's offset at 0
        return found
    base = batch.last_offset - found[-1].offset
    if base < 0:
        raise InvalidRecordError(problems.WORDS[problems.BAD_WRAPPER_OFFSET])
    return [message._replace(offset=base + message.offset) for message in found]


def canonical_records(buffer: npt.NDArray[np.uint8], batch: CheckedBatch) -> memoryview | None:
    """Return the records of a batch of magic 2 if they are as a builder would write its first ones.

    Those of a compressed batch are valid until this thread decompresses again. None: there are no
    records, or the builder would write them in another way.

    Raises:
        CorruptRecordError: they cannot be decompressed.
    """
    if batch.record_count <= 0:
        return None
    data, start, end = buffer, batch.position + BATCH_HEADER_SIZE, batch.position + batch.size
    if batch.codec != NONE:
        records = memoryview(buffer)[start:end]
        data, start, end = decompress_batch(batch.codec, records, 2, batch.position)
    if not dispatch.are_canonical(data, start, end, batch.record_count, batch.base_timestamp):
        return None
    return memoryview(data)[start:end]


def _check_compressed(
    buffer: npt.NDArray[np.uint8],
    batch: CheckedBatch,
    row: npt.NDArray[np.int64],
    rules: RecordRules,
    now: int,
) -> CheckedBatch:
    """Return the facts about a compressed batch of magic 2 including its records."""
    if batch.record_count <= 0:  # Kafka does not decompress it
        bad = problems.BAD_COUNT if batch.record_count < 0 else problems.OK
        return batch._replace(record_problem=bad, checked_count=0)
    start, end = batch.position + BATCH_HEADER_SIZE, batch.position + batch.size
    records = memoryview(buffer)[start:end]
    keeps, pieces = rules.keeps(batch.codec), CODECS[batch.codec].pieces
    options = rules.options | (HEADS_ONLY if keeps else 0)
    limit = LARGEST_CONTENT if keeps and pieces is not None else _MOST_HELD
    try:
        data, first, last = decompress_batch(batch.codec, records, 2, batch.position, limit)
    except CorruptRecordError as error:
        if pieces is None or not keeps or not isinstance(error.__cause__, TooLargeError):
            return batch._replace(record_problem=problems.BAD_COMPRESSION, checked_count=0)
        return _check_stream(pieces(records, WINDOW), batch, row, options, (now, rules))
    dispatch.check_records(data, first, last, row, options, now, rules.before_ms, rules.after_ms)
    return _checked(row.tolist())


def _check_stream(
    pieces: Iterator[bytes],
    batch: CheckedBatch,
    row: npt.NDArray[np.int64],
    options: int,
    judged: tuple[int, RecordRules],
) -> CheckedBatch:
    """Return the facts about a batch whose content is too large to hold it."""
    now, rules = judged
    try:
        check_streamed(pieces, row, options, (now, rules.before_ms, rules.after_ms))
    except DecompressionError:
        return batch._replace(record_problem=problems.BAD_COMPRESSION, checked_count=0)
    return _checked(row.tolist())


def _message(data: bytes, batch: CheckedBatch) -> ReceivedRecord:
    """Return one entry, its offset as stored."""
    magic = data[MAGIC_AT]
    timestamp = NO_TIMESTAMP
    header = MESSAGE_V0.itemsize
    if magic:
        header = MESSAGE_V1.itemsize
        if batch.timestamp_type == LOG_APPEND_TIME:
            timestamp = batch.max_timestamp
        elif len(data) >= header:
            (timestamp,) = _LONG.unpack_from(data, MESSAGE_TIMESTAMP_AT)
    try:
        (key_size,) = _INT.unpack_from(data, header)
        _INT.unpack_from(data, header + _INT.size + max(key_size, 0))  # the value's size
    except struct.error:  # its CRC is invalid, too, unless crafted
        raise InvalidRecordError(problems.WORDS[problems.BAD_INNER_MESSAGE]) from None
    (crc,) = _CRC.unpack_from(data, MESSAGE_CRC_AT)
    return ReceivedRecord(
        _LONG.unpack_from(data)[0],
        timestamp,
        key_size >= 0,
        magic,
        is_compressed=data[MESSAGE_ATTRIBUTES_AT] & CODEC_MASK != 0,
        is_valid=crc == zlib.crc32(data[MESSAGE_CRC_FROM:]),
    )


def _not_a_batch(buffer: npt.NDArray[np.uint8], position: int, code: int) -> CorruptRecordError:
    if code == problems.UNKNOWN_MAGIC:
        magic = int(buffer[position + MAGIC_AT : position + MAGIC_AT + 1].view(np.int8)[0])
        return unknown_magic(position + MAGIC_AT, magic)
    size = int.from_bytes(buffer[position + 8 : position + LENGTH_END].tobytes(), signed=True)
    return too_small(position, size)


def set_offset_and_epoch(
    buffer: Bytes, position: int, size: int, base_offset: int, leader_epoch: int
) -> None:
    """Set the base offset and the leader epoch of a batch of magic 2 of ``size`` bytes.

    The same as `set_last_offset` and `set_leader_epoch` for callers that know the header.
    """
    _OFFSET_AND_EPOCH.pack_into(buffer, position, base_offset, size - LENGTH_END, leader_epoch)


def set_last_offset(buffer: Bytes, position: int, last_offset: int) -> None:
    """Set the offsets of the batch at a byte position so that it ends with ``last_offset``.

    Kafka: DefaultRecordBatch.setLastOffset, ByteBufferLegacyRecordBatch.setLastOffset (4.2)
    """
    delta = 0
    if buffer[position + MAGIC_AT] == 2:
        (delta,) = _INT.unpack_from(buffer, position + LAST_OFFSET_DELTA_AT)
    _LONG.pack_into(buffer, position, last_offset - delta)


def set_max_timestamp(
    buffer: Bytes, position: int, timestamp_type: int, timestamp: int
) -> tuple[int, int]:
    """Set the type of timestamps and the largest one of the batch at a byte position, and its CRC.

    With LogAppendTime it is every record's timestamp; the records' own deltas do not change.

    Args:
        timestamp_type: 0 CreateTime, 1 LogAppendTime.
        timestamp: the largest time in ms; for a message of magic 1 its timestamp.

    Returns:
        The attributes and the CRC of the batch now; the previous ones if nothing changed.

    Raises:
        ValueError: the batch is of magic 0, which has no time, or the type is neither of the two.

    Kafka: DefaultRecordBatch.setMaxTimestamp, ByteBufferLegacyRecordBatch.setMaxTimestamp (4.2)
    """
    magic = int(buffer[position + MAGIC_AT])
    if magic == 0:
        raise ValueError("magic 0 has no timestamps")
    if not 0 <= timestamp_type <= LOG_APPEND_TIME:
        raise ValueError(f"{timestamp_type} is not a type of timestamps")
    is_old = magic == 1
    bits_at = position + (MESSAGE_ATTRIBUTES_AT if is_old else ATTRIBUTES_AT)
    time_at = position + (MESSAGE_TIMESTAMP_AT if is_old else MAX_TIMESTAMP_AT)
    crc_at = position + (MESSAGE_CRC_AT if is_old else CRC_AT)
    bits = int(buffer[bits_at]) if is_old else int(_ATTRIBUTES.unpack_from(buffer, bits_at)[0])
    type_bit = LOG_APPEND_TIME_BIT if timestamp_type == LOG_APPEND_TIME else 0
    (stored,) = _LONG.unpack_from(buffer, time_at)
    if bits & LOG_APPEND_TIME_BIT == type_bit and stored == timestamp:
        return bits, int(_CRC.unpack_from(buffer, crc_at)[0])
    (length,) = _INT.unpack_from(buffer, position + LENGTH_END - _INT.size)
    end = position + LENGTH_END + length
    _LONG.pack_into(buffer, time_at, timestamp)
    if is_old:
        bits = bits & CODEC_MASK | type_bit
        buffer[bits_at] = bits
        crc = int(dispatch.crc32(buffer[position + MESSAGE_CRC_FROM : end]))
    else:
        bits = bits & _KEPT_BITS | type_bit
        _ATTRIBUTES.pack_into(buffer, bits_at, bits)
        crc = int(dispatch.crc32c(buffer[position + CRC_FROM : end]))
    _CRC.pack_into(buffer, crc_at, crc)
    return bits, crc
