"""The batches of a segment that a client can be given: whole, valid, in order.

Others are left out, with a finding; clients continue after the hole as after a compaction.

Kafka: FileRecords.slice, DefaultRecordBatch.ensureValid (4.2)
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding, finding_of, torn_tail
from workbench.inspection.segment import Segment, is_preallocated
from workbench.layout import problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.record.buffers import BufferPool
from workbench.record.reading.batch_table import first_offsets, out_of_place
from workbench.record.reading.reader import Problem
from workbench.record.reading.windows import WINDOW, BatchWindows, Window

Rows = npt.NDArray[Any]

_NEXT: Final = 1 << 16  # bytes in which most logs have a batch more than is wanted, which ends it


class SoundBatches(NamedTuple):
    """Some batches of a segment, one window of its file.

    Attributes:
        window: the bytes; valid until the next one is asked for.
        rows: BATCH_ROW[n], the sound batches among them, ascending.
        findings: what was left out up to the end of the window.
    """

    window: Window
    rows: Rows
    findings: list[Finding]


def sound_batches(
    segment: Segment,
    position: int,
    offsets: tuple[int, int],
    pool: BufferPool,
    *,
    most: int = WINDOW,
) -> Iterator[SoundBatches]:
    """Yield the sound batches of a segment from a position on.

    Args:
        segment: the segment.
        position: where a batch begins.
        offsets: [first, end): a batch must end at or after the first and begin below the end.
        pool: where the memory comes from.
        most: bytes that are wanted; not much more is read and checked at a time.

    Raises:
        OSError: the file cannot be read.
    """
    low, end = offsets
    with segment.open() as source:
        size = min(most + _NEXT, WINDOW)
        windows = BatchWindows(source, position, source.size, pool, segment.base_offset, size=size)
        for window in windows:
            found, windows.problems = windows.problems, []
            found = [each for each in found if not is_preallocated(each, source, segment)]
            rows, invalid = _valid(window)
            rows, misplaced = _in_order(rows, low, end)
            findings = [finding_of(problem, segment.path) for problem in [*found, *invalid]]
            findings += [_misplaced(row, segment.path) for row in misplaced]
            if len(rows):
                low = int(rows["last_offset"][-1]) + 1
            yield SoundBatches(window, rows, findings)
        found = [each for each in windows.problems if not is_preallocated(each, source, segment)]
        findings = [finding_of(problem, segment.path) for problem in found]
        if windows.stop_code == problems.UNFINISHED and not segment.is_active:
            findings.append(torn_tail(segment.path, windows.stop_position, source.size))
        if findings:
            empty = Window(np.zeros(0, np.uint8), 0, np.zeros(0, BATCH_ROW))
            yield SoundBatches(empty, empty.rows, findings)


def _valid(window: Window) -> tuple[Rows, list[Problem]]:
    """Return the batches of a window whose header and CRC are valid, and the others' problems."""
    rows = window.rows
    usable = rows["problem"] == problems.OK
    sound = usable.copy()
    sound[usable] = window.valid(rows[usable])
    if sound.all():
        return rows, []
    wrong = [
        Problem(
            int(row["problem"]) if row["problem"] != problems.OK else problems.CRC_MISMATCH,
            int(row["position"]),
            int(row["size"]),
            int(row["base_offset"]),
        )
        for row in rows[~sound]
    ]
    return rows[sound], wrong


def _in_order(rows: Rows, low: int, end: int) -> tuple[Rows, Rows]:
    """Return the batches that ascend in [low, end), and those that are out of place.

    The CRC does not cover the base offset. Batches that end below ``low`` are only passed over.
    """
    rows = rows[rows["last_offset"] >= low]
    inside = rows["last_offset"] < end
    misplaced = rows[~inside]
    rows = rows[inside]
    while len(rows) > 1:
        wrong = {at for _, at in out_of_place(first_offsets(rows), rows["last_offset"], low - 1)}
        if not wrong:
            break
        kept = np.ones(len(rows), np.bool_)
        kept[list(wrong)] = False
        misplaced = np.concatenate([misplaced, rows[~kept]])
        rows = rows[kept]
    return rows, misplaced


def _misplaced(row: Any, path: str) -> Finding:
    first, last = int(row["base_offset"]), int(row["last_offset"])
    return Finding(
        "offset-order",
        "error",
        path,
        int(row["position"]),
        first,
        f"offsets {first} to {last}",
        "offsets between those of the batches around it",
        "A broker serves the batch; a consumer that reads it continues after its offsets.",
    )
