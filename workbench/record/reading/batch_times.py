"""Offsets and timestamps of the records of one batch, of any format: for lookups by time.

Nothing is allocated: each thread has memory for this, which every call reuses.

Kafka: DefaultRecordBatch.iterator, AbstractLegacyRecordBatch.iterator (4.2)
"""

import threading
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.kernels.reading.outputs import RECORDS, RecordOutputs, no_outputs
from workbench.layout import problems
from workbench.layout.batch_header import SMALLEST_RECORD
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.record.limits import MOST_CONTENT
from workbench.record.reading.batch_records import decompressed

_FIRST_ROOM: Final = 1024  # records


class BatchTimes(NamedTuple):
    """The records of a batch; valid until this thread asks for those of another.

    Attributes:
        offsets: int64[n].
        timestamps: int64[n], ms; -1: none.
    """

    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]


class _Memory(threading.local):
    """The outputs of each thread."""

    def __init__(self) -> None:
        self.rows = np.zeros(1, BATCH_ROW)
        self.spans = np.zeros((1, 2), np.int64)
        self.out = no_outputs()

    def outputs(self, records: int) -> RecordOutputs:
        """Return empty outputs with room for ``count`` records."""
        out = self.out
        if records > len(out.offsets):
            room = max(records, 2 * len(out.offsets), _FIRST_ROOM)
            offsets, timestamps = np.empty(room, np.int64), np.empty(room, np.int64)
            batch = np.empty(room, np.int32)
            out = out._replace(offsets=offsets, timestamps=timestamps, batch=batch)
            self.out = out
        out.used[RECORDS] = 0
        return out


_MEMORY: Final = _Memory()


def batch_times(data: npt.NDArray[np.uint8], limit: int = MOST_CONTENT) -> BatchTimes:
    """Return offsets and timestamps of the records of the batch in ``data``, uint8[n].

    Args:
        data: the batch.
        limit: the size in bytes to which it may decompress.

    Raises:
        CorruptRecordError: it is incomplete, or cannot be read. The CRC is not checked.
    """
    memory = _MEMORY
    rows, spans = memory.rows, memory.spans
    count, _, code = dispatch.scan_window(data, 0, len(data), rows)
    if count == 0:
        raise CorruptRecordError(None, 0, problems.WORDS[int(code)])
    row = rows[0]
    problem = row["problem"]
    if problem != problems.OK:
        raise CorruptRecordError(None, 0, problems.WORDS[int(problem)])
    old = row["magic"] < 2
    if not old and row["record_count"] == 0:
        return BatchTimes(memory.out.offsets[:0], memory.out.timestamps[:0])
    records, start, end = decompressed(data, row, limit)
    spans[0, 0], spans[0, 1] = start, end
    # The kernel of old formats asks for room by what the bytes could hold; the other for as many
    # records as the header says, once the bytes could hold them.
    room = (end - start) // (SMALLEST_ENTRY if old else SMALLEST_RECORD) + 1
    if not old:
        room = min(room, int(row["record_count"]))
    out = memory.outputs(room)
    decode = dispatch.decode_messages if old else dispatch.decode_records
    _, code, position = decode(records, spans, rows, 0, 1, 0, out)
    if code not in problems.READ:
        inside = int(position) - start
        problem_text = f"{problems.WORDS[int(code)]}, byte {inside} of the records"
        raise CorruptRecordError(None, 0, problem_text)
    found = int(out.used[RECORDS])
    return BatchTimes(out.offsets[:found], out.timestamps[:found])
