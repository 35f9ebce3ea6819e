"""The first record of a partition with the largest time, by the headers of its local batches.

Kafka: UnifiedLog.fetchOffsetByTimestamp with MAX_TIMESTAMP (4.2)
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.files.names import MAX_OFFSET
from workbench.inspection.findings import Finding
from workbench.inspection.log_parts import LogPart
from workbench.inspection.lookups.time_lookup import OffsetAtTime
from workbench.inspection.segment import Segment
from workbench.inspection.unreadable import unreadable
from workbench.layout import problems
from workbench.record.buffers import thread_pool
from workbench.record.reading.batch_table import first_offsets
from workbench.server.logs.log_read import sound_batches

Rows = npt.NDArray[Any]


def max_timestamp(
    parts: Sequence[LogPart], within: tuple[int, int], findings: list[Finding]
) -> OffsetAtTime | None:
    """Return the first record with the largest time; None without any.

    Args:
        parts: what is read of each segment.
        within: [first, end): the offsets that count.
        findings: gets what cannot be read.
    """
    largest: tuple[int, Segment, Any] | None = None
    for segment, rows in _batches(parts, within[0], findings):
        at = int(rows["max_timestamp"].argmax())
        stamp = int(rows["max_timestamp"][at])
        if stamp >= 0 and (largest is None or stamp > largest[0]):
            largest = (stamp, segment, rows[at].copy())
    if largest is None:
        return None
    return _first_record(largest[1], largest[2], largest[0], within)


def _batches(
    parts: Sequence[LogPart], first: int, findings: list[Finding]
) -> Iterator[tuple[Segment, Rows]]:
    """Yield the local batches with records that are served, by their headers, some at a time."""
    for part in parts:
        segment, start = part.segment, max(first, part.low)
        if segment is None or part.is_remote:
            continue
        try:
            for rows in _headers(segment):
                wanted = (rows["last_offset"] >= start) & (rows["problem"] == problems.OK)
                wanted &= (rows["record_count"] != 0) & (first_offsets(rows) < part.high)
                if wanted.any():
                    yield segment, rows[wanted]
        except OSError as error:
            findings += unreadable(segment.path, error)


def _first_record(
    segment: Segment, row: Any, timestamp: int, within: tuple[int, int]
) -> OffsetAtTime | None:
    """Return the first record of a batch that has at least a time, of the offsets that count."""
    begin, stop = int(row["position"]), int(row["position"] + row["size"])
    start, end = within
    for chunk in segment.read(begin, stop, options=0, pool=thread_pool()):
        columns = chunk.columns
        found = (columns.timestamps >= timestamp) & (columns.offsets >= start)
        at = np.flatnonzero(found & (columns.offsets < end))
        if len(at):
            return OffsetAtTime(int(columns.timestamps[at[0]]), int(columns.offsets[at[0]]))
    return None


def _headers(segment: Segment) -> Iterator[Rows]:
    """Yield the batches of a segment by their headers, also those after damage."""
    for table in segment.batch_parts():
        yield table.rows
        if table.stop.code == problems.BAD_SIZE:
            everywhere = (0, MAX_OFFSET)
            position = table.stop.position
            for found in sound_batches(segment, position, everywhere, thread_pool()):
                yield found.rows
