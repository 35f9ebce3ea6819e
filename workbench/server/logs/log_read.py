"""One read of a log for a client: the batches that it can be given, and those that it takes.

It can be given those that are whole, valid, and in order. Others are left out, with a finding;
clients continue after the hole as after a compaction.

Kafka: FileRecords.slice, DefaultRecordBatch.ensureValid (4.2)
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding, finding_of, torn_tail
from workbench.inspection.segment import Segment, is_preallocated
from workbench.layout import problems
from workbench.layout.attributes import ZSTD
from workbench.layout.batch_row import BATCH_ROW
from workbench.record.buffers import BufferPool
from workbench.record.reading.batch_table import first_offsets, out_of_place
from workbench.record.reading.reader import Problem
from workbench.record.reading.resync import FAR
from workbench.record.reading.windows import WINDOW, BatchWindows, Window
from workbench.record.writing.builder import empty_batch_header
from workbench.server.logs.up_conversion import runs, up_convert

Rows = npt.NDArray[Any]

_NEXT: Final = 1 << 16  # bytes in which most logs have a batch more than is wanted, which ends it


class DamagedBatchError(Exception):
    """The next batch is damaged, and a server that is strict does not leave it out."""


class StorageUnavailableError(Exception):
    """The server that holds the next records does not answer; a later read may succeed."""


class UnsupportedCompressionError(Exception):
    """The next batch has a codec that the version of the fetch does not know."""


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

    def before(self, position: int) -> Self:
        """Return those that begin before a position."""
        return self._replace(rows=self.rows[self.rows["position"] < position])

    def below(self, offset: int) -> Self:
        """Return those that begin below an offset."""
        return self._replace(rows=self.rows[first_offsets(self.rows) < offset])


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
    with segment.files["log"].open() as source:
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


class LogRead:
    """One read of a log: what was taken, and what can still be.

    Attributes:
        low: the next offset.
        parts, size: the batches, and their bytes.
        cut: bytes that are left for the next batch, which needs more.
        position: in the segment, after the last batch that was taken.
        is_done: nothing more fits, or is wanted.
        is_at_end: the next batch begins at the end or later: of an open transaction, or of a log
            that has grown since its end was looked up, and lost all records before by a cleaning.
    """

    def __init__(self, offset: int, end: int, most: int, *, is_first: bool, zstd: bool) -> None:
        self.low = offset
        self.parts: list[bytes] = []
        self.size = 0
        self.cut = 0
        self.position = 0
        self.is_done = False
        self.is_at_end = False
        self._end = end
        self._most = most
        self._is_first = is_first
        self._zstd = zstd

    @property
    def left(self) -> int:
        """Bytes that can still be taken."""
        return max(self._most - self.size, 0)

    def damage_in(self, found: SoundBatches) -> int | None:
        """Return where the first damage in a window is that the read meets; None without any.

        Damage before a sound batch that has the next offset does not matter.
        """
        rows = found.rows
        begins = bool(len(rows)) and int(first_offsets(rows[:1])[0]) <= self.low
        start = int(rows["position"][0]) if begins else -1
        places = [each.position for each in found.findings if each.position is not None]
        return min((place for place in places if place > start), default=None)

    def take(self, found: SoundBatches, segment: Segment, pool: BufferPool) -> list[Finding]:
        """Take the batches of a window that fit; return what of them cannot be read."""
        rows = found.rows
        wanted = first_offsets(rows) < self._end
        if not wanted.all():
            rows = rows[: int(np.argmin(wanted))]
        findings: list[Finding] = []
        at = 0
        while at < len(rows) and not self.is_done:
            is_old = rows["magic"][at:] < 2
            run = int(np.argmax(is_old != is_old[0])) or len(is_old)
            chosen = rows[at : at + run]
            if is_old[0]:
                findings += self._take_old(chosen, segment, pool)
            else:
                self._take_batches(chosen, found)
            at += run
        self.is_at_end = len(rows) < len(found.rows)
        self.is_done |= self.is_at_end
        return findings

    def _take_batches(self, rows: Rows, found: SoundBatches) -> None:
        if not self._zstd and (rows["codec"] == ZSTD).any():
            first = int(np.argmax(rows["codec"] == ZSTD))
            if first == 0 and not self.parts:
                raise UnsupportedCompressionError
            rows = rows[:first]
            self.is_done = True
        ends = np.cumsum(rows["size"])
        count = int(np.searchsorted(ends, self._most - self.size, "right"))
        if count == 0 and self._is_first and not self.parts and len(rows):
            count = 1
        is_cut = count < len(rows)
        self.is_done |= is_cut
        if count == 0:
            self.cut = self._most - self.size if self.parts else 0
            return
        rows = rows[:count]
        data, origin = found.window.data, found.window.position
        starts = rows["position"] - origin
        stops = starts + rows["size"]
        breaks = np.flatnonzero(starts[1:] != stops[:-1]) + 1
        for first, last in zip([0, *breaks], [*breaks, count], strict=True):
            self.parts.append(data[int(starts[first]) : int(stops[last - 1])].tobytes())
        self.size += int(rows["size"].sum())
        self.cut = max(self._most - self.size, 0) if is_cut else 0
        self._passed(rows)

    def _take_old(self, rows: Rows, segment: Segment, pool: BufferPool) -> list[Finding]:
        findings: list[Finding] = []
        for run in runs(rows):
            if self.size >= self._most or (self._most == 0 and not self._is_first):
                self.is_done = True
                break
            batches, found = up_convert(segment, run, self.low, pool)
            findings += found
            self.parts += batches
            self.size += sum(map(len, batches))
            self._passed(run)
        return findings

    def _passed(self, rows: Rows) -> None:
        self.low = int(rows["last_offset"][-1]) + 1
        self.position = int(rows["position"][-1]) + int(rows["size"][-1])

    def take_hole(self) -> None:
        """Take a batch without records up to the end: nothing before the end can be read.

        Compaction leaves such batches, and clients continue after them.
        """
        last = min(self._end - 1, self.low + FAR - 1)
        hole = empty_batch_header(base_offset=self.low, last_offset=last, max_timestamp=-1)
        self.parts.append(hole.tobytes())
        self.size = len(hole)
        self.low = last + 1
