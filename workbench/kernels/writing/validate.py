"""The batches of an append in one pass, compiled: headers, CRCs, and the records of each.

Nothing is decompressed, and only the result is written. Every byte that is read is checked against
its bound first.

Kafka: ByteBufferLogInputStream.nextBatch, DefaultRecordBatch.ensureValid (4.2)
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.checksum import crc32_at, crc32c_at
from workbench.kernels.intrinsics import address_of, read_i8, read_i16, read_i32, read_i64, read_u32
from workbench.kernels.writing.checks import AT, CHECK_RECORDS
from workbench.kernels.writing.validate_records import fill_records, is_refused
from workbench.layout.attributes import (
    CODEC_MASK,
    CONTROL_BIT,
    LARGEST_CODEC,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    NONE,
    TRANSACTIONAL_BIT,
)
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_AT,
    CRC_AT,
    CRC_FROM,
    ENTRY_HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PARTITION_LEADER_EPOCH_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
)
from workbench.layout.integers import INT32_MAX
from workbench.layout.message_header import (
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_AT,
    MESSAGE_CRC_FROM,
    MESSAGE_TIMESTAMP_AT,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.problems import (
    BAD_SIZE,
    CRC_MISMATCH,
    END,
    OK,
    ROWS_FULL,
    SHORT_BATCH,
    UNFINISHED,
    UNKNOWN_CODEC,
    UNKNOWN_MAGIC,
)

_V0_KEY_AT = MESSAGE_V0.itemsize
_V1_KEY_AT = MESSAGE_V1.itemsize


@kernel
def _read_batch(at: int, size: int, row: npt.NDArray[np.int64]) -> None:
    """Fill a row from the header of a whole magic 2 batch at an address, and check its CRC."""
    attributes = read_i8(at + ATTRIBUTES_AT + 1)  # Kafka reads only the low byte
    base_offset = read_i64(at)
    last_offset_delta = read_i32(at + LAST_OFFSET_DELTA_AT)
    base_sequence = read_i32(at + BASE_SEQUENCE_AT)
    last_sequence = -1
    if base_sequence != -1:
        last_sequence = base_sequence + last_offset_delta
        if last_sequence > INT32_MAX:  # wraps to 0
            last_sequence -= INT32_MAX + 1
    crc = read_u32(at + CRC_AT)
    computed = crc32c_at(at + CRC_FROM, size - CRC_FROM)
    codec = attributes & CODEC_MASK
    row[AT.base_offset] = base_offset
    row[AT.last_offset] = base_offset + last_offset_delta
    row[AT.base_timestamp] = read_i64(at + BASE_TIMESTAMP_AT)
    row[AT.max_timestamp] = read_i64(at + MAX_TIMESTAMP_AT)
    row[AT.partition_leader_epoch] = read_i32(at + PARTITION_LEADER_EPOCH_AT)
    row[AT.attributes] = read_i16(at + ATTRIBUTES_AT)
    row[AT.codec] = codec
    row[AT.timestamp_type] = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    row[AT.is_transactional] = 1 if attributes & TRANSACTIONAL_BIT else 0
    row[AT.is_control] = 1 if attributes & CONTROL_BIT else 0
    row[AT.producer_id] = read_i64(at + PRODUCER_ID_AT)
    row[AT.producer_epoch] = read_i16(at + PRODUCER_EPOCH_AT)
    row[AT.base_sequence] = base_sequence
    row[AT.last_sequence] = last_sequence
    row[AT.record_count] = read_i32(at + RECORD_COUNT_AT)
    row[AT.crc] = crc
    row[AT.computed_crc] = computed
    row[AT.problem] = (
        CRC_MISMATCH if crc != computed else UNKNOWN_CODEC if codec > LARGEST_CODEC else OK
    )


@kernel
def _read_message(at: int, size: int, row: npt.NDArray[np.int64]) -> None:
    """Fill a row from a whole message of magic 0 or 1 at an address, and check its CRC."""
    attributes = read_i8(at + MESSAGE_ATTRIBUTES_AT)
    codec = attributes & CODEC_MASK
    offset = read_i64(at)
    timestamp = -1
    timestamp_type = -1
    if row[AT.magic] == 1:
        timestamp = read_i64(at + MESSAGE_TIMESTAMP_AT)
        timestamp_type = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    crc = read_u32(at + MESSAGE_CRC_AT)
    computed = crc32_at(at + MESSAGE_CRC_FROM, size - MESSAGE_CRC_FROM)
    row[AT.base_offset] = offset if codec == NONE else -1
    row[AT.last_offset] = offset
    row[AT.base_timestamp] = timestamp
    row[AT.max_timestamp] = timestamp
    row[AT.partition_leader_epoch] = -1
    row[AT.attributes] = attributes
    row[AT.codec] = codec
    row[AT.timestamp_type] = timestamp_type
    row[AT.is_transactional] = 0
    row[AT.is_control] = 0
    row[AT.producer_id] = -1
    row[AT.producer_epoch] = -1
    row[AT.base_sequence] = -1
    row[AT.last_sequence] = -1
    row[AT.record_count] = 1 if codec == NONE else -1
    row[AT.crc] = crc
    row[AT.computed_crc] = computed
    row[AT.problem] = (
        CRC_MISMATCH if crc != computed else UNKNOWN_CODEC if codec > LARGEST_CODEC else OK
    )


@kernel
def _check_message(
    at: int, row: npt.NDArray[np.int64], options: int, window: tuple[int, int, int]
) -> None:
    """Fill a row's columns about records, for one uncompressed message of magic 0 or 1."""
    key_size = read_i32(at + (_V1_KEY_AT if row[AT.magic] == 1 else _V0_KEY_AT))
    timestamp = row[AT.max_timestamp]
    has_append_time = row[AT.timestamp_type] == LOG_APPEND_TIME
    row[AT.checked_count] = 1
    row[AT.largest_timestamp] = max(-1, timestamp)
    row[AT.refused_count] = is_refused(timestamp, (key_size >= 0, has_append_time), options, window)
    row[AT.is_in_order] = 1


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
        position: the position in ``data`` where a batch starts.
        rows: int64[m, COLUMNS], filled in order. `checked_count` is -1 if the records were not
            checked: without that option, compressed, or in a batch with a problem.
        options: sum of CHECK_RECORDS, NEEDS_KEYS, APPEND_TIME.
        now, before, after: times in ms; a create time must be in [now - before, now + after].

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
        length = read_i32(at + BATCH_LENGTH_AT)
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
        row[AT.position] = position
        row[AT.size] = size
        row[AT.magic] = magic
        row[AT.record_problem] = OK
        row[AT.record_problem_at] = -1
        row[AT.checked_count] = -1
        row[AT.largest_timestamp] = -1
        row[AT.refused_count] = 0
        row[AT.is_in_order] = 1
        row[AT.is_ready] = 0
        smallest = SMALLEST_ENTRY
        if magic == 2:
            smallest = BATCH_HEADER_SIZE
        elif magic == 1:
            smallest = SMALLEST_ENTRY + 8
        if size < smallest:
            for column in range(AT.base_offset, AT.record_problem):
                if column != AT.magic:
                    row[column] = -1
            row[AT.base_offset] = read_i64(at)
            row[AT.last_offset] = row[AT.base_offset]
            row[AT.problem] = SHORT_BATCH
        elif magic == 2:
            _read_batch(at, size, row)
        else:
            _read_message(at, size, row)
        if options & CHECK_RECORDS and row[AT.problem] == OK and row[AT.codec] == NONE:
            if magic == 2:
                fill_records(at + BATCH_HEADER_SIZE, at + size, row, base, options, window)
            else:
                _check_message(at, row, options, window)
        count += 1
        position += size
