"""One segment's records in chunks, as a consumer would meet them: each offset once, ascending.

Scans and the command line both read through here, so they leave out the same records.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.inspection.findings import Finding, finding_of, torn_tail
from workbench.inspection.segment import is_preallocated
from workbench.inspection.unreadable import unreadable
from workbench.inspection.verify.batches import out_of_place
from workbench.layout import problems
from workbench.loaders.scan.plan import HIGHEST, LOWEST, SegmentRead, batch_selector
from workbench.record.buffers import BufferPool
from workbench.record.reading.reader import ALL_COLUMNS, Chunk, RecordReader, empty_chunk

ALL_TIMES: Final = (LOWEST, HIGHEST)

_MOST_IN_DOUBT: Final = 1000  # records of a chunk that are compared one by one


class WantedRecords(NamedTuple):
    """Some batches of a segment, and what could not be read before them.

    Attributes:
        chunk: the batches, and the records of those that can hold wanted ones.
        keep: bool[n], which of the records are wanted.
        findings: the findings about what was left out since the chunk before.
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

    Records that do not ascend, or belong to another segment, are left out and reported. The last
    chunk may be empty and only carry findings, as after an error of reading.

    Args:
        read: the segment, and the offsets wanted of it.
        pool: the pool of output memory.
        options: the choice of KEYS, VALUES, HEADERS to decode.
        times: timestamps [first, end) in ms; `ALL_TIMES` also takes records without one.
        include_control: whether to keep control records too.
        check_crc: whether to leave out batches whose CRC is invalid.

    Raises:
        FileNotFoundError: the segment was removed since it was listed.
    """
    try:
        yield from _read_wanted(read, pool, options, times, include_control, check_crc)
    except FileNotFoundError:
        raise
    except OSError as error:
        left_out = unreadable(read.segment.path, error)
        yield WantedRecords(empty_chunk(options, pool), np.zeros(0, np.bool_), left_out)


def _read_wanted(
    read: SegmentRead,
    pool: BufferPool,
    options: int,
    times: tuple[int, int],
    include_control: bool,  # noqa: FBT001 - as in `read_wanted`
    check_crc: bool,  # noqa: FBT001
) -> Iterator[WantedRecords]:
    select = batch_selector(read, times, include_control=include_control)
    path = read.segment.path
    order = _OffsetOrder(read)
    behind = 0  # batches at the end of a chunk that are past the wanted offsets
    with FileSource(path) as source:
        reader = RecordReader(
            source,
            read.start,
            read.stop,
            options=options,
            check_crc=check_crc,
            select=select,
            pool=pool,
            base_offset=max(read.segment.base_offset, read.floor),
        )
        for chunk in reader:
            found = [
                each
                for each in chunk.problems
                if not is_preallocated(each, source, read.segment, read.stop)
            ]
            findings = [finding_of(problem, path) for problem in found]
            keep = order.check(chunk)
            if not _all_wanted(chunk, read, times, keep):
                keep &= _wanted(chunk, read, times)
            yield WantedRecords(chunk, keep, findings + order.take_findings())
            tail = chunk.rows["base_offset"][-2:] >= read.high
            behind = behind + len(tail) if tail.all() else int(tail[-1])
            if behind > 1:  # not for one alone, whose base offset may be damaged
                return
        # The last batch of the segment that is written to may just be incomplete.
        is_tail = read.stop is None or read.stop >= read.segment.size
        is_growing = read.segment.is_active and is_tail
        if reader.stop_code == problems.UNFINISHED and not is_growing:
            stop = source.size if read.stop is None else read.stop
            finding = torn_tail(path, reader.stop_position, stop)
            yield WantedRecords(empty_chunk(options, pool), np.zeros(0, np.bool_), [finding])


def _all_wanted(
    chunk: Chunk, read: SegmentRead, times: tuple[int, int], ascending: npt.NDArray[np.bool_]
) -> bool:
    """Return whether the ends of a chunk show that all of it is wanted, as nearly always."""
    offsets = chunk.columns.offsets
    return bool(
        len(offsets)
        and times == ALL_TIMES
        and read.low <= offsets[0]
        and offsets[-1] < read.high
        and np.count_nonzero(ascending) == len(ascending)
    )


def _wanted(chunk: Chunk, read: SegmentRead, times: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return bool[n]: which records are in the wanted ranges."""
    offsets, stamps = chunk.columns.offsets, chunk.columns.timestamps
    keep: npt.NDArray[np.bool_] = (offsets >= read.low) & (offsets < read.high)
    if times != ALL_TIMES:
        keep &= stamps >= max(times[0], 0)
        if times[1] != HIGHEST:  # open: the largest timestamp is included
            keep &= stamps < times[1]
    return keep


class _GivenBatch(NamedTuple):
    """The last batch that records were returned from.

    Attributes:
        first, last: offsets of its records.
        lowest: the lowest offset that they might have had.
        position: byte position of the batch.
        base_offset, crc: the batch's; the CRC does not cover the base offset.
    """

    first: int
    last: int
    lowest: int
    position: int
    base_offset: int
    crc: int


class _OffsetOrder:
    """Decide which records of a segment ascend and are in the segment's own offsets.

    Of two batches that contradict each other, only the one out of order is left out: base offsets
    are outside the CRC, and one that is too high must not remove everything after it.

    Kafka: Fetcher returns no record below its position; a fetch finds the segment by its base
    offset (4.2)
    """

    def __init__(self, read: SegmentRead) -> None:
        self._read = read
        self._end = read.next_base
        self._given: _GivenBatch | None = None
        self._given_too_early: list[_GivenBatch] = []
        self._findings: list[Finding] = []

    def check(self, chunk: Chunk) -> npt.NDArray[np.bool_]:
        """Return bool[n]: which records may be returned."""
        offsets, given = chunk.columns.offsets, self._given
        if not len(offsets):
            return np.ones(0, np.bool_)
        base = max(self._read.segment.base_offset, self._read.floor)
        lowest = base if given is None else given.last + 1
        ascends = np.count_nonzero(offsets[1:] > offsets[:-1]) == len(offsets) - 1
        is_sound = ascends and lowest <= offsets[0] and offsets[-1] < self._end
        if is_sound and not self._given_too_early:
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
        again = self._given_before(chunk)
        self._tell(chunk, inside & again, "offset-order", "a batch that was not returned before")
        inside &= ~again
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
        """Return bool[n]: the records of batches without which later records would ascend.

        And the lowest offset that the chunk might have: an earlier batch may be too high. A batch
        that contradicts itself is judged record by record.
        """
        offsets, batch, given = chunk.columns.offsets, chunk.columns.batch, self._given
        at = np.flatnonzero(inside)
        is_head = (np.diff(batch[at], prepend=-1) != 0) | _in_doubt(chunk, at)
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
                found = f"offsets {given.first} to {given.last}, which were returned"
                self._note("offset-order", given.position, given.first, found, _BELOW)
                self._given_too_early.append(given)
            too_high = too_high[1:]
        wrong = np.zeros(len(offsets), np.bool_)
        wrong[at] = too_high[np.cumsum(is_head) - 1]
        return wrong, lowest

    def _given_before(self, chunk: Chunk) -> npt.NDArray[np.bool_]:
        """Return bool[n]: the records of batches that were returned, although out of order."""
        rows = chunk.rows
        again = np.zeros(len(rows), np.bool_)
        for given in self._given_too_early:
            again |= (rows["crc"] == given.crc) & (rows["base_offset"] == given.base_offset)
        return np.asarray(again[chunk.columns.batch], np.bool_)

    @cached_property
    def _start(self) -> int:
        """Return where the segment's own offsets start: after those of the segment before it.

        That may be below the base offset in its name, when somebody renamed the file.
        """
        if self._read.floor > LOWEST:
            return self._read.floor
        segments = self._read.partition.segments
        base = self._read.segment.base_offset
        before = [segment for segment in segments if segment.base_offset < base]
        with suppress(OSError):  # then the file's name decides
            return min(before[-1].next_offset, base) if before else 0
        return base

    def _tell(self, chunk: Chunk, wrong: npt.NDArray[np.bool_], kind: str, expected: str) -> None:
        """Note a finding about the ``wrong`` records, at the batch of the first of them."""
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
        """Return the findings since the last call."""
        taken, self._findings = self._findings, []
        return taken


def _in_doubt(chunk: Chunk, at: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return bool[m]: which of the records ``at`` are in a batch that contradicts itself.

    Its records do not ascend, or leave the range in its header. Of too many such batches, none is:
    what is wrong is then not one record.
    """
    offsets, batch = chunk.columns.offsets[at], chunk.columns.batch[at]
    is_wrong = offsets > chunk.rows["last_offset"][batch]
    is_wrong[1:] |= (offsets[1:] <= offsets[:-1]) & (batch[1:] == batch[:-1])
    if np.count_nonzero(is_wrong) > _MOST_IN_DOUBT:
        return np.zeros(len(at), np.bool_)
    return np.isin(batch, batch[is_wrong])


def _given_batch(chunk: Chunk, kept: npt.NDArray[np.bool_], lowest: int) -> _GivenBatch:
    """Return the last batch of a chunk that records are kept from."""
    offsets, batch = chunk.columns.offsets, chunk.columns.batch
    last = _last_of(kept)
    first = int(np.searchsorted(batch, batch[last]))
    before = _last_of(kept[:first])
    if before >= 0:
        lowest = int(offsets[before]) + 1
    row = chunk.rows[batch[last]]
    return _GivenBatch(
        int(offsets[first]),
        int(offsets[last]),
        lowest,
        int(row["position"]),
        int(row["base_offset"]),
        int(row["crc"]),
    )


def _last_of(kept: npt.NDArray[np.bool_]) -> int:
    """Return the last index that is kept, nearly always the last of all; -1: none is."""
    if not len(kept) or kept[-1]:
        return len(kept) - 1
    return int(np.flatnonzero(kept)[-1]) if kept.any() else -1


_BELOW: Final = "an offset below those after it"
_BROKER: Final = (
    "A broker does not detect it. A consumer returns no offset twice and none below its position, "
    "and continues after the highest offset it met."
)
