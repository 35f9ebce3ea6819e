"""What a log holds from an offset on: bytes, and the time of the first record there."""

import copy
from typing import NamedTuple

import numpy as np

from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment


class UnreadPart(NamedTuple):
    """The part of a log from an offset on.

    Attributes:
        size: bytes of its batches; the batch with the offset counts as a whole.
        time: timestamp of its first record, ms; None: there is none, or it has no timestamp.
    """

    size: int
    time: int | None


def unread_part(partition: DiskPartition, offset: int) -> UnreadPart:
    """Return the part of a log from an offset on; batch headers of one segment are read.

    Raises:
        OSError: a file cannot be read.
    """
    size, time, is_first = 0, None, True
    bases = [segment.base_offset for segment in partition.segments]
    at = max(int(np.searchsorted(bases, offset, side="right")) - 1, 0)
    for segment in partition.segments[at:]:
        if not is_first:
            size += segment.size
            continue
        rows = copy.copy(segment).batches.rows  # so that the tables of all segments are not kept
        left = rows[rows["last_offset"] >= offset]
        if len(left):
            size += int(left["size"].sum())
            time = _time_at(segment, int(left["position"][0]), int(left["size"][0]), offset)
            is_first = False
    return UnreadPart(size, time)


def _time_at(segment: Segment, position: int, size: int, offset: int) -> int | None:
    """Return the timestamp of the first record of a batch at or after an offset, ms."""
    for chunk in segment.read(position, position + size):
        columns = chunk.columns
        found = np.flatnonzero(columns.offsets >= offset)
        if len(found):
            time = int(columns.timestamps[found[0]])
            return None if time < 0 else time
    return None
