"""One segment's records in chunks, as a consumer would meet them: each offset once, ascending.

Scans and the command line both read through here, so they leave out the same records.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.inspection.findings import Finding, finding_of, torn_tail
from workbench.inspection.segment import is_preallocated
from workbench.inspection.unreadable import removed, unreadable
from workbench.layout import problems
from workbench.loaders.queries.ranges import EVERYTHING, HIGHEST, LOWEST
from workbench.loaders.scan.plan import SegmentRead, as_now, batch_selector
from workbench.record.buffers import BufferPool, lent_pool
from workbench.record.reading.batch_table import out_of_place
from workbench.record.reading.reader import ALL_COLUMNS, Chunk, FilePiece, RecordReader, empty_chunk
from workbench.runtime.workers import in_order

T = TypeVar("T")
Mask = npt.NDArray[np.bool_]


_MOST_IN_DOUBT: Final = 1000  # records of a chunk that are compared one by one


@dataclass(frozen=True)
class RecordChoice:
    """Which records of a segment are wanted, and what of them.

    Attributes:
        options: the choice of KEYS, VALUES, HEADERS to decode.
        times: timestamps [first, end) in ms; `EVERYTHING` also takes records without one.
        include_control: whether to keep control records too.
        rescue: whether to read what damaged batches still give.
    """

    options: int = ALL_COLUMNS
    times: tuple[int, int] = EVERYTHING
    include_control: bool = False
    rescue: bool = False


class WantedRecords(NamedTuple):
    """Some batches of a segment, and what could not be read before them.

    Attributes:
        chunk: the batches, and the records of those that can hold wanted ones.
        keep: bool[n], which of the records are wanted.
        findings: the findings about what was left out since the chunk before.
    """

    chunk: Chunk
    keep: Mask
    findings: list[Finding]


class Prepared(NamedTuple, Generic[T]):
    """What was made of some batches of a segment.

    Attributes:
        read: the segment.
        chunk: the batches.
        value: what `Prepare` returned.
        findings: the findings about what was left out since the chunk before.
    """

    read: SegmentRead
    chunk: Chunk
    value: T
    findings: list[Finding]


Prepare = Callable[[SegmentRead, Chunk, Mask], T]
"""Is called with a chunk and which of its records are wanted, bool[n], in any thread."""


def read_wanted(
    read: SegmentRead,
    pool: BufferPool,
    *,
    options: int = ALL_COLUMNS,
    times: tuple[int, int] = EVERYTHING,
    include_control: bool = False,
    rescue: bool = False,
) -> Iterator[WantedRecords]:
    """Yield the chunks of one segment that can hold wanted records.

    Records that do not ascend, or belong to another segment, are left out and reported. The last
    chunk may be empty and only carry findings, as after an error of reading.

    Args:
        read: the segment, and the offsets wanted of it.
        pool: the pool of output memory.
        options, times, include_control, rescue: see `RecordChoice`.

    Raises:
        FileNotFoundError: the segment was removed since it was listed.
    """
    choice = RecordChoice(options, times, include_control, rescue)
    for each in read_prepared([read], choice, keep_mask, pool):
        yield WantedRecords(each.chunk, each.value, each.findings)


def keep_mask(_read: SegmentRead, _chunk: Chunk, keep: Mask) -> Mask:
    """Return the mask unchanged."""
    return keep


def read_prepared(
    reads: Iterable[SegmentRead],
    choice: RecordChoice,
    prepare: Prepare[T],
    pool: BufferPool,
    *,
    workers: int = 1,
    skips_removed: bool = False,
) -> Generator[Prepared[T], None, None]:
    """Yield what is made of the chunks of several segments, in order; see `read_wanted`.

    Args:
        reads: the segments.
        choice: the records that are wanted.
        prepare: what to make of a chunk.
        pool: the pool of output memory of one worker; more have their own.
        workers: threads that decode and prepare side by side; what they give is the same.
        skips_removed: whether offsets of a segment that was removed are looked for in those that
            are there now, and are a finding if they are in none.

    Raises:
        FileNotFoundError: a segment was removed since it was listed, and ``skips_removed`` is not.
    """
    opened: deque[_SegmentReading[T]] = deque()

    def pieces() -> Iterator[_Part[T]]:
        for read in reads:
            for each in as_now(read) if skips_removed else (read,):
                opened.append(_SegmentReading(each, choice, prepare))
                yield from opened[-1].parts(windows, apart=workers > 1)

    def close() -> None:
        for each in opened:
            each.close()

    with ExitStack() as closed:
        windows = pool if workers == 1 else closed.enter_context(lent_pool())
        closed.callback(close)  # once the threads have ended
        results = closed.enter_context(closing(in_order(pieces(), _work, workers, _size_of)))
        for reading, result in results:
            if not isinstance(result, _End):
                yield from reading.judge(result)
                continue
            yield from reading.judge_end(result, skips_removed=skips_removed)
            opened.popleft().close()  # results come in the order of the segments


class _End(NamedTuple):
    """The end of a segment's pieces.

    Attributes:
        stop_code, stop_position: as `RecordReader` has them.
        stop: where reading was to end, if it ended before.
        error: why the file could not be read on.
    """

    stop_code: int = problems.END
    stop_position: int = 0
    stop: int = 0
    error: OSError | None = None


class _Decoded(NamedTuple, Generic[T]):
    """A chunk, and what was made of its records in range, bool[n]."""

    chunk: Chunk
    in_range: Mask
    value: T


class _SegmentReading(Generic[T]):
    """Reads one segment piece by piece, and checks that offsets ascend."""

    def __init__(self, read: SegmentRead, choice: RecordChoice, prepare: Prepare[T]) -> None:
        self._read = read
        self._choice = choice
        self._prepare = prepare
        self._order = _OffsetOrder(read)
        self._past_end = 0  # batches at the end of a chunk that are past the wanted offsets
        self._is_over = False  # nothing more is wanted
        self._source: FileSource | None = None

    def close(self) -> None:
        """Close the file."""
        if self._source is not None:
            self._source.close()

    def parts(self, pool: BufferPool, *, apart: bool) -> Iterator["_Part[T]"]:
        """Read the segment; the last part is its end. See `RecordReader` for ``apart``."""
        read, choice = self._read, self._choice
        try:
            self._source = source = read.segment.open()
            reader = RecordReader(
                source,
                read.start,
                read.stop,
                options=choice.options,
                rescue=choice.rescue,
                select=batch_selector(read, choice.times, include_control=choice.include_control),
                pool=pool,
                base_offset=max(read.segment.base_offset, read.floor),
                apart=apart,
            )
            for piece in reader.pieces():
                yield self, (reader, piece)
                if self._is_over:
                    break
            # A file that ends inside of a batch was to be read up to its end.
            stop = read.stop
            if stop is None and reader.stop_code == problems.UNFINISHED:
                stop = source.size
            yield self, _End(reader.stop_code, reader.stop_position, stop or 0)
        except OSError as error:
            yield self, _End(error=error)

    def decoded(self, reader: RecordReader, piece: FilePiece) -> Iterator[_Decoded[T]]:
        """Decode a piece, and prepare what is in range. For any thread."""
        for chunk in reader.decode(piece):
            in_range = _in_range(chunk, self._read, self._choice.times)
            yield _Decoded(chunk, in_range, self._prepare(self._read, chunk, in_range))
            # The thread that judges may have found the end meanwhile: it drops what follows.
            if self._is_over:
                return

    def judge(self, decoded: _Decoded[T]) -> Iterator[Prepared[T]]:
        """Yield the chunk without records that do not ascend."""
        if self._is_over:
            return
        chunk, in_range, value = decoded
        read, source = self._read, self._source
        assert source is not None
        found = [
            each
            for each in chunk.problems
            if not is_preallocated(each, source, read.segment, read.stop)
        ]
        findings = [finding_of(problem, read.segment.path) for problem in found]
        ascending = self._order.check(chunk)
        # The value was made before the chunks before this one were known. Nearly always it stands.
        if np.count_nonzero(ascending) < len(ascending):
            value = self._prepare(read, chunk, in_range & ascending)
        bases = chunk.rows["base_offset"][-2:].tolist()
        tail = [base >= read.high and read.high < HIGHEST for base in bases]
        self._past_end = self._past_end + len(tail) if all(tail) else int(tail[-1])
        self._is_over = self._past_end > 1  # not for one alone, whose base offset may be damaged
        yield Prepared(read, chunk, value, findings + self._order.take_findings())

    def judge_end(self, end: _End, *, skips_removed: bool) -> Iterator[Prepared[T]]:
        """Yield what the end of the segment shows: nothing, or an empty chunk with a finding.

        Raises:
            FileNotFoundError: the segment was removed; with ``skips_removed`` that is a finding.
        """
        read, path, findings = self._read, self._read.segment.path, []
        if isinstance(end.error, FileNotFoundError):
            if not skips_removed:
                raise end.error
            findings = [removed(path)]
        elif end.error is not None:
            findings = unreadable(path, end.error)
        elif end.stop_code == problems.UNFINISHED and not self._is_over:
            # The last batch of the segment that is written to may just be incomplete.
            is_tail = read.stop is None or read.stop >= read.segment.size
            if not (read.segment.is_active and is_tail):
                findings = [torn_tail(path, end.stop_position, end.stop)]
        if findings:
            chunk = empty_chunk(self._choice.options, BufferPool())
            value = self._prepare(read, chunk, np.zeros(0, np.bool_))
            yield Prepared(read, chunk, value, findings)


_Part = tuple[_SegmentReading[T], _End | tuple[RecordReader, FilePiece]]


def _work(part: _Part[T]) -> Iterator[tuple[_SegmentReading[T], _End | _Decoded[T]]]:
    reading, what = part
    if isinstance(what, _End):
        yield reading, what
    else:
        for decoded in reading.decoded(*what):
            yield reading, decoded


def _size_of(result: tuple[_SegmentReading[T], _End | _Decoded[T]]) -> int:
    """Return about how many bytes a result takes."""
    _, what = result
    return 0 if isinstance(what, _End) else what.chunk.columns.nbytes


def _in_range(chunk: Chunk, read: SegmentRead, times: tuple[int, int]) -> Mask:
    """Return bool[n]: which records are in the wanted ranges; nearly always all are."""
    offsets, stamps = chunk.columns.offsets, chunk.columns.timestamps
    is_bounded = times != EVERYTHING or not len(offsets)
    if not is_bounded and read.low <= offsets.min() and offsets.max() < read.high:
        return np.ones(len(offsets), np.bool_)
    keep: Mask = (offsets >= read.low) & (offsets < read.high)
    if times != EVERYTHING:
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

    def check(self, chunk: Chunk) -> Mask:
        """Return bool[n]: which records may be returned."""
        offsets, given = chunk.columns.offsets, self._given
        if not len(offsets):
            return np.ones(0, np.bool_)
        base = max(self._read.segment.base_offset, self._read.floor)
        lowest = base if given is None else given.last + 1
        ascends = np.count_nonzero(offsets[1:] > offsets[:-1]) == len(offsets) - 1
        is_sound = ascends and lowest <= offsets[0] and offsets[-1] < self._end
        # A batch that was returned too early comes again in its right place, where all is sound:
        # so the short way is closed once there was one.
        if is_sound and not self._given_too_early:
            kept = np.ones(len(offsets), np.bool_)
        else:
            lowest = self._lowest_of_first(chunk) if given is None else lowest
            kept, lowest = self._kept(chunk, lowest)
        if is_sound or kept.any():
            self._given = _given_batch(chunk, kept, lowest)
        return kept

    def _lowest_of_first(self, chunk: Chunk) -> int:
        """Return the lowest offset that the first records can have.

        Reading that begins inside of a segment begins at a batch that the offset index names, which
        is in order.
        """
        read = self._read
        is_named = read.start > 0 and read.floor == LOWEST
        if is_named and int(chunk.rows["position"][chunk.columns.batch[0]]) == read.start:
            return max(self._start, int(chunk.columns.offsets[0]))
        return self._start

    def _kept(self, chunk: Chunk, lowest: int) -> tuple[Mask, int]:
        """Return `check` of a chunk that does not ascend, and the lowest offset it might have."""
        offsets, start = chunk.columns.offsets, self._start
        # Each record gets one finding, by the first rule that it breaks: returned before, outside
        # of the segment, too high for what follows, below what it follows.
        inside = (offsets < self._end) & (offsets >= start)
        too_high, lowest = self._too_high(chunk, inside, lowest)
        again = self._given_before(chunk)
        self._tell(chunk, inside & again, "offset-order", "a batch that was not returned before")
        inside &= ~again
        self._tell(chunk, ~inside, "offset-range", f"[{start}, {self._end})")
        self._tell(chunk, too_high, "offset-order", _BELOW)
        inside &= ~too_high
        # Left out records do not raise the bar: only those that are kept, and chunks before.
        highest = np.maximum.accumulate(np.where(inside, offsets, LOWEST))
        before = np.maximum(np.concatenate([[LOWEST], highest[:-1]]), lowest - 1)
        ascending = offsets > before
        self._tell(chunk, inside & ~ascending, "offset-order", "an offset above those before it")
        return inside & ascending, lowest

    def _too_high(self, chunk: Chunk, inside: Mask, lowest: int) -> tuple[Mask, int]:
        """Return bool[n]: the records of batches without which later records would ascend.

        And the lowest offset that the chunk might have: an earlier batch may be too high. A batch
        that contradicts itself is judged record by record.
        """
        offsets, batch, given = chunk.columns.offsets, chunk.columns.batch, self._given
        at = np.flatnonzero(inside)
        # Runs of records that are right or wrong together: a batch, whose offsets follow from its
        # base offset, or one record of a batch that contradicts itself.
        is_head = (np.diff(batch[at], prepend=-1) != 0) | _in_doubt(chunk, at)
        heads, tails = at[is_head], at[np.append(is_head[1:], True)[: len(at)]]
        first, last = offsets[heads], offsets[tails]
        if given is not None:
            # The last batch of the chunk before takes part: it may be the one that is too high. Its
            # records have been returned, so this is only reported, and what it hid is let through.
            first, last = np.append(given.first, first), np.append(given.last, last)
        too_high = np.zeros(len(first), np.bool_)
        below = (lowest if given is None else given.lowest) - 1
        for boundary, culprit in out_of_place(first, last, below):
            # Of two that overlap, the earlier is too high. A later one that is too low is left out
            # by what ascends, in `_kept`.
            too_high[boundary] = culprit == boundary
        if given is not None:
            if too_high[0]:
                lowest = given.lowest
                found = f"offsets {given.first} to {given.last}, which were returned"
                self._note("offset-order", given.position, given.first, found, _BELOW)
                self._given_too_early.append(given)
            too_high = too_high[1:]
        wrong = np.zeros(len(offsets), np.bool_)
        # From runs back to records: the cumulative sum of heads is the number of a record's run.
        wrong[at] = too_high[np.cumsum(is_head) - 1]
        return wrong, lowest

    def _given_before(self, chunk: Chunk) -> Mask:
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
        # A gap before the name belongs to this segment. Of an overlap, or where the one before
        # cannot be read, the name decides.
        with suppress(OSError):
            return min(before[-1].next_offset, base) if before else 0
        return base

    def _tell(self, chunk: Chunk, wrong: Mask, kind: str, expected: str) -> None:
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


def _in_doubt(chunk: Chunk, at: npt.NDArray[np.int64]) -> Mask:
    """Return bool[m]: which of the records ``at`` are in a batch that contradicts itself.

    Its records do not ascend, or leave the range in its header. Of too many such batches, none is:
    what is wrong is then not one record.
    """
    offsets, batch = chunk.columns.offsets[at], chunk.columns.batch[at]
    is_wrong = offsets > chunk.rows["last_offset"][batch]
    # Between two batches, offsets that do not ascend are the order of batches, not a contradiction.
    is_wrong[1:] |= (offsets[1:] <= offsets[:-1]) & (batch[1:] == batch[:-1])
    if np.count_nonzero(is_wrong) > _MOST_IN_DOUBT:
        return np.zeros(len(at), np.bool_)
    return np.isin(batch, batch[is_wrong])


def _given_batch(chunk: Chunk, kept: Mask, lowest: int) -> _GivenBatch:
    """Return the last batch of a chunk that records are kept from."""
    offsets, batch = chunk.columns.offsets, chunk.columns.batch
    last = _last_of(kept)
    # The last record that is kept before the batch bounds what it might have had; without one, what
    # bounds the chunk does.
    first = int(batch.searchsorted(batch[last]))
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


def _last_of(kept: Mask) -> int:
    """Return the last index that is kept, nearly always the last of all; -1: none is."""
    if not len(kept) or kept[-1]:
        return len(kept) - 1
    return int(np.flatnonzero(kept)[-1]) if kept.any() else -1


_BELOW: Final = "an offset below those after it"
_BROKER: Final = (
    "A broker does not detect it. A consumer returns no offset twice and none below its position, "
    "and continues after the highest offset it met."
)
