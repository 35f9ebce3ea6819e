"""Messages of magic 0 and 1 as batches of magic 2, which clients of today read.

Offsets and timestamps remain. A batch is not compressed, and there is one for each wrapper and for
each run of plain messages.

Kafka: RecordsUtil.downConvert in the other direction, as 0.11 to 3.9 convert what producers of old
formats send
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.segment import Segment
from workbench.layout.attributes import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, NONE
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import ALL_COLUMNS, Chunk
from workbench.record.writing.batch_writer import (
    MOST_RECORDS,
    HeaderFields,
    attributes_of,
    write_header,
)
from workbench.record.writing.builder import encode_columns

Rows = npt.NDArray[Any]

_RUN_BYTES: Final = 1 << 16  # of plain messages that become one batch


def runs(rows: Rows) -> Iterator[Rows]:
    """Yield old messages in the groups that become one batch: BATCH_ROW[m] each."""
    start, size = 0, 0
    for at, row in enumerate(rows):
        is_wrapper = row["codec"] != NONE
        if at > start and (is_wrapper or size >= _RUN_BYTES or rows[at - 1]["codec"] != NONE):
            yield rows[start:at]
            start, size = at, 0
        size += int(row["size"])
    if len(rows):
        yield rows[start:]


def up_convert(
    segment: Segment, rows: Rows, low: int, pool: BufferPool
) -> tuple[list[bytes], list[Finding]]:
    """Return the records of one run as batches of magic 2, and what cannot be read of it.

    Args:
        segment: the segment.
        rows: BATCH_ROW[m], sound neighbors of magic 0 or 1.
        low: records below this offset are left out, as they do not ascend.
        pool: where the memory comes from.

    Raises:
        OSError: the file cannot be read.
    """
    begin = int(rows["position"][0])
    end = int(rows["position"][-1]) + int(rows["size"][-1])
    batches: list[bytes] = []
    findings: list[Finding] = []
    for chunk in segment.read(begin, end, options=ALL_COLUMNS, pool=pool):
        findings += [finding_of(problem, segment.path) for problem in chunk.problems]
        for picks in _of_one_type(chunk, low):
            batches.append(_batch(chunk, picks))
            low = int(chunk.columns.offsets[picks[-1]]) + 1
    return batches, findings


def _of_one_type(chunk: Chunk, low: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield int64[m], the ascending records of runs with one type of timestamp."""
    columns = chunk.columns
    offsets = columns.offsets
    inside = offsets <= chunk.rows["last_offset"][columns.batch]  # a wrapper has its last offset
    met = np.where(inside, offsets, low - 1)
    before = np.maximum.accumulate(np.concatenate([[low - 1], met[:-1]]))
    picks = np.flatnonzero(inside & (offsets > before))
    if not len(picks):
        return
    is_append_time = columns.timestamp_types(chunk.rows)[picks] == LOG_APPEND_TIME
    # A batch with LogAppendTime has one time for all of its records.
    stamps = np.where(is_append_time, columns.timestamps[picks], -2)
    spans = (offsets[picks] - offsets[picks[0]]) // (MOST_RECORDS + 1)  # a batch holds no more
    edges = np.flatnonzero((stamps[1:] != stamps[:-1]) | (spans[1:] != spans[:-1])) + 1
    yield from np.split(picks, edges)


def _batch(chunk: Chunk, picks: npt.NDArray[np.int64]) -> bytes:
    """Return one batch; a builder takes no negative timestamp, which old messages can have."""
    columns = chunk.columns
    offsets, timestamps = columns.offsets[picks], columns.timestamps[picks]
    base_offset, base_timestamp = int(offsets[0]), max(int(timestamps[0]), NO_TIMESTAMP)
    records = encode_columns(columns, base_offset, base_timestamp, picks)
    batch = np.empty(BATCH_HEADER_SIZE + len(records), np.uint8)
    batch[BATCH_HEADER_SIZE:] = records
    is_append_time = columns.timestamp_types(chunk.rows)[picks[0]] == LOG_APPEND_TIME
    header = HeaderFields(
        base_offset,
        int(offsets[-1]),
        -1,
        attributes_of(NONE, LOG_APPEND_TIME if is_append_time else CREATE_TIME),
        base_timestamp,
        int(timestamps.max()),
        -1,
        -1,
        -1,
        len(picks),
    )
    write_header(batch, header)
    return batch.tobytes()
