"""Twin of `search` in plain Python: the batch or the record that a lookup wants.

Same arguments, results and codes as the compiled kernels, whose docstrings apply here.
"""

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.reading.decode import decode_records
from workbench.kernels.plain.reading.scan import scan_window
from workbench.kernels.reading.outputs import RECORDS, SEARCHED_FIELDS, Rows, no_outputs
from workbench.layout import problems
from workbench.layout.attributes import NONE, UNKNOWN
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.integers import INT64_MAX

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


def find_batch(
    data: Bytes, position: int, file_end: int, offset: int, timestamp: int, rows: Rows,
    headers: Longs,
) -> tuple[int, int]:  # fmt: skip
    """Walk to the first batch that begins at or after an offset, or has a time: see `search`."""
    start = position
    while True:
        window = data[position - start :]
        count, after, code = scan_window(window, position, file_end, rows)
        if count == 0:
            return position, code
        row = rows[0]
        header = [int(row[name]) for name in SEARCHED_FIELDS]
        reaches = row["base_offset"] == UNKNOWN and row["last_offset"] >= offset
        if (
            row["base_offset"] >= offset
            or (reaches and row["magic"] < 2)
            or row["max_timestamp"] >= timestamp
        ):
            headers[1] = header
            return position, problems.FOUND
        headers[0] = header
        position = after


def find_record(
    data: Bytes, position: int, file_end: int, offset: int, timestamp: int, rows: Rows,
    headers: Longs, offsets: Longs, timestamps: Longs, batch: npt.NDArray[np.int32],
) -> tuple[int, int, int]:  # fmt: skip
    """Search for the first record at or after an offset and a time: see `search.find_record`."""
    start = position
    while True:
        window = data[position - start :]
        position, code = find_batch(window, position, file_end, INT64_MAX, timestamp, rows, headers)
        row, at = rows[0], position - start
        if (
            code != problems.FOUND
            or (row["problem"], row["magic"], row["codec"]) != (problems.OK, 2, NONE)
            or at + row["size"] > len(data)
            or not 0 < row["record_count"] <= len(offsets)
        ):
            return position, code, -1
        out = no_outputs()._replace(offsets=offsets, timestamps=timestamps, batch=batch)
        spans = np.array([[at + BATCH_HEADER_SIZE, at + row["size"]]])
        _, problem, _ = decode_records(data, spans, rows, 0, 1, 0, out)
        if problem != problems.OK:
            return position, code, -1
        for slot in range(int(out.used[RECORDS])):
            if timestamps[slot] >= timestamp and offsets[slot] >= offset:
                return position, code, slot
        headers[0] = [int(row[name]) for name in SEARCHED_FIELDS]
        position += int(row["size"])
