"""Walk over batch headers, compiled: one `BATCH_ROW` per batch, no decompression, no CRC.

Entries of every magic share the first 17 bytes, so one walk serves mixed files.

Kafka: FileLogInputStream.nextBatch (4.2)
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of, read_i8, read_i16, read_i32, read_i64, read_u32
from workbench.layout.attributes import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LARGEST_CODEC,
    LOG_APPEND_TIME_BIT,
    NONE,
    TRANSACTIONAL_BIT,
    UNKNOWN,
    ZSTD,
)
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_AT,
    CRC_AT,
    ENTRY_HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    LENGTH_END,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PARTITION_LEADER_EPOCH_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_COUNT_AT,
    SMALLEST_RECORD,
)
from workbench.layout.integers import INT32_MAX
from workbench.layout.message_header import (
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_AT,
    MESSAGE_TIMESTAMP_AT,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.problems import (
    BAD_COUNT,
    BAD_SIZE,
    END,
    MORE_DATA,
    OK,
    ROWS_FULL,
    SHORT_BATCH,
    UNFINISHED,
    UNKNOWN_CODEC,
    UNKNOWN_MAGIC,
    ZSTD_IN_OLD_FORMAT,
)

_FIRST_WINDOW = 4096  # bytes of the first read of a file walk


@kernel
def _read_batch(at: int, row: Any) -> None:
    """Fill ``row`` from the 61 bytes of a magic 2 header at an address."""
    attributes = read_i16(at + ATTRIBUTES_AT)
    row.base_offset = read_i64(at)
    last_offset_delta = read_i32(at + LAST_OFFSET_DELTA_AT)
    row.last_offset = row.base_offset + last_offset_delta
    row.base_timestamp = read_i64(at + BASE_TIMESTAMP_AT)
    row.max_timestamp = read_i64(at + MAX_TIMESTAMP_AT)
    row.delete_horizon = row.base_timestamp if attributes & DELETE_HORIZON_BIT else -1
    row.producer_id = read_i64(at + PRODUCER_ID_AT)
    row.crc = read_u32(at + CRC_AT)
    row.partition_leader_epoch = read_i32(at + PARTITION_LEADER_EPOCH_AT)
    base_sequence = read_i32(at + BASE_SEQUENCE_AT)
    row.base_sequence = base_sequence
    last_sequence = -1
    if base_sequence >= 0:
        last_sequence = base_sequence + last_offset_delta
        if last_sequence > INT32_MAX:  # wraps to 0
            last_sequence -= INT32_MAX + 1
    row.last_sequence = last_sequence
    row.record_count = read_i32(at + RECORD_COUNT_AT)
    row.producer_epoch = read_i16(at + PRODUCER_EPOCH_AT)
    row.attributes = attributes
    row.codec = attributes & CODEC_MASK
    row.timestamp_type = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    row.is_transactional = (attributes & TRANSACTIONAL_BIT) != 0
    row.is_control = (attributes & CONTROL_BIT) != 0
    if row.magic != 2:
        row.problem = UNKNOWN_MAGIC
    elif row.codec > LARGEST_CODEC:
        row.problem = UNKNOWN_CODEC
    elif (
        row.record_count < 0
        or last_offset_delta < 0
        or (row.codec == NONE and row.record_count * SMALLEST_RECORD > row.size - BATCH_HEADER_SIZE)
    ):
        row.problem = BAD_COUNT
    else:
        row.problem = OK


@kernel
def _read_message(at: int, row: Any) -> None:
    """Fill ``row`` from the first 26 bytes of a magic 0 or 1 entry at an address."""
    attributes = read_i8(at + MESSAGE_ATTRIBUTES_AT)
    row.last_offset = read_i64(at)
    row.attributes = attributes
    row.codec = attributes & CODEC_MASK
    row.crc = read_u32(at + MESSAGE_CRC_AT)
    compressed = row.codec != NONE
    row.base_offset = UNKNOWN if compressed else row.last_offset
    row.record_count = UNKNOWN if compressed else 1
    timestamp = -1
    row.timestamp_type = -1
    if row.magic == 1:
        timestamp = read_i64(at + MESSAGE_TIMESTAMP_AT)
        row.timestamp_type = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    row.base_timestamp = timestamp
    row.max_timestamp = timestamp
    row.delete_horizon = -1
    row.producer_id = -1
    row.partition_leader_epoch = -1
    row.base_sequence = -1
    row.last_sequence = -1
    row.producer_epoch = -1
    row.is_transactional = False
    row.is_control = False
    if row.magic < 0:
        row.problem = UNKNOWN_MAGIC
    elif row.magic == 1 and row.size < SMALLEST_ENTRY + 8:
        row.problem = SHORT_BATCH
    elif row.codec > LARGEST_CODEC:
        row.problem = UNKNOWN_CODEC
    elif row.codec == ZSTD:
        row.problem = ZSTD_IN_OLD_FORMAT
    else:
        row.problem = OK


@kernel
def _mark_short(at: int, row: Any) -> None:
    """Fill ``row`` of an entry that ends before its format's header does."""
    row.base_offset = read_i64(at)
    row.last_offset = row.base_offset
    row.base_timestamp = -1
    row.max_timestamp = -1
    row.delete_horizon = -1
    row.producer_id = -1
    row.crc = 0
    row.partition_leader_epoch = -1
    row.base_sequence = -1
    row.last_sequence = -1
    row.record_count = 0
    row.producer_epoch = -1
    row.attributes = 0
    row.codec = 0
    row.timestamp_type = -1
    row.is_transactional = False
    row.is_control = False
    row.problem = SHORT_BATCH


@kernel
def walk(
    address: int, size: int, at: int, file_end: int, rows: Any, count: int
) -> tuple[int, int, int]:
    """Walk as `scan_window` does; ``address`` is that of file position ``at``.

    Returns (rows filled, file position reached, code).
    """
    window_end = at + size
    shift = address - at
    position = at
    while True:
        if file_end - position <= 0:
            return count, position, END
        if file_end - position < ENTRY_HEADER_SIZE:
            return count, position, UNFINISHED
        if count == len(rows):
            return count, position, ROWS_FULL
        if window_end - position < ENTRY_HEADER_SIZE:
            return count, position, MORE_DATA
        here = position + shift
        length = read_i32(here + BATCH_LENGTH_AT)
        if length < SMALLEST_MESSAGE:
            return count, position, BAD_SIZE
        entry_size = length + LENGTH_END
        if entry_size > file_end - position:
            return count, position, UNFINISHED
        magic = read_i8(here + MAGIC_AT)
        header = BATCH_HEADER_SIZE if magic >= 2 else SMALLEST_ENTRY + (8 if magic == 1 else 0)
        short = entry_size < header
        if not short and window_end - position < header:
            return count, position, MORE_DATA
        row = rows[count]
        row.position = position
        row.size = entry_size
        row.magic = magic
        if short:
            _mark_short(here, row)
        elif magic >= 2:
            _read_batch(here, row)
        else:
            _read_message(here, row)
        count += 1
        position += entry_size


@kernel
def scan_window(
    data: npt.NDArray[np.uint8], position: int, file_end: int, rows: Any
) -> tuple[int, int, int]:
    """Walk over the headers of the batches that start in ``data``.

    Args:
        data: uint8[n], C-contiguous: the file's bytes from ``position``, where a batch starts.
        position: the position of ``data[0]`` in the file.
        file_end: the file's size; a batch that does not fit before it is incomplete.
        rows: BATCH_ROW[m], filled in order.

    Returns:
        (count, position, code): rows filled, where the next batch starts, and why it stopped there:
        END, UNFINISHED, BAD_SIZE, MORE_DATA or ROWS_FULL. The position may be beyond ``data`` (only
        the last batch's header was read).
    """
    return walk(address_of(data), len(data), position, file_end, rows, 0)  # type: ignore[no-any-return]


HAS_PREAD = os.name == "posix"
if HAS_PREAD:
    _pread = types.ExternalFunction(
        "pread", types.int64(types.int32, types.int64, types.uint64, types.int64)
    )

    @kernel
    def scan_file(
        descriptor: int, position: int, file_end: int, window: npt.NDArray[np.uint8], rows: Any
    ) -> tuple[int, int, int]:
        """Walk over the headers of a file, reading little more than the headers.

        A window of a file is read at a time: small if batches are large, so that their records are
        not read, and up to ``len(window)`` if they are small.

        Args:
            descriptor: an open file; its own position does not change.
            position: the start of a batch.
            file_end: see `scan_window`.
            window: uint8[n], n >= 4096: working memory.
            rows: BATCH_ROW[m], filled in order.

        Returns:
            See `scan_window`; MORE_DATA means that the file gave fewer bytes than ``file_end``.
        """
        address = address_of(window)
        size = _FIRST_WINDOW
        count = 0
        while True:
            got = _pread(descriptor, address, max(0, min(size, file_end - position)), position)
            if got <= 0 and position < file_end:
                return count, position, MORE_DATA
            before = count
            start = position
            count, position, code = walk(address, max(got, 0), position, file_end, rows, count)
            if code != MORE_DATA:
                return count, position, code
            if position == start:  # not even one header
                return count, position, MORE_DATA
            if count - before > 3:
                size = min(2 * size, len(window))
            elif count - before == 1:
                size = max(size // 2, BATCH_HEADER_SIZE)
