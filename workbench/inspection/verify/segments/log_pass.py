"""Read a `.log` file once to check it: its batches, which are sound, and how the file ends.

Kafka: FileLogInputStream, LogSegment.recover (4.2)
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import kind_of
from workbench.layout import problems
from workbench.layout.batch_header import LENGTH_END, MAGIC_AT
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.layout.rows import joined_rows
from workbench.record.buffers import BufferPool, lent_pool
from workbench.record.reading.batch_table import ROWS_AT_ONCE, BatchTable, walk_batches
from workbench.record.reading.reader import Chunk, Problem, RecordReader
from workbench.record.reading.windows import BatchWindows, entry_crc
from workbench.runtime.workers import in_order, useful

Rows = npt.NDArray[Any]

OFFSET_SIZE: Final = 8
HEADER_SIZE: Final = 17  # bytes that a broker needs before it reads a batch's size
_HEADER_PROBLEMS: Final = frozenset(
    {problems.UNKNOWN_CODEC, problems.BAD_COUNT, problems.ZSTD_IN_OLD_FORMAT}
)
_MOST_RECORD_PROBLEMS: Final = 100  # per file; more say nothing new
MOST_OF_A_KIND: Final = (
    100  # findings of one kind per file; the last one says how many more there are
)


@dataclass(frozen=True, slots=True)
class Tail:
    """Bytes after the last batch that a walk over the headers reaches.

    Attributes:
        position: where they begin.
        size: how many there are.
        batch_size: the value of the size field there; None if the file ends before it.
        is_zeros: whether all of them are zero.
        is_torn: whether they look like the beginning of the next batch.
    """

    position: int
    size: int
    batch_size: int | None
    is_zeros: bool
    is_torn: bool


class CheckedPart(NamedTuple):
    """Some batches of a `.log` file, and what could not be read there.

    Attributes:
        rows: BATCH_ROW[m], in file order, right after those of the part before; the base offset of
            a compressed magic 0 or 1 is filled in where its messages were decoded.
        sound: bool[m]: which rows hold what was written, as far as the bytes show.
        problems: what could not be read; some may be about the rows of a later part.
    """

    rows: Rows
    sound: npt.NDArray[np.bool_]
    problems: list[Problem]


class Check(Protocol):
    """What goes with the pass over a file: it keeps what it needs of each part."""

    def add(self, part: CheckedPart) -> None:
        """Take the next part of the file."""


@dataclass(slots=True)
class ShownProblem:
    """A problem that is shown.

    Attributes:
        problem: what could not be read.
        end_offset: the log end offset if the log were truncated there.
        magic: of the batch there, by its header; -1 unknown.
        later: for the last one of its kind to be shown: how many problems come after it.
    """

    problem: Problem
    end_offset: int
    magic: int = -1
    later: int = 0


@dataclass(slots=True)
class LogReading:
    """What one pass over a `.log` file found. It does not grow with the file.

    Attributes:
        path: the file.
        base_offset: the segment's base offset.
        left_out: the first problems of each kind of finding, as they were found.
        problem_count: of all problems.
        record_offsets: positions and base offsets of batches whose records' offsets do not fit.
        tail: bytes after the last batch; None when the file ends with it.
        size: the file's size in bytes.
        is_deep: whether CRCs and records were read.
        batch_count: how many batches there are, sound or not.
        first_offset: the first sound batch's first offset; the base offset without any.
        next_offset: the offset after the last batch, from its header; the base offset without any.
        ascends: whether each batch's last offset is above the one before.
        has_magic_2: whether any batch has magic 2.
        is_end_sure: whether `next_offset` can be trusted.
    """

    path: str
    base_offset: int
    left_out: list[ShownProblem] = field(default_factory=list)
    problem_count: int = 0
    record_offsets: list[tuple[int, int]] = field(default_factory=list)
    tail: Tail | None = None
    size: int = 0
    is_deep: bool = True
    batch_count: int = 0
    first_offset: int = 0
    next_offset: int = 0
    ascends: bool = True
    has_magic_2: bool = False
    is_end_sure: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether every byte belongs to a sound batch."""
        return not self.problem_count and self.tail is None


def read_log(
    log: FileEntry,
    base_offset: int,
    *,
    deep: bool = True,
    checks: Sequence[Check] = (),
    workers: int = 1,
) -> LogReading:
    """Read a whole `.log` file.

    Args:
        log: the file.
        base_offset: the segment's base offset.
        deep: check CRCs and decode every record; otherwise walk over the headers alone.
        checks: what is given each part of the file.
        workers: threads that check CRCs and decode side by side.

    Raises:
        OSError: the file cannot be read.
    """
    reading = LogReading(
        log.path, base_offset, is_deep=deep, first_offset=base_offset, next_offset=base_offset
    )
    with log.open() as source:
        reading.size = source.size
        if not reading.size:
            return reading
        parts = _Parts(source, reading, checks)
        if deep:
            end, code = _decode(source, reading, parts, useful(workers, reading.size))
        else:
            end, code = _walk(source, reading, parts)
        end, is_zeros = parts.finish(end, code)
        if end < reading.size:
            reading.tail = _tail(source, end, code, reading, is_zeros=is_zeros)
    return reading


def read_tail(log: FileEntry, base_offset: int, table: BatchTable) -> Tail | None:
    """Return what follows the last batch of a `.log` file; None if nothing does.

    Args:
        log: the file.
        base_offset: the segment's base offset.
        table: the file's batches.

    Raises:
        OSError: the file cannot be read.
    """
    position, code = table.stop.position, table.stop.code
    next_offset = int(table.rows["last_offset"][-1]) + 1 if len(table) else base_offset
    with log.open() as source:
        reading = LogReading(log.path, base_offset, size=source.size, next_offset=next_offset)
        if position >= reading.size:
            return None
        return _tail(source, position, code, reading)


class _Parts:
    """Gathers rows and problems to parts of some thousand rows, and gives them to the checks."""

    def __init__(self, source: FileSource, reading: LogReading, checks: Sequence[Check]) -> None:
        self._source = source
        self._reading = reading
        self._checks = checks
        self._tables: list[Rows] = []
        self._problems: list[Problem] = []
        self._waiting = 0  # rows of the tables
        self._ahead = np.zeros(0, np.int64)  # positions of problems after the last row given
        self._counts: dict[str, int] = {}
        self._last_shown: list[ShownProblem] = []
        self._undated: list[ShownProblem] = []  # their rows are yet to come
        self._end_offset = reading.base_offset  # after the last sound row given
        self._last_position = 0  # of the last row
        self._is_last_sound = True
        self._has_sound = False
        self._last_problem = -1  # its position

    def add(self, rows: Rows, found: Sequence[Problem]) -> None:
        """Take batches, and what could not be read at or after them, or shortly before."""
        self._problems += found
        if len(rows):
            self._tables.append(rows)
            self._waiting += len(rows)
        if self._waiting + len(self._problems) >= ROWS_AT_ONCE:
            given, self._problems = self._problems, []
            if given and _reaches_end(given[-1], self._reading.size):
                self._problems.append(given.pop())  # perhaps the tail
            self._give(given)

    def finish(self, end: int, code: int) -> tuple[int, bool | None]:
        """Give what is left; return where the batches end, and whether zeros follow, if known.

        Args:
            end: where no further batch was found.
            code: why.
        """
        reading, found, is_zeros = self._reading, self._problems, None
        if found and _is_tail(found[-1], reading.size, code):
            tail = found.pop()
            end, is_zeros = tail.position, tail.is_zeros
        self._give(found)
        lost = reading.problem_count > 0 and self._last_problem >= self._last_position
        reading.is_end_sure = not lost and self._is_last_sound
        return end, is_zeros

    def _give(self, found: list[Problem]) -> None:
        rows = joined_rows(self._tables, BATCH_ROW)
        self._tables, self._waiting = [], 0
        positions = rows["position"]
        before = self._ahead
        if found:
            bad = np.array([problem.position for problem in found], np.int64)
            self._ahead = np.append(before, bad)
        sound = np.ones(len(rows), np.bool_)
        if len(self._ahead):
            sound = ~np.isin(positions, self._ahead)
            found = list(_with_crc(self._source, found))
            self._note(found, before)
            self._date(rows, sound)
            self._last_problem = found[-1].position if found else self._last_problem
        if len(rows):
            self._count(rows, sound)
            if len(self._ahead):
                self._ahead = self._ahead[self._ahead > self._last_position]
        part = CheckedPart(rows, sound, found)
        for check in self._checks:
            check.add(part)

    def _note(self, found: list[Problem], before: npt.NDArray[np.int64]) -> None:
        """Keep the first problems of each kind, and count those after the last one kept."""
        self._reading.problem_count += len(found)
        for index, problem in enumerate(found):
            for shown in self._last_shown:
                shown.later += problem.position > shown.problem.position
            kind = kind_of(problem)
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            if count > MOST_OF_A_KIND:
                continue
            left_out = ShownProblem(problem, self._end_offset)
            self._reading.left_out.append(left_out)
            self._undated.append(left_out)
            if count == MOST_OF_A_KIND:
                earlier = [*before.tolist(), *(other.position for other in found[:index])]
                left_out.later = sum(position > problem.position for position in earlier)
                self._last_shown.append(left_out)

    def _date(self, rows: Rows, sound: npt.NDArray[np.bool_]) -> None:
        """Fill in what the rows say about the problems that are kept."""
        positions, still = rows["position"], []
        at_sound = np.flatnonzero(sound)
        for left_out in self._undated:
            position = left_out.problem.position
            row = int(np.searchsorted(positions, position))
            if row < len(rows) and positions[row] == position:
                left_out.magic = int(rows["magic"][row])
            earlier = int(np.searchsorted(at_sound, row)) - 1
            left_out.end_offset = (
                int(rows["last_offset"][at_sound[earlier]]) + 1
                if earlier >= 0
                else self._end_offset
            )
            if row == len(rows):
                still.append(left_out)
        self._undated = still

    def _count(self, rows: Rows, sound: npt.NDArray[np.bool_]) -> None:
        """Bring up to date what is known of the whole file."""
        reading, last = self._reading, rows["last_offset"]
        at = sound.nonzero()[0]
        if len(at):
            if not self._has_sound:
                self._has_sound = True
                reading.first_offset = int(first_offsets(rows[at[:1]])[0])
            self._end_offset = int(last[at[-1]]) + 1
        if reading.ascends:
            joins = not reading.batch_count or int(last[0]) >= reading.next_offset
            reading.ascends = joins and not np.count_nonzero(last[1:] <= last[:-1])
        reading.batch_count += len(rows)
        reading.next_offset = int(last[-1]) + 1
        reading.has_magic_2 |= bool(np.count_nonzero(rows["magic"] == 2))
        self._last_position = int(rows["position"][-1])
        self._is_last_sound = bool(sound[-1])


def _decode(
    source: FileSource, reading: LogReading, parts: _Parts, workers: int
) -> tuple[int, int]:
    """Read every record; return where and why no further batch was found."""
    with lent_pool() as pool:
        reader = RecordReader(source, 0, reading.size, options=0, pool=pool, apart=workers > 1)
        chunks = in_order(
            reader.pieces(), reader.decode, workers, lambda chunk: chunk.columns.nbytes
        )
        with closing(chunks):
            for chunk in chunks:
                if len(chunk.rows):
                    _fill_base_offsets(chunk)
                    _check_record_offsets(chunk, reading)
                parts.add(chunk.rows, chunk.problems)
    return reader.stop_position, reader.stop_code


def _walk(source: FileSource, reading: LogReading, parts: _Parts) -> tuple[int, int]:
    """Read the headers; return where and why no further batch was found."""
    end, code = 0, problems.END
    for table in walk_batches(source, reading.size):
        parts.add(table.rows, _of_headers(table.rows))
        end, code = table.stop.position, table.stop.code
    if code == problems.END:
        return end, code
    # A damaged size, perhaps, with whole batches after it.
    windows = BatchWindows(source, end, reading.size, BufferPool())
    for window in windows:
        found = [*windows.problems, *_of_headers(window.rows)]
        windows.problems = []
        parts.add(window.rows, sorted(found, key=lambda problem: problem.position))
    parts.add(np.zeros(0, BATCH_ROW), windows.problems)
    return windows.stop_position, windows.stop_code


def _of_headers(rows: Rows) -> list[Problem]:
    """Return what the headers of batches say is wrong with them, BATCH_ROW[m]."""
    return [
        Problem(int(row["problem"]), int(row["position"]), int(row["size"]), _offset_of(row))
        for row in rows[rows["problem"] != problems.OK]
    ]


def first_offsets(rows: Rows) -> npt.NDArray[np.int64]:
    """Return int64[n]: base offsets, negative ones too; of a wrapper, which has none, its last."""
    base: npt.NDArray[np.int64] = rows["base_offset"]
    untold = base == -1
    if not np.count_nonzero(untold):
        return base
    return np.where(untold & (rows["magic"] < 2), rows["last_offset"], base)


def _is_tail(problem: Problem, size: int, code: int) -> bool:
    """Return whether the last problem is that no batch follows before the file's end."""
    return code == problems.BAD_SIZE and _reaches_end(problem, size)


def _reaches_end(problem: Problem, size: int) -> bool:
    """Return whether no batch was found from there to the file's end."""
    return problem.code == problems.BAD_SIZE and problem.position + problem.size == size


def _offset_of(row: Any) -> int:
    return int(row["base_offset"])


def _tail(
    source: FileSource,
    position: int,
    code: int,
    reading: LogReading,
    *,
    is_zeros: bool | None = None,
) -> Tail:
    """Return what follows the last batch; ``is_zeros``: whether zeros do, if that is known."""
    size, next_offset = reading.size, reading.next_offset
    left = size - position
    head = source.read(position, HEADER_SIZE).tobytes()
    batch_size = int.from_bytes(head[8:12], signed=True) if len(head) >= 12 else None
    zeros = source.is_zero(position, size) if is_zeros is None else is_zeros
    torn = code == problems.UNFINISHED
    if left < OFFSET_SIZE:  # the next batch's offset begins with zeros
        torn = head == (next_offset % 2**64).to_bytes(OFFSET_SIZE)[:left]
        zeros &= not torn
    if batch_size is not None:
        torn &= batch_size >= SMALLEST_ENTRY - LENGTH_END
    if len(head) == HEADER_SIZE:
        torn &= head[MAGIC_AT] <= 2
    elif len(head) >= OFFSET_SIZE:  # the magic is missing: only the offset can show it
        offset = int.from_bytes(head[:OFFSET_SIZE], signed=True)
        torn &= reading.base_offset <= offset <= next_offset + 2**31
    return Tail(position, left, batch_size, zeros, torn)


def _with_crc(source: FileSource, found: list[Problem]) -> Iterator[Problem]:
    """Yield the problems; one of a header becomes a CRC mismatch if the CRC does not match either.

    The reader checks the header first. But flipped bits make impossible codecs and counts, and
    then the damage is in the bytes.
    """
    for problem in found:
        if problem.code not in _HEADER_PROBLEMS:
            yield problem
            continue
        data = source.read(problem.position, problem.size)
        if len(data) < problem.size:  # the file is shorter now
            yield problem
            continue
        stored = int.from_bytes(data[17:21].tobytes()) if data[16] >= 2 else None
        if stored is None:
            stored = int.from_bytes(data[12:16].tobytes())
        computed = entry_crc(data)
        if stored == computed:
            yield problem
            continue
        words = problems.WORDS[problem.code]
        yield problem._replace(
            code=problems.CRC_MISMATCH,
            found=f"CRC {stored:08x} stored; {words} ({problem.found})",
            expected=f"{computed:08x} computed",
        )


def _first_records(chunk: Chunk) -> npt.NDArray[np.int64]:
    """Return int64[k]: the row of the first record of each batch that has any; one does."""
    batch = chunk.columns.batch
    changes = (batch[1:] != batch[:-1]).nonzero()[0]
    first = np.zeros(len(changes) + 1, np.int64)
    np.add(changes, 1, out=first[1:])
    return first


def _fill_base_offsets(chunk: Chunk) -> None:
    unknown = chunk.rows["base_offset"] == -1
    if not np.count_nonzero(unknown) or not len(chunk.columns):
        return
    first = _first_records(chunk)
    rows = chunk.columns.batch[first]
    fill = unknown[rows]
    chunk.rows["base_offset"][rows[fill]] = chunk.columns.offsets[first[fill]]


def _check_record_offsets(chunk: Chunk, reading: LogReading) -> None:
    """Note the batches whose records' offsets do not ascend or leave the batch's range."""
    offsets, batch = chunk.columns.offsets, chunk.columns.batch
    if not len(offsets) or len(reading.record_offsets) >= _MOST_RECORD_PROBLEMS:
        return
    wrong = np.zeros(len(chunk.rows), np.bool_)
    falls = offsets[1:] <= offsets[:-1]
    if np.count_nonzero(falls):
        wrong[batch[1:][falls & (batch[1:] == batch[:-1])]] = True
    first = _first_records(chunk)
    rows = batch[first]
    last = np.empty(len(first), np.int64)
    last[:-1], last[-1] = offsets[first[1:] - 1], offsets[-1]
    wrong[rows] |= offsets[first] < chunk.rows["base_offset"][rows]
    wrong[rows] |= last > chunk.rows["last_offset"][rows]
    for row in wrong.nonzero()[0].tolist():
        place = (int(chunk.rows["position"][row]), int(chunk.rows["base_offset"][row]))
        reading.record_offsets.append(place)
