"""Walk over batch headers, compiled: one row of `BATCH_ROW` a batch, no decompression, no CRC.

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
    LOG_APPEND_TIME_BIT,
    NONE,
    TRANSACTIONAL_BIT,
    UNKNOWN,
    ZSTD,
)
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
    SMALLEST_RECORD,
)
from workbench.layout.message_header import MESSAGE_V0, MESSAGE_V1, SMALLEST_ENTRY, SMALLEST_MESSAGE
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
from workbench.layout.structure import place

_CRC = place(BATCH_HEADER, "crc")
_ATTRIBUTES = place(BATCH_HEADER, "attributes")
_LAST_OFFSET_DELTA = place(BATCH_HEADER, "last_offset_delta")
_BASE_TIMESTAMP = place(BATCH_HEADER, "base_timestamp")
_MAX_TIMESTAMP = place(BATCH_HEADER, "max_timestamp")
_PRODUCER_ID = place(BATCH_HEADER, "producer_id")
_PRODUCER_EPOCH = place(BATCH_HEADER, "producer_epoch")
_BASE_SEQUENCE = place(BATCH_HEADER, "base_sequence")
_RECORD_COUNT = place(BATCH_HEADER, "record_count")
_LEADER_EPOCH = place(BATCH_HEADER, "partition_leader_epoch")
_SIZE = place(BATCH_HEADER, "batch_length")
_MESSAGE_CRC = place(MESSAGE_V0, "crc")
_MESSAGE_ATTRIBUTES = place(MESSAGE_V0, "attributes")
_MESSAGE_TIMESTAMP = place(MESSAGE_V1, "timestamp")
_FIRST_WINDOW = 4096  # bytes of the first read of a file walk
_MOST_SEQUENCE = 2**31 - 1


@kernel
def _read_batch(at: int, row: Any) -> None:
    """Fill ``row`` from the 61 bytes of a magic 2 header at an address."""
    attributes = read_i16(at + _ATTRIBUTES)
    row.base_offset = read_i64(at)
    last_offset_delta = read_i32(at + _LAST_OFFSET_DELTA)
    row.last_offset = row.base_offset + last_offset_delta
    row.base_timestamp = read_i64(at + _BASE_TIMESTAMP)
    row.max_timestamp = read_i64(at + _MAX_TIMESTAMP)
    row.delete_horizon = row.base_timestamp if attributes & DELETE_HORIZON_BIT else -1
    row.producer_id = read_i64(at + _PRODUCER_ID)
    row.crc = read_u32(at + _CRC)
    row.partition_leader_epoch = read_i32(at + _LEADER_EPOCH)
    base_sequence = read_i32(at + _BASE_SEQUENCE)
    row.base_sequence = base_sequence
    last_sequence = -1
    if base_sequence >= 0:
        last_sequence = base_sequence + last_offset_delta
        if last_sequence > _MOST_SEQUENCE:  # wraps to 0
            last_sequence -= _MOST_SEQUENCE + 1
    row.last_sequence = last_sequence
    row.record_count = read_i32(at + _RECORD_COUNT)
    row.producer_epoch = read_i16(at + _PRODUCER_EPOCH)
    row.attributes = attributes
    row.codec = attributes & CODEC_MASK
    row.timestamp_type = 1 if attributes & LOG_APPEND_TIME_BIT else 0
    row.is_transactional = (attributes & TRANSACTIONAL_BIT) != 0
    row.is_control = (attributes & CONTROL_BIT) != 0
    if row.magic != 2:
        row.problem = UNKNOWN_MAGIC
    elif row.codec > ZSTD:
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
    attributes = read_i8(at + _MESSAGE_ATTRIBUTES)
    row.last_offset = read_i64(at)
    row.attributes = attributes
    row.codec = attributes & CODEC_MASK
    row.crc = read_u32(at + _MESSAGE_CRC)
    compressed = row.codec != NONE
    row.base_offset = UNKNOWN if compressed else row.last_offset
    row.record_count = UNKNOWN if compressed else 1
    timestamp = -1
    row.timestamp_type = -1
    if row.magic == 1:
        timestamp = read_i64(at + _MESSAGE_TIMESTAMP)
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
    elif row.codec > ZSTD:
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
def _walk(
    address: int, size: int, at: int, file_end: int, rows: Any, count: int
) -> tuple[int, int, int]:
    """Walk as `scan_window` does; ``address`` stands for file position ``at - (at - address)``.

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
        length = read_i32(here + _SIZE)
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
        position: byte place of ``data[0]`` in the file.
        file_end: where the file ends; a batch that does not fit before it is unfinished.
        rows: BATCH_ROW[m], filled in order.

    Returns:
        (count, position, code): rows filled, where the next batch starts, and why it stopped there:
        END, UNFINISHED, BAD_SIZE, MORE_DATA or ROWS_FULL. The position may lie beyond ``data`` (the
        last batch is only known by its header).
    """
    return _walk(address_of(data), len(data), position, file_end, rows, 0)  # type: ignore[no-any-return]


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

        A window of a file is read at a time: small where batches are large, so that their records
        stay on the disk, and up to ``len(window)`` where they are small.

        Args:
            descriptor: an open file; its own position is not moved.
            position: where a batch starts.
            file_end: as in `scan_window`.
            window: uint8[n], n >= 4096: working memory.
            rows: BATCH_ROW[m], filled in order.

        Returns:
            As `scan_window`; MORE_DATA here means that the file gave fewer bytes than ``file_end``
            said.
        """
        address = address_of(window)
        size = _FIRST_WINDOW
        count = 0
        while True:
            got = _pread(descriptor, address, min(size, file_end - position), position)
            if got <= 0 and position < file_end:
                return count, position, MORE_DATA
            before = count
            start = position
            count, position, code = _walk(address, max(got, 0), position, file_end, rows, count)
            if code != MORE_DATA:
                return count, position, code
            if position == start:  # not even one header
                return count, position, MORE_DATA
            if count - before > 3:
                size = min(2 * size, len(window))
            elif count - before == 1:
                size = max(size // 2, BATCH_HEADER_SIZE)
