"""One segment's records in chunks, as a consumer would meet them: each offset once, ascending.

Scans and the command line both read through here, so they leave out the same records.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.verify_batches import out_of_place
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
    behind = 0  # batches at the end of a chunk that are behind what is wanted
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
            tail = chunk.rows["base_offset"][-2:] >= read.high
            behind = behind + len(tail) if tail.all() else int(tail[-1])
            if behind > 1:  # not for one alone: its base offset may be what is damaged
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


class _GivenBatch(NamedTuple):
    """The last batch of which records were given.

    Attributes:
        first, last: offsets of its records.
        lowest: the lowest offset that they might have had.
        position: byte place of the batch.
    """

    first: int
    last: int
    lowest: int
    position: int


class _OffsetOrder:
    """Tells which records of a segment ascend and lie in the segment's own offsets.

    Of two batches that contradict each other only the one that is out of place is left out: base
    offsets are outside the CRC, and one that is too high must not take away all that follows.

    Kafka: Fetcher gives no record below its position; a fetch looks for the segment by its base
    offset (4.2)
    """

    def __init__(self, read: SegmentRead) -> None:
        self._read = read
        self._end = read.next_base
        self._given: _GivenBatch | None = None
        self._findings: list[Finding] = []

    def check(self, chunk: Chunk) -> npt.NDArray[np.bool_]:
        """Return bool[n]: which records may be given."""
        offsets, given = chunk.columns.offsets, self._given
        if not len(offsets):
            return np.ones(0, np.bool_)
        lowest = self._read.segment.base_offset if given is None else given.last + 1
        ascends = np.count_nonzero(offsets[1:] > offsets[:-1]) == len(offsets) - 1
        if ascends and lowest <= offsets[0] and offsets[-1] < self._end:
            kept = np.ones(len(offsets), np.bool_)
        else:
            lowest = self._start if given is None else lowest
            kept, lowest = self._kept(chunk, lowest)
        if kept.any():
            self._given = _given_batch(chunk, kept, lowest)
        return kept

    def _kept(self, chunk: Chunk, lowest: int) -> tuple[npt.NDArray[np.bool_], int]:
        """Return `check` of a chunk that does not ascend, and the lowest offset it might have."""
        offsets, start = chunk.columns.offsets, self._start
        inside = (offsets < self._end) & (offsets >= start)
        too_high, lowest = self._too_high(chunk, inside, lowest)
        self._tell(chunk, ~inside, "offset-range", f"[{start}, {self._end})")
        self._tell(chunk, too_high, "offset-order", _BELOW)
        inside &= ~too_high
        highest = np.maximum.accumulate(np.where(inside, offsets, LOWEST))
        before = np.maximum(np.concatenate([[LOWEST], highest[:-1]]), lowest - 1)
        ascending = offsets > before
        self._tell(chunk, inside & ~ascending, "offset-order", "an offset above those before it")
        return inside & ascending, lowest

    def _too_high(
        self, chunk: Chunk, inside: npt.NDArray[np.bool_], lowest: int
    ) -> tuple[npt.NDArray[np.bool_], int]:
        """Return bool[n]: the records of batches without which those behind them would ascend.

        And the lowest offset that the chunk might have: a batch that was given may be too high.
        """
        offsets, batch, given = chunk.columns.offsets, chunk.columns.batch, self._given
        at = np.flatnonzero(inside)
        is_head = np.diff(batch[at], prepend=-1) != 0
        heads, tails = at[is_head], at[np.append(is_head[1:], True)[: len(at)]]
        first, last = offsets[heads], offsets[tails]
        if given is not None:
            first, last = np.append(given.first, first), np.append(given.last, last)
        too_high = np.zeros(len(first), np.bool_)
        below = (lowest if given is None else given.lowest) - 1
        for boundary, culprit in out_of_place(first, last, below):
            too_high[boundary] = culprit == boundary
        if given is not None:
            if too_high[0]:
                lowest = given.lowest
                found = f"offsets {given.first} to {given.last}, which were given"
                self._note("offset-order", given.position, given.first, found, _BELOW)
            too_high = too_high[1:]
        return np.isin(batch, batch[heads[too_high]]), lowest

    @cached_property
    def _start(self) -> int:
        """Return where the segment's own offsets start: behind those of the segment before it.

        That may be below the base offset in its name, when somebody renamed the file.
        """
        segments = self._read.partition.segments
        base = self._read.segment.base_offset
        before = [segment for segment in segments if segment.base_offset < base]
        return min(before[-1].next_offset, base) if before else 0

    def _tell(self, chunk: Chunk, wrong: npt.NDArray[np.bool_], kind: str, expected: str) -> None:
        """Note the records that are ``wrong``, in the batch of the first of them."""
        at = np.flatnonzero(wrong)
        if not len(at):
            return
        offset = int(chunk.columns.offsets[at[0]])
        position = int(chunk.rows[chunk.columns.batch[at[0]]]["position"])
        found = f"{len(at)} records, the first with offset {offset}"
        self._note(kind, position, offset, found, expected)

    def _note(self, kind: str, position: int, offset: int, found: str, expected: str) -> None:
        path = self._read.segment.path
        finding = Finding(kind, "error", path, position, offset, found, expected, _BROKER)
        self._findings.append(finding)

    def take_findings(self) -> list[Finding]:
        """Return what was noted since the last time."""
        taken, self._findings = self._findings, []
        return taken


def _given_batch(chunk: Chunk, kept: npt.NDArray[np.bool_], lowest: int) -> _GivenBatch:
    """Return the last batch of a chunk of which records are kept."""
    offsets, batch = chunk.columns.offsets, chunk.columns.batch
    last = _last_of(kept)
    first = int(np.searchsorted(batch, batch[last]))
    before = _last_of(kept[:first])
    if before >= 0:
        lowest = int(offsets[before]) + 1
    position = int(chunk.rows[batch[last]]["position"])
    return _GivenBatch(int(offsets[first]), int(offsets[last]), lowest, position)


def _last_of(kept: npt.NDArray[np.bool_]) -> int:
    """Return the last index that is kept, nearly always the last of all; -1: none is."""
    if not len(kept) or kept[-1]:
        return len(kept) - 1
    return int(np.flatnonzero(kept)[-1]) if kept.any() else -1


_BELOW: Final = "an offset below those behind it"
_BROKER: Final = (
    "Nothing notices it. A consumer gives no offset twice and none below its position, and goes on "
    "behind the highest offset it met."
)
