"""One segment's records in chunks, as a consumer would meet them: each offset once, ascending.

Scans and the command line both read through here, so they leave out the same records.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding, finding_of
from workbench.layout import problems
from workbench.loaders.plan import HIGHEST, LOWEST, SegmentRead, batch_selector
from workbench.record.buffers import BufferPool
from workbench.record.reader import ALL_COLUMNS, Chunk, Problem, RecordReader, empty_chunk
from workbench.record.source import FileSource

ALL_TIMES: Final = (LOWEST, HIGHEST)


class WantedRecords(NamedTuple):
    """Some batches of a segment, and what could not be read before them.

    Attributes:
        chunk: the batches, and the records of those that can hold wanted ones.
        keep: bool[n], which of the records are wanted.
        findings: what was left out since the chunk before.
    """

    chunk: Chunk
    keep: npt.NDArray[np.bool_]
    findings: list[Finding]


def read_wanted(
    read: SegmentRead,
    pool: BufferPool,
    *,
    options: int = ALL_COLUMNS,
    times: tuple[int, int] = ALL_TIMES,
    include_control: bool = False,
    check_crc: bool = True,
) -> Iterator[WantedRecords]:
    """Yield the chunks of one segment that can hold wanted records.

    What does not ascend, or belongs to another segment, is not kept and told. The last chunk may
    be empty and only carry findings.

    Args:
        read: the segment, and the offsets wanted of it.
        pool: where output memory comes from.
        options: which of KEYS, VALUES, HEADERS to decode.
        times: timestamps [first, end) in ms; `ALL_TIMES` also takes records without one.
        include_control: keep control records too.
        check_crc: leave out batches whose CRC is wrong.

    Raises:
        OSError: the file cannot be read.
    """
    select = batch_selector(read, times, include_control=include_control)
    path = read.segment.path
    order = _OffsetOrder(read)
    with FileSource(path) as source:
        reader = RecordReader(
            source,
            read.start,
            read.stop,
            options=options,
            check_crc=check_crc,
            select=select,
            pool=pool,
            base_offset=read.segment.base_offset,
        )
        for chunk in reader:
            found = [each for each in chunk.problems if not _is_allocated(each, read, source)]
            findings = [finding_of(problem, path) for problem in found]
            keep = order.check(chunk)
            if not _all_wanted(chunk, read, times, keep):
                keep &= _wanted(chunk, read, times)
            yield WantedRecords(chunk, keep, findings + order.take_findings())
            if len(chunk.rows) and chunk.rows["base_offset"][-1] >= read.high:
                return
        # The last batch of the segment that is written to may only not be finished yet.
        is_tail = read.stop is None or read.stop >= read.segment.size
        is_growing = read.segment.is_active and is_tail
        if reader.stop_code == problems.UNFINISHED and not is_growing:
            stop = source.size if read.stop is None else read.stop
            finding = _torn_tail(path, reader.stop_position, stop)
            yield WantedRecords(empty_chunk(options, pool), np.zeros(0, np.bool_), [finding])


def _all_wanted(
    chunk: Chunk, read: SegmentRead, times: tuple[int, int], ascending: npt.NDArray[np.bool_]
) -> bool:
    """Return whether the ends of a chunk tell that all of it is wanted, as nearly always."""
    offsets = chunk.columns.offsets
    return bool(
        len(offsets)
        and times == ALL_TIMES
        and read.low <= offsets[0]
        and offsets[-1] < read.high
        and np.count_nonzero(ascending) == len(ascending)
    )


def _wanted(chunk: Chunk, read: SegmentRead, times: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return bool[n]: which records lie in the wanted ranges."""
    offsets, stamps = chunk.columns.offsets, chunk.columns.timestamps
    keep: npt.NDArray[np.bool_] = (offsets >= read.low) & (offsets < read.high)
    if times != ALL_TIMES:
        keep &= stamps >= max(times[0], 0)
        if times[1] != HIGHEST:  # open: the largest timestamp counts, too
            keep &= stamps < times[1]
    return keep


def _is_allocated(problem: Problem, read: SegmentRead, source: FileSource) -> bool:
    """Return whether bytes without a batch are only what a broker writes next (preallocate=true).

    `inspection.verify` tells of them, as of a last batch that is not finished.
    """
    end = problem.position + problem.size
    size = source.size if read.stop is None else read.stop
    is_tail = problem.code == problems.BAD_SIZE and end >= size and read.segment.is_active
    return is_tail and source.is_zero(problem.position, end)


def _torn_tail(path: str, position: int, size: int) -> Finding:
    """Return the finding for bytes behind the last batch of a segment that others follow."""
    found = f"{size - position} bytes of a batch that is longer"
    return Finding(
        "torn-tail", "error", path, position, None, found, "the file to end with a batch", _TORN
    )


_TORN: Final = (
    "Not noticed after a clean stop: consumers go on in the next segment. After an unclean stop, "
    "recovery cuts the bytes off if they lie behind the recovery point, and drops later segments."
)


class _OffsetOrder:
    """Tells which records of a segment ascend and lie in the segment's own offsets.

    Kafka: Fetcher gives no record below its position; a fetch looks for the segment by its base
    offset (4.2)
    """

    def __init__(self, read: SegmentRead) -> None:
        self._read = read
        self._end = read.next_base
        self._next_offset: int | None = None  # the lowest that may come, once there was one
        self._findings: list[Finding] = []

    def check(self, chunk: Chunk) -> npt.NDArray[np.bool_]:
        """Return bool[n]: which records may be given."""
        offsets = chunk.columns.offsets
        if not len(offsets):
            return np.ones(0, np.bool_)
        lowest = self._next_offset
        if lowest is None:
            lowest = self._read.segment.base_offset
        ascends = np.count_nonzero(offsets[1:] > offsets[:-1]) == len(offsets) - 1
        if ascends and lowest <= offsets[0] and offsets[-1] < self._end:
            self._next_offset = int(offsets[-1]) + 1
            return np.ones(len(offsets), np.bool_)
        start = self._start
        lowest = start if self._next_offset is None else self._next_offset
        inside = (offsets < self._end) & (offsets >= start)
        highest = np.maximum.accumulate(np.where(inside, offsets, LOWEST))
        before = np.maximum(np.concatenate([[LOWEST], highest[:-1]]), lowest - 1)
        ascending = offsets > before
        self._tell(chunk, ~inside, "offset-range", f"[{start}, {self._end})")
        self._tell(chunk, inside & ~ascending, "offset-order", "an offset above those before it")
        self._next_offset = max(lowest, int(highest[-1]) + 1)
        kept: npt.NDArray[np.bool_] = inside & ascending
        return kept

    @cached_property
    def _start(self) -> int:
        """Return where the segment's own offsets start: behind those of the segment before it.

        That may be below the base offset in its name, when somebody renamed the file.
        """
        segments = self._read.partition.segments
        base = self._read.segment.base_offset
        before = [segment for segment in segments if segment.base_offset < base]
        return min(before[-1].next_offset, base) if before else LOWEST + 1

    def _tell(self, chunk: Chunk, wrong: npt.NDArray[np.bool_], kind: str, expected: str) -> None:
        """Note the records that are ``wrong``, in the batch of the first of them."""
        at = np.flatnonzero(wrong)
        if not len(at):
            return
        offset = int(chunk.columns.offsets[at[0]])
        position = int(chunk.rows[chunk.columns.batch[at[0]]]["position"])
        found = f"{len(at)} records, the first with offset {offset}"
        path = self._read.segment.path
        finding = Finding(kind, "error", path, position, offset, found, expected, _BROKER)
        self._findings.append(finding)

    def take_findings(self) -> list[Finding]:
        """Return what was noted since the last time."""
        taken, self._findings = self._findings, []
        return taken


_BROKER: Final = (
    "Nothing notices it. A consumer gives no offset twice and none below its position, and goes on "
    "behind the highest offset it met."
)
