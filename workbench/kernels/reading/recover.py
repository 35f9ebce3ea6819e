"""Kernels of recovery: are the batches valid, and which of them get an index entry.

Kafka: LogSegment.recover, DefaultRecordBatch.isValid, LegacyRecord.isValid (4.2)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.checksum import crc32_at, crc32c_at
from workbench.kernels.intrinsics import address_of
from workbench.layout.batch_header import BATCH_HEADER_SIZE, CRC_FROM
from workbench.layout.message_header import MESSAGE_CRC_FROM, SMALLEST_ENTRY

Rows = npt.NDArray[Any]


@kernel
def first_invalid(data: npt.NDArray[np.uint8], position: int, rows: Rows) -> int:
    """Return the first row whose batch a broker would find invalid; m if all are valid.

    A broker checks only the size and the CRC: not a magic above 2, not the number of records.

    Args:
        data: uint8[n], C-contiguous: the file's bytes from ``position``; holds every batch of
            ``rows``.
        position: the position of ``data[0]`` in the file.
        rows: BATCH_ROW[m].
    """
    start = address_of(data) - position
    for index in range(len(rows)):
        row = rows[index]
        at = start + row.position
        if row.magic >= 2:
            if row.size < BATCH_HEADER_SIZE:
                return index
            if crc32c_at(at + CRC_FROM, row.size - CRC_FROM) != row.crc:
                return index
        else:
            if row.size < SMALLEST_ENTRY:
                return index
            if crc32_at(at + MESSAGE_CRC_FROM, row.size - MESSAGE_CRC_FROM) != row.crc:
                return index
    return len(rows)


@kernel
def choose_entries(
    rows: Rows, last_entry: int, interval: int, chosen: npt.NDArray[np.int64]
) -> int:
    """Fill ``chosen`` with the rows that get an index entry; return how many do.

    A batch gets one if it starts more than ``interval`` bytes after the previous entry's batch.

    Args:
        rows: BATCH_ROW[m].
        last_entry: the position of the batch of the previous entry; the file's start without one.
        interval: `index.interval.bytes`.
        chosen: int64[m].
    """
    count = 0
    for index in range(len(rows)):
        position = rows[index].position
        if position - last_entry > interval:
            chosen[count] = index
            count += 1
            last_entry = position
    return count
