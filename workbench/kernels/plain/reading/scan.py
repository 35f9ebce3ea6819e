"""Twin of `scan` in plain Python: a walk over batch headers.

Same arguments, results, codes and positions as the compiled kernels, whose docstrings apply here.
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.reading.outputs import Rows
from workbench.layout import attributes, problems
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
    SMALLEST_RECORD,
)
from workbench.layout.message_header import (
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
    SMALLEST_MESSAGE,
)
from workbench.layout.structure import as_struct

_BATCH = as_struct(BATCH_HEADER)
_V0 = as_struct(MESSAGE_V0)
_V1 = as_struct(MESSAGE_V1)

Bytes = npt.NDArray[np.uint8]


def _batch_row(header: bytes, position: int, size: int) -> dict[str, Any]:
    (base_offset, _, epoch, magic, crc, bits, delta, base_ts, max_ts, pid, pepoch, seq, count) = (
        _BATCH.unpack(header)
    )
    codec = bits & attributes.CODEC_MASK
    last_sequence = seq + delta if seq >= 0 else -1
    if last_sequence >= 2**31:
        last_sequence -= 2**31
    if magic != 2:
        problem = problems.UNKNOWN_MAGIC
    elif codec > attributes.LARGEST_CODEC:
        problem = problems.UNKNOWN_CODEC
    elif (
        count < 0
        or delta < 0
        or (codec == attributes.NONE and count * SMALLEST_RECORD > size - BATCH_HEADER_SIZE)
    ):
        problem = problems.BAD_COUNT
    else:
        problem = problems.OK
    last_offset = (base_offset + delta + 2**63) % 2**64 - 2**63
    last_sequence = (last_sequence + 2**31) % 2**32 - 2**31
    return {
        "position": position,
        "size": size,
        "base_offset": base_offset,
        "last_offset": last_offset,
        "base_timestamp": base_ts,
        "max_timestamp": max_ts,
        "delete_horizon": base_ts if bits & attributes.DELETE_HORIZON_BIT else -1,
        "producer_id": pid,
        "crc": crc,
        "partition_leader_epoch": epoch,
        "base_sequence": seq,
        "last_sequence": last_sequence,
        "record_count": count,
        "producer_epoch": pepoch,
        "attributes": bits,
        "magic": magic,
        "codec": codec,
        "timestamp_type": 1 if bits & attributes.LOG_APPEND_TIME_BIT else 0,
        "is_transactional": bool(bits & attributes.TRANSACTIONAL_BIT),
        "is_control": bool(bits & attributes.CONTROL_BIT),
        "problem": problem,
    }


def _message_row(header: bytes, position: int, size: int) -> dict[str, Any]:
    offset, _, crc, magic, bits = _V0.unpack_from(header)
    codec = bits & attributes.CODEC_MASK
    timestamp, kind = -1, attributes.NO_TIMESTAMP_TYPE
    if magic == 1:
        timestamp = _V1.unpack(header)[-1]
        kind = 1 if bits & attributes.LOG_APPEND_TIME_BIT else 0
    if magic < 0:
        problem = problems.UNKNOWN_MAGIC
    elif codec > attributes.LARGEST_CODEC:
        problem = problems.UNKNOWN_CODEC
    elif codec == attributes.ZSTD:
        problem = problems.ZSTD_IN_OLD_FORMAT
    else:
        problem = problems.OK
    return {
        **_EMPTY_ROW,
        "position": position,
        "size": size,
        "base_offset": -1 if codec else offset,
        "last_offset": offset,
        "base_timestamp": timestamp,
        "max_timestamp": timestamp,
        "crc": crc,
        "record_count": -1 if codec else 1,
        "attributes": bits,
        "magic": magic,
        "codec": codec,
        "timestamp_type": kind,
        "problem": problem,
    }


_EMPTY_ROW: dict[str, Any] = {
    "base_timestamp": -1,
    "max_timestamp": -1,
    "delete_horizon": -1,
    "producer_id": -1,
    "crc": 0,
    "partition_leader_epoch": -1,
    "base_sequence": -1,
    "last_sequence": -1,
    "record_count": 0,
    "producer_epoch": -1,
    "attributes": 0,
    "codec": 0,
    "timestamp_type": -1,
    "is_transactional": False,
    "is_control": False,
    "problem": problems.SHORT_BATCH,
}


def scan_window(data: Bytes, position: int, file_end: int, rows: Rows) -> tuple[int, int, int]:
    """Walk over the headers of the batches that start in ``data``: see `scan.scan_window`."""
    start, window_end = position, position + len(data)
    count = 0
    while True:
        if position >= file_end:
            return count, position, problems.END
        if file_end - position < ENTRY_HEADER_SIZE:
            return count, position, problems.UNFINISHED
        if count == len(rows):
            return count, position, problems.ROWS_FULL
        if window_end - position < ENTRY_HEADER_SIZE:
            return count, position, problems.MORE_DATA
        at = position - start
        entry = bytes(data[at : at + BATCH_HEADER_SIZE])
        base_offset, length = (
            int.from_bytes(entry[:8], signed=True),
            int.from_bytes(entry[8:LENGTH_END], signed=True),
        )
        if length < SMALLEST_MESSAGE:
            return count, position, problems.BAD_SIZE
        size = length + LENGTH_END
        if size > file_end - position:
            return count, position, problems.UNFINISHED
        magic = int.from_bytes(entry[MAGIC_AT : MAGIC_AT + 1], signed=True)
        header = BATCH_HEADER_SIZE if magic >= 2 else SMALLEST_ENTRY + (8 if magic == 1 else 0)
        if size >= header and window_end - position < header:
            return count, position, problems.MORE_DATA
        if size < header:
            row = {**_EMPTY_ROW, "base_offset": base_offset, "last_offset": base_offset}
            row |= {"position": position, "size": size, "magic": magic}
        elif magic >= 2:
            row = _batch_row(entry, position, size)
        else:
            row = _message_row(entry[: _V1.size], position, size)
        for name, value in row.items():
            rows[count][name] = value
        count += 1
        position += size


HAS_PREAD = os.name == "posix"


def scan_file(
    descriptor: int, position: int, file_end: int, window: Bytes, rows: Rows
) -> tuple[int, int, int]:
    """Walk over the headers of a file: see `scan.scan_file`."""
    count = 0
    while True:
        size = min(len(window), file_end - position)
        data = os.pread(descriptor, size, position) if size > 0 else b""
        if not data and position < file_end:
            return count, position, problems.MORE_DATA
        got, reached, code = scan_window(
            np.frombuffer(data, np.uint8), position, file_end, rows[count:]
        )
        count += got
        if code != problems.MORE_DATA or reached == position:
            return count, reached, code
        position = reached
