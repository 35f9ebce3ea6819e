"""The plain twins of `recover`."""

import zlib
from typing import Any

import crcmod.predefined
import numpy as np
import numpy.typing as npt

from workbench.layout.batch_header import BATCH_HEADER_SIZE, CRC_FROM
from workbench.layout.message_header import MESSAGE_CRC_FROM, SMALLEST_ENTRY

_crc32c = crcmod.predefined.mkCrcFun("crc-32c")

Rows = npt.NDArray[Any]


def first_invalid(data: npt.NDArray[np.uint8], position: int, rows: Rows) -> int:
    """Do what `recover.first_invalid` does."""
    for index, row in enumerate(rows):
        at, size = int(row["position"]) - position, int(row["size"])
        entry = data[at : at + size].tobytes()
        if row["magic"] >= 2:
            whole = size >= BATCH_HEADER_SIZE and _crc32c(entry[CRC_FROM:]) == row["crc"]
        else:
            crc = zlib.crc32(entry[MESSAGE_CRC_FROM:])
            whole = size >= SMALLEST_ENTRY and crc == row["crc"]
        if not whole:
            return index
    return len(rows)


def choose_entries(
    rows: Rows, last_entry: int, interval: int, chosen: npt.NDArray[np.int64]
) -> int:
    """Do what `recover.choose_entries` does."""
    count = 0
    for index, position in enumerate(rows["position"].tolist()):
        if position - last_entry > interval:
            chosen[count] = index
            count += 1
            last_entry = position
    return count
