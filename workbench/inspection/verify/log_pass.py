"""Read a `.log` file once to check it: its batches, which are sound, and how the file ends.

Kafka: FileLogInputStream, LogSegment.recover (4.2)
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.layout import problems
from workbench.layout.batch_header import LENGTH_END, MAGIC_AT
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.layout.rows import joined_rows
from workbench.record.buffers import BufferPool
from workbench.record.reading.batch_table import BatchTable, scan_batches
from workbench.record.reading.batch_validity import entry_crc
from workbench.record.reading.reader import Chunk, Problem, RecordReader
from workbench.record.reading.windows import BatchWindows

Rows = npt.NDArray[Any]

OFFSET_SIZE: Final = 8
HEADER_SIZE: Final = 17  # bytes that a broker needs before it reads a batch's size
_HEADER_PROBLEMS: Final = frozenset(
    {problems.UNKNOWN_CODEC, problems.BAD_COUNT, problems.ZSTD_IN_OLD_FORMAT}
)
_MOST_RECORD_PROBLEMS: Final = 100  # per file; more say nothing new
CHECKED_ROW: Final = np.dtype(
    [
        (name, BATCH_ROW[name])
        for name in (
            "position", "base_offset", "last_offset", "max_timestamp", "partition_leader_epoch",
            "record_count", "magic", "is_transactional", "is_control",
        )
    ]
)  # fmt: skip
"""What is kept of each row of BATCH_ROW until its segment is checked: less than half."""


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


@dataclass(slots=True)
class LogReading:
    """What one pass over a `.log` file found.

    Attributes:
        path: the file.
        base_offset: the segment's base offset.
        rows: CHECKED_ROW[n]; the base offset of a compressed magic 0 or 1 is filled in where its
            messages were decoded.
        sound: bool[n]: which rows hold what was written, as far as the bytes show.
        problems: what could not be read, ascending by position.
        record_offsets: positions and base offsets of batches whose records' offsets do not fit.
        tail: bytes after the last batch; None when the file ends with it.
        size: the file's size in bytes.
        is_deep: whether CRCs and records were read.
    """

    path: str
    base_offset: int
    rows: Rows = field(default_factory=lambda: np.zeros(0, CHECKED_ROW))
    sound: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    problems: list[Problem] = field(default_factory=list)
    record_offsets: list[tuple[int, int]] = field(default_factory=list)
    tail: Tail | None = None
    size: int = 0
    is_deep: bool = True

    @property
    def next_offset(self) -> int:
        """The offset after the last batch, from its header; the base offset without any."""
        return int(self.rows["last_offset"][-1]) + 1 if len(self.rows) else self.base_offset

    @property
    def is_whole(self) -> bool:
        """Whether every byte belongs to a sound batch."""
        return not self.problems and self.tail is None

    @property
    def is_end_sure(self) -> bool:
        """Whether `next_offset` can be trusted."""
        lost = bool(self.problems) and self.problems[-1].position >= self._last_position
        return not lost and (not len(self.rows) or bool(self.sound[-1]))

    @property
    def _last_position(self) -> int:
        return int(self.rows["position"][-1]) if len(self.rows) else 0

    def trusted(self, flagged: npt.NDArray[np.bool_]) -> Rows:
        """Return the sound rows but the ``flagged`` ones, bool[n]; a view where that is all."""
        wanted = self.sound & ~flagged
        return self.rows if wanted.all() else self.rows[wanted]

    def covers(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return bool[n]: which byte positions are in bytes that could not be read."""
        inside = np.zeros(len(positions), np.bool_)
        for problem in self.problems:
            inside |= (positions >= problem.position) & (
                positions < problem.position + max(problem.size, 1)
            )
        return inside


def read_log(path: str, base_offset: int, *, deep: bool = True) -> LogReading:
    """Read a whole `.log` file.

    Args:
        path: the file.
        base_offset: the segment's base offset.
        deep: check CRCs and decode every record; otherwise walk over the headers alone.

    Raises:
        OSError: the file cannot be read.
    """
    reading = LogReading(path, base_offset, is_deep=deep)
    tables: list[Rows] = []
    with FileSource(path) as source:
        reading.size = source.size
        if not reading.size:
            return reading
        end, code = (_decode if deep else _walk)(source, reading, tables)
        if reading.problems and _is_tail(reading.problems[-1], reading.size, code):
            end = reading.problems.pop().position
        reading.rows = joined_rows(tables, CHECKED_ROW)
        tables.clear()
        if end < reading.size:
            reading.tail = _tail(source, end, reading, code)
        reading.problems = list(_with_crc(source, reading.problems))
    bad = np.array([problem.position for problem in reading.problems], np.int64)
    reading.sound = ~np.isin(reading.rows["position"], bad)
    return reading


def read_tail(path: str, base_offset: int, table: BatchTable) -> Tail | None:
    """Return what follows the last batch of a `.log` file; None if nothing does.

    Args:
        path: the file.
        base_offset: the segment's base offset.
        table: the file's batches.

    Raises:
        OSError: the file cannot be read.
    """
    position, code = table.stop.position, table.stop.code
    with FileSource(path) as source:
        if position >= source.size:
            return None
        reading = LogReading(path, base_offset, table.rows, size=source.size)
        return _tail(source, position, reading, code)


def _decode(source: FileSource, reading: LogReading, tables: list[Rows]) -> tuple[int, int]:
    """Read every record; return where and why no further batch was found."""
    reader = RecordReader(source, 0, reading.size, options=0)
    for chunk in reader:
        if len(chunk.rows):
            _fill_base_offsets(chunk)
            tables.append(_to_check(chunk.rows))
            _check_record_offsets(chunk, reading)
        reading.problems += chunk.problems
    return reader.stop_position, reader.stop_code


def _walk(source: FileSource, reading: LogReading, tables: list[Rows]) -> tuple[int, int]:
    """Read the headers; return where and why no further batch was found."""
    table = scan_batches(source, 0, reading.size)
    found = [table.rows]
    end, code = table.stop.position, table.stop.code
    if code != problems.END:  # a damaged size, perhaps, with whole batches after it
        windows = BatchWindows(source, end, reading.size, BufferPool())
        found += [window.rows for window in windows]
        reading.problems += windows.problems
        end, code = windows.stop_position, windows.stop_code
    for rows in found:
        tables.append(_to_check(rows))
        reading.problems += [
            Problem(int(row["problem"]), int(row["position"]), int(row["size"]), _offset_of(row))
            for row in rows[rows["problem"] != problems.OK]
        ]
    reading.problems.sort(key=lambda problem: problem.position)
    return end, code


def _to_check(rows: Rows) -> Rows:
    """Return BATCH_ROW[n] as CHECKED_ROW[n]."""
    kept = np.empty(len(rows), CHECKED_ROW)
    for name in CHECKED_ROW.names or ():
        kept[name] = rows[name]
    return kept


def _is_tail(problem: Problem, size: int, code: int) -> bool:
    """Return whether the last problem is that no batch follows before the file's end."""
    reaches = problem.position + problem.size == size
    return code == problems.BAD_SIZE and problem.code == problems.BAD_SIZE and reaches


def _offset_of(row: Any) -> int:
    return int(row["base_offset"])


def _tail(source: FileSource, position: int, reading: LogReading, code: int) -> Tail:
    size, next_offset = reading.size, reading.next_offset
    left = size - position
    head = source.read(position, HEADER_SIZE).tobytes()
    batch_size = int.from_bytes(head[8:12], signed=True) if len(head) >= 12 else None
    zeros = source.is_zero(position, size)
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
    """Return int64[k]: the row of the first record of each batch that has any."""
    return np.flatnonzero(np.diff(chunk.columns.batch, prepend=-1))


def _fill_base_offsets(chunk: Chunk) -> None:
    unknown = chunk.rows["base_offset"] == -1
    if not unknown.any() or not len(chunk.columns):
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
    stays = (batch[1:] == batch[:-1]) & (offsets[1:] <= offsets[:-1])
    wrong[batch[1:][stays]] = True
    first = _first_records(chunk)
    last = np.append(first[1:], len(offsets)) - 1
    rows = batch[first]
    wrong[rows] |= offsets[first] < chunk.rows["base_offset"][rows]
    wrong[rows] |= offsets[last] > chunk.rows["last_offset"][rows]
    for row in np.flatnonzero(wrong):
        place = (int(chunk.rows["position"][row]), int(chunk.rows["base_offset"][row]))
        reading.record_offsets.append(place)
