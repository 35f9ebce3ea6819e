"""The batches of an append in one pass, compiled: headers, CRCs, and the records of each.

Nothing is decompressed and nothing written but the result. Every byte that is read is checked
against its bound first.

Kafka: ByteBufferLogInputStream.nextBatch, DefaultRecordBatch.ensureValid, DefaultRecord.readFrom
    and readPartiallyFrom, LogValidator.validateRecord (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.checks import (
    APPEND_TIME,
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    BASE_TIMESTAMP,
    CHECK_RECORDS,
    CHECKED_COUNT,
    CODEC,
    COMPUTED_CRC,
    CRC,
    HEADS_ONLY,
    IS_CONTROL,
    IS_IN_ORDER,
    IS_READY,
    IS_TRANSACTIONAL,
    LARGEST_TIMESTAMP,
    LAST_OFFSET,
    LAST_SEQUENCE,
    LEADER_EPOCH,
    MAGIC,
    MAX_TIMESTAMP,
    NEEDS_KEYS,
    NOT_READY,
    POSITION,
    PROBLEM,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    READY,
    READY_BUT_FOR_TIME,
    RECORD_COUNT,
    RECORD_PROBLEM,
    RECORD_PROBLEM_AT,
    REFUSED_COUNT,
    SIZE,
    TIMESTAMP_TYPE,
)
from workbench.kernels.checksum import crc32_at, crc32c_at
from workbench.kernels.intrinsics import address_of, read_i8, read_i16, read_i32, read_i64, read_u32
from workbench.kernels.varint import read_varint, read_varlong
from workbench.layout.attributes import (
    CODEC_MASK,
    CONTROL_BIT,
    CREATE_TIME,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    NONE,
    TRANSACTIONAL_BIT,
    ZSTD,
)
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC_FROM,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.message_header import (
    MESSAGE_CRC_FROM,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.problems import (
    BAD_COUNT,
    BAD_HEADERS,
    BAD_KEY,
    BAD_RECORD_LENGTH,
    BAD_SIZE,
    BAD_VALUE,
    BAD_VARINT,
    BYTES_AFTER_RECORDS,
    CRC_MISMATCH,
    END,
    OK,
    RECORD_NOT_FILLED,
    ROWS_FULL,
    SHORT_BATCH,
    UNFINISHED,
    UNKNOWN_CODEC,
    UNKNOWN_MAGIC,
)
from workbench.layout.structure import place

_CRC_AT = place(BATCH_HEADER, "crc")
_ATTRIBUTES_AT = place(BATCH_HEADER, "attributes")
_LAST_OFFSET_DELTA = place(BATCH_HEADER, "last_offset_delta")
_BASE_TIMESTAMP_AT = place(BATCH_HEADER, "base_timestamp")
_MAX_TIMESTAMP_AT = place(BATCH_HEADER, "max_timestamp")
_PRODUCER_ID_AT = place(BATCH_HEADER, "producer_id")
_PRODUCER_EPOCH_AT = place(BATCH_HEADER, "producer_epoch")
_BASE_SEQUENCE_AT = place(BATCH_HEADER, "base_sequence")
_RECORD_COUNT_AT = place(BATCH_HEADER, "record_count")
_LEADER_EPOCH_AT = place(BATCH_HEADER, "partition_leader_epoch")
_SIZE_AT = place(BATCH_HEADER, "batch_length")
_MESSAGE_CRC_AT = place(MESSAGE_V0, "crc")
_MESSAGE_ATTRIBUTES_AT = place(MESSAGE_V0, "attributes")
_MESSAGE_TIMESTAMP_AT = place(MESSAGE_V1, "timestamp")
_V0_KEY_AT = MESSAGE_V0.itemsize
_V1_KEY_AT = MESSAGE_V1.itemsize
_MOST_SEQUENCE = 2**31 - 1
_SMALLEST_BODY = 1  # bytes after a record's length: the attributes are read before anything else


@kernel
def _is_refused(
    timestamp: int, facts: tuple[bool, bool], options: int, window: tuple[int, int, int]
) -> bool:
    """Return whether a record breaks a rule of the topic.

    Args:
        facts: (has a key, its batch says that its timestamps are those of appending).
        window: (now, ms before now, ms after now) that a time of creation must lie in.
    """
    has_key, has_append_time = facts
    if options & NEEDS_KEYS and not has_key:
        return True
    if options & APPEND_TIME == 0 and timestamp != -1:
        now, before, after = window
        age = now - timestamp
        return age > before or -age > after
    return has_append_time


@kernel
def _walk_records(
    at: int,
    end: int,
    base_offset: int,
    count: int,
    times: tuple[int, int, bool],
    options: int,
    window: tuple[int, int, int],
) -> tuple[int, int, int, int, int, bool]:
    """Walk over the records of a batch of magic 2 between two addresses.

    Args:
        times: (base timestamp, max timestamp, whether the max is every record's timestamp).

    Returns:
        (code, address of what is wrong, records, largest timestamp, refused, whether the
        offsets are 0, 1, 2 …).
    """
    base_timestamp, max_timestamp, use_max = times
    heads_only = options & HEADS_ONLY != 0
    largest = -1
    refused = 0
    in_order = True
    for index in range(count):
        length, next_at = read_varint(at, end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        record_end = end
        if not heads_only:
            if length < _SMALLEST_BODY or length > end - next_at:
                return BAD_RECORD_LENGTH, at, index, largest, refused, in_order
            record_end = next_at + length
        at = next_at + 1  # the record's attributes: one byte, unused
        timestamp_delta, next_at = read_varlong(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        at = next_at
        offset_delta, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        at = next_at
        key_size, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        if key_size > record_end - next_at:
            return BAD_KEY, at, index, largest, refused, in_order
        at = next_at + max(key_size, 0)
        value_size, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        if value_size > record_end - next_at:
            return BAD_VALUE, at, index, largest, refused, in_order
        at = next_at + max(value_size, 0)
        headers, next_at = read_varint(at, record_end)
        if next_at == 0:
            return BAD_VARINT, at, index, largest, refused, in_order
        if headers < 0 or headers > record_end - next_at:
            return BAD_HEADERS, at, index, largest, refused, in_order
        at = next_at
        for _ in range(headers):
            size, next_at = read_varint(at, record_end)
            if next_at == 0:
                return BAD_VARINT, at, index, largest, refused, in_order
            if size < 0 or size > record_end - next_at:
                return BAD_HEADERS, at, index, largest, refused, in_order
            at = next_at + size
            size, next_at = read_varint(at, record_end)
            if next_at == 0:
                return BAD_VARINT, at, index, largest, refused, in_order
            if size > record_end - next_at:
                return BAD_HEADERS, at, index, largest, refused, in_order
            at = next_at + max(size, 0)
        if not heads_only and at != record_end:
            return RECORD_NOT_FILLED, at, index, largest, refused, in_order
        timestamp = max_timestamp if use_max else base_timestamp + timestamp_delta
        largest = max(largest, timestamp)
        in_order &= base_offset + offset_delta == index
        refused += _is_refused(timestamp, (key_size >= 0, use_max), options, window)
    if count > 0 and at != end:
        return BYTES_AFTER_RECORDS, at, count, largest, refused, in_order
    return OK, at, count, largest, refused, in_order


@kernel
def _check_records(
    at: int,
    end: int,
    row: npt.NDArray[np.int64],
    shift: int,
    options: int,
    window: tuple[int, int, int],
) -> None:
    """Fill what a row says of records, for those of a magic 2 batch between two addresses.

    Args:
        shift: what makes a byte position of an address.
    """
    count = row[RECORD_COUNT]
    if count < 0:
        row[RECORD_PROBLEM] = BAD_COUNT
        row[RECORD_PROBLEM_AT] = at - shift
        row[CHECKED_COUNT] = 0
        return
    times = (row[BASE_TIMESTAMP], row[MAX_TIMESTAMP], row[TIMESTAMP_TYPE] == LOG_APPEND_TIME)
    code, where, checked, largest, refused, in_order = _walk_records(
        at, end, row[BASE_OFFSET], count, times, options, window
    )
    row[RECORD_PROBLEM] = code
    row[RECORD_PROBLEM_AT] = where - shift
    row[CHECKED_COUNT] = checked
    row[LARGEST_TIMESTAMP] = largest
    row[REFUSED_COUNT] = refused
    row[IS_IN_ORDER] = in_order
    row[IS_READY] = NOT_READY
    if (
        code == OK
        and refused == 0
        and in_order
        and count > 0
        and row[BASE_OFFSET] == 0
        and row[LAST_OFFSET] == count - 1
        and row[IS_CONTROL] == 0
        and (row[PRODUCER_ID] < 0 or row[BASE_SEQUENCE] >= 0)
        and row[TIMESTAMP_TYPE] == CREATE_TIME
    ):
        has_its_time = options & APPEND_TIME == 0 and row[MAX_TIMESTAMP] == largest
        row[IS_READY] = READY if has_its_time else READY_BUT_FOR_TIME


@kernel
def _read_batch(at: int, size: int, row: npt.NDArray[np.int64]) -> None:
    """Fill a row from the header of a whole magic 2 batch at an address, and check its CRC."""
    attributes = read_i8(at + _ATTRIBUTES_AT + 1)  # Kafka looks at the low byte only
    base_offset = read_i64(at)
    last_offset_delta = read_i32(at + _LAST_OFFSET_DELTA)
    base_sequence = read_i32(at + _BASE_SEQUENCE_AT)
    last_sequence = -1
    if base_sequence != -1:
        last_sequence = base_sequence + last_offset_delta
        if last_sequence > _MOST_SEQUENCE:  # wraps to 0
            last_sequence -= _MOST_SEQUENCE + 1
    crc = read_u32(at + _CRC_AT)
    computed = crc32c_at(at + CRC_FROM, size - CRC_FROM)
    codec = attributes & CODEC_MASK
    row[BASE_OFFSET] = base_offset
    row[LAST_OFFSET] = base_offset + last_offset_delta
    row[BASE_TIMESTAMP] = read_i64(at + _BASE_TIMESTAMP_AT)
    row[MAX_TIMESTAMP] = read_i64(at + _MAX_TIMESTAMP_AT)
    row[LEADER_EPOCH] = read_i32(at + _LEADER_EPOCH_AT)
    row[ATTRIBUTES] = read_i16(at + _ATTRIBUTES_AT)
    row[CODEC] = codec
    row[TIMESTAMP_TYPE] = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    row[IS_TRANSACTIONAL] = 1 if attributes & TRANSACTIONAL_BIT else 0
    row[IS_CONTROL] = 1 if attributes & CONTROL_BIT else 0
    row[PRODUCER_ID] = read_i64(at + _PRODUCER_ID_AT)
    row[PRODUCER_EPOCH] = read_i16(at + _PRODUCER_EPOCH_AT)
    row[BASE_SEQUENCE] = base_sequence
    row[LAST_SEQUENCE] = last_sequence
    row[RECORD_COUNT] = read_i32(at + _RECORD_COUNT_AT)
    row[CRC] = crc
    row[COMPUTED_CRC] = computed
    row[PROBLEM] = CRC_MISMATCH if crc != computed else UNKNOWN_CODEC if codec > ZSTD else OK


@kernel
def _read_message(at: int, size: int, row: npt.NDArray[np.int64]) -> None:
    """Fill a row from a whole message of magic 0 or 1 at an address, and check its CRC."""
    attributes = read_i8(at + _MESSAGE_ATTRIBUTES_AT)
    codec = attributes & CODEC_MASK
    offset = read_i64(at)
    timestamp = -1
    timestamp_type = -1
    if row[MAGIC] == 1:
        timestamp = read_i64(at + _MESSAGE_TIMESTAMP_AT)
        timestamp_type = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    crc = read_u32(at + _MESSAGE_CRC_AT)
    computed = crc32_at(at + MESSAGE_CRC_FROM, size - MESSAGE_CRC_FROM)
    row[BASE_OFFSET] = offset if codec == NONE else -1
    row[LAST_OFFSET] = offset
    row[BASE_TIMESTAMP] = timestamp
    row[MAX_TIMESTAMP] = timestamp
    row[LEADER_EPOCH] = -1
    row[ATTRIBUTES] = attributes
    row[CODEC] = codec
    row[TIMESTAMP_TYPE] = timestamp_type
    row[IS_TRANSACTIONAL] = 0
    row[IS_CONTROL] = 0
    row[PRODUCER_ID] = -1
    row[PRODUCER_EPOCH] = -1
    row[BASE_SEQUENCE] = -1
    row[LAST_SEQUENCE] = -1
    row[RECORD_COUNT] = 1 if codec == NONE else -1
    row[CRC] = crc
    row[COMPUTED_CRC] = computed
    row[PROBLEM] = CRC_MISMATCH if crc != computed else UNKNOWN_CODEC if codec > ZSTD else OK


@kernel
def _check_message(
    at: int, row: npt.NDArray[np.int64], options: int, window: tuple[int, int, int]
) -> None:
    """Fill what a row says of records, for one uncompressed message of magic 0 or 1."""
    key_size = read_i32(at + (_V1_KEY_AT if row[MAGIC] == 1 else _V0_KEY_AT))
    timestamp = row[MAX_TIMESTAMP]
    has_append_time = row[TIMESTAMP_TYPE] == LOG_APPEND_TIME
    row[CHECKED_COUNT] = 1
    row[LARGEST_TIMESTAMP] = max(-1, timestamp)
    row[REFUSED_COUNT] = _is_refused(timestamp, (key_size >= 0, has_append_time), options, window)
    row[IS_IN_ORDER] = 1


@kernel
def check_records(
    data: npt.NDArray[np.uint8],
    start: int,
    end: int,
    row: npt.NDArray[np.int64],
    options: int,
    now: int,
    before: int,
    after: int,
) -> None:
    """Check the decompressed records of one magic 2 batch.

    Args:
        data: uint8[n], C-contiguous; the records are [start, end).
        row: int64[COLUMNS], the batch's header; what it says of its records is filled in, with
            `RECORD_PROBLEM_AT` counted from ``start``.
        options: sum of NEEDS_KEYS, APPEND_TIME, HEADS_ONLY.
        now, before, after: ms; a time of creation must lie in [now - before, now + after].
    """
    base = address_of(data)
    _check_records(base + start, base + end, row, base + start, options, (now, before, after))


@kernel
def check_batches(
    data: npt.NDArray[np.uint8],
    position: int,
    rows: npt.NDArray[np.int64],
    options: int,
    now: int,
    before: int,
    after: int,
) -> tuple[int, int, int]:
    """Walk over the batches of an append, check their CRCs and, if asked, their records.

    Args:
        data: uint8[n], C-contiguous.
        position: in ``data``, where a batch starts.
        rows: int64[m, COLUMNS], filled in order. `CHECKED_COUNT` is -1 where records were not
            looked at: not asked for, compressed, or a batch with a problem.
        options: sum of CHECK_RECORDS, NEEDS_KEYS, APPEND_TIME.
        now, before, after: ms; a time of creation must lie in [now - before, now + after].

    Returns:
        (count, position, code): rows filled, where the next batch starts, and why it stopped there:
        END, UNFINISHED, BAD_SIZE, UNKNOWN_MAGIC or ROWS_FULL.
    """
    base = address_of(data)
    window = (now, before, after)
    count = 0
    while True:
        left = len(data) - position
        if left <= 0:
            return count, position, END
        if left < LENGTH_END:
            return count, position, UNFINISHED
        at = base + position
        length = read_i32(at + _SIZE_AT)
        if length < SMALLEST_MESSAGE:
            return count, position, BAD_SIZE
        if left < ENTRY_HEADER_SIZE:
            return count, position, UNFINISHED
        magic = read_i8(at + MAGIC_AT)
        if magic < 0 or magic > 2:
            return count, position, UNKNOWN_MAGIC
        size = length + LENGTH_END
        if size > left:
            return count, position, UNFINISHED
        if count == len(rows):
            return count, position, ROWS_FULL
        row = rows[count]
        row[POSITION] = position
        row[SIZE] = size
        row[MAGIC] = magic
        row[RECORD_PROBLEM] = OK
        row[RECORD_PROBLEM_AT] = -1
        row[CHECKED_COUNT] = -1
        row[LARGEST_TIMESTAMP] = -1
        row[REFUSED_COUNT] = 0
        row[IS_IN_ORDER] = 1
        row[IS_READY] = NOT_READY
        smallest = SMALLEST_ENTRY
        if magic == 2:
            smallest = BATCH_HEADER_SIZE
        elif magic == 1:
            smallest = SMALLEST_ENTRY + 8
        if size < smallest:
            for column in range(BASE_OFFSET, RECORD_PROBLEM):
                if column != MAGIC:
                    row[column] = -1
            row[BASE_OFFSET] = read_i64(at)
            row[LAST_OFFSET] = row[BASE_OFFSET]
            row[PROBLEM] = SHORT_BATCH
        elif magic == 2:
            _read_batch(at, size, row)
        else:
            _read_message(at, size, row)
        if options & CHECK_RECORDS and row[PROBLEM] == OK and row[CODEC] == NONE:
            if magic == 2:
                _check_records(at + BATCH_HEADER_SIZE, at + size, row, base, options, window)
            else:
                _check_message(at, row, options, window)
        count += 1
        position += size
