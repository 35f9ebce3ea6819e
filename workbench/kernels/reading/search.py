"""Search a window of a file for the batch or the record that a lookup wants, compiled.

Kafka: FileRecords.searchForOffsetFromPosition, searchForTimestamp (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of
from workbench.kernels.reading.decode import decode_batch
from workbench.kernels.reading.outputs import Rows
from workbench.kernels.reading.scan import walk
from workbench.kernels.reading.targets import Counters, Targets
from workbench.layout.attributes import LOG_APPEND_TIME, NONE, UNKNOWN
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD
from workbench.layout.integers import INT64_MAX
from workbench.layout.problems import FOUND, OK


@kernel
def _note(row: Any, header: npt.NDArray[np.int64]) -> None:
    """Keep the fields of `SEARCHED_FIELDS`."""
    header[0] = row.position
    header[1] = row.size
    header[2] = row.base_offset
    header[3] = row.last_offset
    header[4] = row.max_timestamp
    header[5] = row.partition_leader_epoch
    header[6] = row.magic


@kernel
def _find(
    window: tuple[int, int, int],
    position: int,
    file_end: int,
    wanted: tuple[int, int],
    rows: Rows,
    headers: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Do what `find_batch` does; ``window``: address of the bytes, their size and position."""
    address, size, start = window
    offset, timestamp = wanted
    while True:
        at = position - start
        count, after, code = walk(address + at, size - at, position, file_end, rows, 0)
        if count == 0:
            return position, code
        row = rows[0]
        is_unknown = row.base_offset == UNKNOWN and row.magic < 2 and row.last_offset >= offset
        if row.base_offset >= offset or is_unknown or row.max_timestamp >= timestamp:
            _note(row, headers[1])
            return position, FOUND
        _note(row, headers[0])
        position = after


@kernel
def find_batch(
    data: npt.NDArray[np.uint8],
    position: int,
    file_end: int,
    offset: int,
    timestamp: int,
    rows: Rows,
    headers: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Walk over headers to the first batch that begins at or after an offset, or has a time.

    A compressed message of magic 0 or 1 that reaches the offset is found too: its base offset is
    not in the header.

    Args:
        data: uint8[n], C-contiguous: the file's bytes from ``position``, where a batch starts.
        position: the position of ``data[0]`` in the file.
        file_end: a batch that does not fit before it is incomplete.
        offset: the offset; the largest int64 if only the time counts.
        timestamp: ms; a batch with a timestamp at or after it is found; likewise.
        rows: BATCH_ROW[1], working memory.
        headers: int64[2, m]: set to the `SEARCHED_FIELDS` of the last batch passed, if one was, and
            of the one found.

    Returns:
        (position, code): FOUND and where that batch starts; or where the next one starts, perhaps
        beyond ``data``, and a code of `scan_window`: END, UNFINISHED, BAD_SIZE or MORE_DATA.
    """
    window = (address_of(data), len(data), position)
    return _find(window, position, file_end, (offset, timestamp), rows, headers)  # type: ignore[no-any-return]


@kernel
def find_record(
    data: npt.NDArray[np.uint8],
    position: int,
    file_end: int,
    offset: int,
    timestamp: int,
    rows: Rows,
    headers: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    timestamps: npt.NDArray[np.int64],
    batch: npt.NDArray[np.int32],
) -> tuple[int, int, int]:
    """Search for the first record at or after an offset that is not older than a time.

    Args:
        data, position, file_end, rows, headers: see `find_batch`.
        offset: records before it are passed.
        timestamp: ms.
        offsets, timestamps, batch: int64[n] twice and int32[n]: filled with the records of the
            batch found.

    Returns:
        (position, code, slot). FOUND, the position of a batch, and the slot of its record in
        ``offsets`` and ``timestamps``; -1 if another kernel must read that batch: it is compressed,
        of magic 0 or 1, incomplete in ``data``, has no records or more than n, or has a problem.
        Or the result of `find_batch`, and -1.
    """
    start = position
    window = (address_of(data), len(data), start)
    places = (address_of(offsets), address_of(timestamps), address_of(batch))
    while True:
        position, code = _find(window, position, file_end, (INT64_MAX, timestamp), rows, headers)
        row = rows[0]
        if code != FOUND or row.problem != OK or row.magic != 2 or row.codec != NONE:
            return position, code, -1
        size = row.size - BATCH_HEADER_SIZE
        at = position - start
        if (
            at + row.size > len(data)
            or not 0 < row.record_count <= len(offsets)
            or row.record_count * SMALLEST_RECORD > size
        ):
            return position, code, -1
        begin = window[0] + at + BATCH_HEADER_SIZE
        counters, problem, _ = decode_batch(
            (begin, begin + size),
            (row.base_timestamp, row.max_timestamp, row.timestamp_type == LOG_APPEND_TIME),
            row.base_offset,
            (0, row.record_count),
            0,
            Targets(*places, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            Counters(0, 0, 0, 0, 0, 0, 0, 0, 0),
        )
        if problem != OK:
            return position, code, -1
        for slot in range(counters.records):
            if timestamps[slot] >= timestamp and offsets[slot] >= offset:
                return position, code, slot
        _note(row, headers[0])
        position += row.size
