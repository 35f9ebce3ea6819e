"""The batches of one log in the order of their offsets, by their headers, in parts.

A part has some thousand rows, so memory does not grow with the log. After damage the walk finds the
next batch with a valid CRC. Batches whose offsets do not ascend are left out, as what cannot be
read is: no broker appends them.

Kafka: FileRecords.batches (4.2)
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.integers import INT64_MAX
from workbench.record.buffers import thread_pool
from workbench.record.reading.batch_table import walk_batches
from workbench.record.reading.reader import Problem
from workbench.record.reading.windows import BatchWindows

Rows = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_SPAN: Final = 1 << 31  # offsets that a segment can hold

_IDENTITY: Final = ("last_offset", "size", "crc", "partition_leader_epoch", "magic")
"""The CRC, and the fields that it does not cover; it covers how far the base offset is below."""


class ComparedBatches(NamedTuple):
    """Some batches of a log.

    Attributes:
        segment: the segment that holds them.
        rows: BATCH_ROW[m], not empty unless there are problems, ascending by offset. A compressed
            magic 0 or 1, whose header lacks the base offset, has the lowest that is possible.
        sound: bool[m]: whether the CRC of each is valid; all true if none was checked.
        problems: bytes before, between or after them that are not a batch, or a batch that is left
            out: its header cannot be right, or its offsets do not ascend.
    """

    segment: Segment
    rows: Rows
    sound: Mask
    problems: list[Problem]


def parts_of(
    partition: DiskPartition, low: int = 0, high: int = INT64_MAX, *, check_crc: bool = False
) -> Iterator[ComparedBatches]:
    """Yield the batches that hold any offset of [low, high), ascending by offset.

    Args:
        partition: the log.
        low, high: offsets.
        check_crc: whether to read the batches whole; otherwise headers and little more is read.

    Raises:
        OSError: a file cannot be read.
    """
    last = -1  # offset of the last batch given
    segments = partition.segments
    for at, segment in enumerate(segments):
        if segment.base_offset >= high:
            return
        if at + 1 < len(segments) and segments[at + 1].base_offset <= low:
            continue
        end = segments[at + 1].base_offset if at + 1 < len(segments) else INT64_MAX
        end = min(end, segment.base_offset + _SPAN)
        for part in _checked(segment) if check_crc else _walk(segment):
            kept = _ascending(part.rows, max(last, segment.base_offset - 1), end)
            left_out = []
            if not kept.all():
                checked = zip(part.rows[~kept], part.sound[~kept].tolist(), strict=True)
                left_out = [_left_out(row, is_sound=is_sound) for row, is_sound in checked]
            rows, sound = _chosen(part.rows, kept), part.sound[kept]
            if len(rows):
                _fill_base_offsets(rows, max(last, segment.base_offset - 1))
                last = int(rows["last_offset"][-1])
                within = (rows["last_offset"] >= low) & (rows["base_offset"] < high)
                rows, sound = _chosen(rows, within), sound[within]
            found = [*part.problems, *left_out]
            if len(rows) or found:
                yield ComparedBatches(segment, rows, sound, found)
            if last >= high - 1:
                return


def _walk(segment: Segment) -> Iterator[ComparedBatches]:
    """Yield the batches of a segment in file order, by their headers."""
    end, code = 0, problems.END
    with segment.open() as source:
        size = source.size
        for table in walk_batches(source, size):
            yield ComparedBatches(segment, table.rows, np.ones(len(table), np.bool_), [])
            code, end = table.stop
        if code != problems.END:  # a damaged size, perhaps, with whole batches after it
            for part in _windows(segment, source, end):
                yield part._replace(sound=np.ones(len(part.rows), np.bool_))


def _checked(segment: Segment) -> Iterator[ComparedBatches]:
    """Yield the batches of a segment in file order, with the checks of their CRCs."""
    with segment.open() as source:
        yield from _windows(segment, source, 0)


def _windows(segment: Segment, source: FileSource, start: int) -> Iterator[ComparedBatches]:
    """Yield the batches from a position on, with the checks of their CRCs, and what is between."""
    windows = BatchWindows(source, start, source.size, thread_pool(), segment.base_offset)
    for window in windows:
        found, windows.problems = windows.problems, []
        yield ComparedBatches(segment, window.rows, window.valid(window.rows), found)
    if windows.problems:
        yield ComparedBatches(
            segment, np.zeros(0, BATCH_ROW), np.zeros(0, np.bool_), windows.problems
        )


def _ascending(rows: Rows, last: int, end: int) -> Mask:
    """Return bool[m]: which batches are sound by their headers and begin after the one before.

    Args:
        rows: BATCH_ROW[m].
        last: the offset before the first one possible.
        end: the offset after the last one possible.
    """
    if not len(rows):
        return np.zeros(0, np.bool_)
    ends = rows["last_offset"]
    starts = np.where(_lacks_base(rows), ends, rows["base_offset"])
    good: Mask = (rows["problem"] == problems.OK) & (starts > last) & (starts <= ends)
    good &= ends < end
    # A single batch above both neighbors is the odd one; otherwise the one that falls is.
    good[1:-1] &= (ends[1:-1] < starts[2:]) | (starts[2:] <= ends[:-2])
    before = np.maximum.accumulate(np.where(good, ends, last))
    good[1:] &= starts[1:] > before[:-1]
    return good


def _lacks_base(rows: Rows) -> Mask:
    lacks: Mask = (rows["base_offset"] < 0) & (rows["magic"] < 2)
    return lacks


def _fill_base_offsets(rows: Rows, last: int) -> None:
    """Set the base offsets that headers lack to the lowest possible; ``last`` comes before."""
    lacks = np.flatnonzero(_lacks_base(rows))
    if len(lacks):
        before = np.concatenate([[last], rows["last_offset"][:-1]])
        rows["base_offset"][lacks] = before[lacks] + 1


def _chosen(rows: Rows, mask: Mask) -> Rows:
    """Return the rows of a mask; the same rows if it is all of them, because copies are slow."""
    return rows if mask.all() else rows[mask]


def _left_out(row: Any, *, is_sound: bool) -> Problem:
    if not is_sound:
        return crc_problem(row)
    code = int(row["problem"]) or OFFSET_ORDER
    offset = int(row["base_offset"])
    found = ""
    if code == OFFSET_ORDER:
        found = f"offsets {offset} to {int(row['last_offset'])} out of order"
    return Problem(code, int(row["position"]), int(row["size"]), offset, found)


def crc_problem(row: Any) -> Problem:
    """Return what is wrong with a batch whose CRC is invalid."""
    position, size, offset = int(row["position"]), int(row["size"]), int(row["base_offset"])
    found = f"CRC {int(row['crc']):08x} stored"
    return Problem(problems.CRC_MISMATCH, position, size, offset, found, "that of the bytes")


OFFSET_ORDER: Final = -1
"""Code of a batch whose offsets do not ascend; the others are from `layout.problems`."""


def equal_batches(left: Rows, right: Rows) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows of both sides that are equal byte for byte, by their CRCs.

    Args:
        left, right: BATCH_ROW[n], BATCH_ROW[m], ascending by offset.

    Returns:
        int[k], int[k]: rows of ``left``, and of ``right``.
    """
    count = min(len(left), len(right))
    same = _same(left[:count], right[:count])
    if count == len(left) == len(right) and same.all():  # the usual case needs no search
        every = np.arange(count)
        return every, every
    _, at_left, at_right = np.intersect1d(
        left["last_offset"], right["last_offset"], assume_unique=True, return_indices=True
    )
    same = _same(left[at_left], right[at_right])
    return at_left[same], at_right[same]


def _same(left: Rows, right: Rows) -> Mask:
    same = np.ones(len(left), np.bool_)
    for name in _IDENTITY:
        same &= left[name] == right[name]
    return same
