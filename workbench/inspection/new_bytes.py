"""Read what was written to a segment since it had a size: how many records, how much damage."""

from typing import Final, NamedTuple

from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.layout.attributes import CONTROL_BIT
from workbench.record.reading.reader import Problem

_OF_NO_BATCH: Final = frozenset(
    {problems.BAD_SIZE, problems.UNFINISHED, problems.SHORT_BATCH, problems.UNKNOWN_MAGIC}
)
"""What bytes inside of a batch look like to a reader that takes them for a header."""


class NewBytes(NamedTuple):
    """What follows a position in a segment.

    Attributes:
        records: how many records can be read, without transaction markers.
        damaged: how many batches cannot be read, or parts of the file between batches.
        end: where the last batch ends, and the next one will begin.
    """

    records: int
    damaged: int
    end: int


def read_new_bytes(segment: Segment, start: int, *, from_batch: bool) -> NewBytes:
    """Read a segment from a position on, with its CRCs; an incomplete last batch is left out.

    Args:
        segment: as it was listed now.
        start: the position, such as an earlier size of the file.
        from_batch: whether a batch begins there; otherwise the bytes up to the next one may be the
            rest of one that was being written.

    Raises:
        OSError: the file cannot be read.
    """
    records, damaged, end = 0, 0, start
    for chunk in segment.read(start, options=0):
        is_control = (chunk.rows["attributes"] & CONTROL_BIT) != 0
        records += int((~is_control[chunk.columns.batch]).sum())
        for each in chunk.problems:
            is_rest = not from_batch and each.position == start and each.code in _OF_NO_BATCH
            damaged += not is_rest and not _is_being_written(each, segment)
        if len(chunk.rows):
            last = chunk.rows[-1]
            end = int(last["position"]) + int(last["size"])
    return NewBytes(records, damaged, end)


def _is_being_written(problem: Problem, segment: Segment) -> bool:
    is_tail = problem.position + problem.size >= segment.size
    return problem.code == problems.UNFINISHED or (is_tail and problem.code == problems.BAD_SIZE)
