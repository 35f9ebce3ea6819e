"""Records of a `.log` file as columns: any magic, any codec, bad bytes reported.

The file is read in windows of a few MiB into memory that is used again; the memory needed does not
depend on the file's size. A batch that cannot be read is left out and told as a `Problem`; reading
goes on behind it. Where even its size makes no sense, the next batch with a right CRC is looked
for.

Kafka: FileRecords.batches, RecordBatch.streamingIterator (4.2)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.outputs import CHECK_CRC, HEADERS, KEYS, OUT_OF_ROOM, VALUES, RecordOutputs
from workbench.layout import problems
from workbench.layout.attributes import NONE, codec_name
from workbench.layout.batch_header import BATCH_HEADER_SIZE, CRC_FROM, SMALLEST_RECORD
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import (
    MESSAGE_CRC_FROM,
    MESSAGE_V0,
    MESSAGE_V1,
    SMALLEST_ENTRY,
)
from workbench.record.buffers import BufferPool
from workbench.record.columns import ColumnBuilder, RecordColumns
from workbench.record.compression import Arena, DecompressionError, decompress_into
from workbench.record.source import FileSource
from workbench.record.windows import BatchWindows, Problem, Window

__all__ = [
    "ALL_COLUMNS",
    "HEADERS",
    "KEYS",
    "VALUES",
    "Chunk",
    "Problem",
    "RecordReader",
    "Select",
    "entry_crc",
]

ALL_COLUMNS: Final = KEYS | VALUES | HEADERS
LARGEST_EXPANSION: Final = 512 << 20  # bytes that one batch may decompress to
_ARENA_RUN: Final = 1 << 20  # decompressed bytes that are decoded while they are in the cache
_CHUNK_BYTES: Final = 32 << 20  # decompressed bytes after which a chunk is handed on

Rows = npt.NDArray[Any]
Select = Callable[[Rows], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some batches and their records.

    Attributes:
        rows: BATCH_ROW[m], every batch of the window, whether decoded or not.
        columns: the records of the selected, readable ones; `batch` numbers ``rows``.
        problems: what was left out, ascending by position.
    """

    rows: Rows
    columns: RecordColumns
    problems: list[Problem]


class RecordReader:
    """Reads the records of one file; iterate over it for `Chunk`s.

    Args:
        source: the file; stays open.
        start: byte position of a batch to start at.
        stop: read batches that end at or before this position; default the file's end now.
        options: which of KEYS, VALUES, HEADERS to decode.
        check_crc: leave out batches whose CRC is wrong.
        select: called with BATCH_ROW[m], returns bool[m]: which batches to decode. Others cost
            nothing.
        pool: where output memory comes from; share one to use memory again across files.

    Not thread-safe.
    """

    def __init__(
        self,
        source: FileSource,
        start: int = 0,
        stop: int | None = None,
        *,
        options: int = ALL_COLUMNS,
        check_crc: bool = True,
        select: Select | None = None,
        pool: BufferPool | None = None,
    ) -> None:
        self._pool = pool or BufferPool()
        self._windows = BatchWindows(
            source,
            start,
            source.size if stop is None else stop,
            self._pool,
        )
        self._options = options
        self._check_crc = check_crc
        self._select = select
        self._arena = Arena()

    @property
    def stop_code(self) -> int:
        """Why reading ended, once it has: END, UNFINISHED or BAD_SIZE of `layout.problems`."""
        return self._windows.stop_code

    @property
    def stop_position(self) -> int:
        """Byte where reading ended, once it has: behind the last whole batch."""
        return self._windows.stop_position

    def __iter__(self) -> Iterator[Chunk]:
        """Yield chunks in file order; the last one may only carry problems."""
        for window in self._windows:
            yield from self._decode(window)
        if self._windows.problems:
            empty = ColumnBuilder(self._options, self._pool).finish()
            yield Chunk(np.zeros(0, BATCH_ROW), empty, self._take_problems())

    def _take_problems(self) -> list[Problem]:
        taken, self._windows.problems = self._windows.problems, []
        return taken

    def _decode(self, window: Window) -> Iterator[Chunk]:
        """Decode the wanted batches of a window, in one chunk or more."""
        rows = window.rows
        wanted = rows["problem"] == problems.OK
        for row in rows[~wanted]:
            self._note(row, int(row["problem"]))
        if self._select is not None:
            wanted &= self._select(rows)
        kinds = (rows["magic"] < 2) * np.int8(2) + (rows["codec"] != NONE)
        kinds[~wanted] = -1
        edges = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
        builder = ColumnBuilder(self._options, self._pool)
        chunk_start = 0
        for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(rows)], strict=True):
            if kinds[first] in {0, 2}:
                self._decode_plain(window, (first, last), builder)
            row = last if kinds[first] in {-1, 0, 2} else first
            while row < last:
                row = self._decode_compressed(window, (row, last), builder)
                if builder.byte_count > _CHUNK_BYTES:
                    yield self._chunk(rows, (chunk_start, row), builder)
                    builder, chunk_start = ColumnBuilder(self._options, self._pool), row
        yield self._chunk(rows, (chunk_start, len(rows)), builder)

    def _chunk(self, rows: Rows, run: tuple[int, int], builder: ColumnBuilder) -> Chunk:
        columns = builder.finish()
        if run[0]:
            columns.batch[:] -= run[0]
        return Chunk(rows[slice(*run)], columns, self._take_problems())

    def _decode_plain(self, window: Window, run: tuple[int, int], builder: ColumnBuilder) -> None:
        """Decode a run of uncompressed batches that are all magic 2, or all older."""
        first, last = run
        rows = window.rows
        old = rows[first]["magic"] < 2
        spans = np.empty((len(rows), 2), np.int64)
        np.subtract(rows["position"], window.position, out=spans[:, 0])
        np.add(spans[:, 0], rows["size"], out=spans[:, 1])
        spans[:, 0] += 0 if old else BATCH_HEADER_SIZE
        size = int(rows["size"][first:last].sum())
        # The message kernel asks for room by the smallest message, whatever it finds.
        count = size // SMALLEST_ENTRY + 1 if old else int(rows["record_count"][first:last].sum())
        options = self._options | (CHECK_CRC if self._check_crc else 0)
        out = builder.reserve(count, size)
        self._run_kernel(_Task(window.data, spans, rows, options), run, out)

    def _run_kernel(self, task: "_Task", run: tuple[int, int], out: RecordOutputs) -> None:
        """Decode the rows of ``run``, noting those that cannot be."""
        first, last = run
        old = task.rows[first]["magic"] < 2
        decode = dispatch.decode_messages if old else dispatch.decode_records
        while first < last:
            row, code, position = decode(
                task.data, task.spans, task.rows, first, last, task.options, out
            )
            if code == OUT_OF_ROOM:
                raise RuntimeError(f"the outputs are too small for row {row} of {last}")
            if code == problems.OK:
                break
            inside = int(position) - int(task.spans[row, 0])
            if code == problems.CRC_MISMATCH:
                end = int(task.spans[row, 1])
                self._note_crc(task.rows[row], task.data[end - int(task.rows[row]["size"]) : end])
            else:
                self._note(task.rows[row], int(code), f"at byte {inside} of the records")
            first = row + 1

    def _decode_compressed(
        self, window: Window, run: tuple[int, int], builder: ColumnBuilder
    ) -> int:
        """Decompress and decode batches of a run until the arena is full; return the next row."""
        first, last = run
        rows = window.rows
        self._arena.clear()
        old = bool(rows[first]["magic"] < 2)
        spans = np.zeros((len(rows), 2), np.int64)
        matches = np.ones(len(rows), np.bool_)
        if self._check_crc:
            check = dispatch.check_message_crcs if old else dispatch.check_crcs
            check(window.data, window.position, rows[first:last], matches[first:last])
        readable: list[tuple[int, int]] = []  # runs of rows that were decompressed
        row = first
        while row < last and self._arena.used < _ARENA_RUN:
            at = int(rows[row]["position"]) - window.position
            entry = window.data[at : at + int(rows[row]["size"])]
            if not matches[row]:
                self._note_crc(rows[row], entry)
            elif self._decompress(rows[row], memoryview(entry), spans[row]):
                if readable and readable[-1][1] == row:
                    readable[-1] = (readable[-1][0], row + 1)
                else:
                    readable.append((row, row + 1))
            row += 1
        task = _Task(self._arena.data, spans, rows, self._options)
        for found in readable:
            sizes = np.diff(spans[slice(*found)], axis=1)[:, 0]
            if old:
                count = int((sizes // SMALLEST_ENTRY + 1).sum())
            else:  # a count that the bytes cannot hold is refused by the kernel
                counts = rows["record_count"][slice(*found)]
                count = int(np.minimum(counts, sizes // SMALLEST_RECORD).sum())
            self._run_kernel(task, found, builder.reserve(count, int(sizes.sum())))
        return row

    def _decompress(self, row: Any, entry: memoryview, span: npt.NDArray[np.int64]) -> bool:
        """Decompress one entry into the arena and fill ``span``; return whether that went well."""
        codec, magic = int(row["codec"]), int(row["magic"])
        try:
            payload = wrapper_value(entry) if magic < 2 else entry[BATCH_HEADER_SIZE:]
            span[:] = decompress_into(codec, payload, self._arena, magic, LARGEST_EXPANSION)
        except WrapperError as error:
            self._note(row, error.code)
        except DecompressionError as error:
            self._note(row, problems.BAD_COMPRESSION, f"{codec_name(codec)}: {error}")
        else:
            return True
        return False

    def _note_crc(self, row: Any, entry: npt.NDArray[np.uint8]) -> None:
        """Remember that a batch was left out for its CRC."""
        found = f"CRC {int(row['crc']):08x} stored"
        self._note(row, problems.CRC_MISMATCH, found, f"{entry_crc(entry):08x} computed")

    def _note(self, row: Any, code: int, found: str = "", expected: str = "") -> None:
        """Remember that a batch was left out."""
        position, size = int(row["position"]), int(row["size"])
        if code == problems.UNKNOWN_MAGIC:
            found, expected = f"magic {int(row['magic'])}", "0, 1 or 2"
        elif code == problems.UNKNOWN_CODEC:
            found, expected = codec_name(int(row["codec"])), "0 to 4"
        elif code == problems.BAD_COUNT:
            found = f"{int(row['record_count'])} records in {size} bytes"
        problem = Problem(code, position, size, int(row["base_offset"]), found, expected)
        self._windows.problems.append(problem)


class _Task(NamedTuple):
    """What a decode kernel works on; see `kernels.decode.decode_records`."""

    data: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int64]
    rows: Rows
    options: int


class WrapperError(ValueError):
    """A compressed message without a value that could be decompressed."""

    def __init__(self, code: int) -> None:
        super().__init__(problems.WORDS[code])
        self.code = code


def wrapper_value(entry: memoryview) -> memoryview:
    """Return the compressed bytes of a magic 0 or 1 wrapper, given the whole entry.

    Raises:
        WrapperError: it is null, or sizes do not fit.
    """
    old_header = MESSAGE_V1.itemsize if entry[16] == 1 else MESSAGE_V0.itemsize
    key_size = int.from_bytes(entry[old_header : old_header + 4], signed=True)
    at = old_header + 4 + max(key_size, 0)
    if at + 4 > len(entry):
        raise WrapperError(problems.BAD_KEY)
    size = int.from_bytes(entry[at : at + 4], signed=True)
    if size < 0:
        raise WrapperError(problems.NULL_WRAPPER)
    if at + 4 + size > len(entry):
        raise WrapperError(problems.BAD_VALUE)
    return entry[at + 4 : at + 4 + size]


def entry_crc(entry: npt.NDArray[np.uint8]) -> int:
    """Return the CRC that a whole entry, uint8[n], ought to have stored."""
    if entry[16] < 2:
        return int(dispatch.crc32(entry[MESSAGE_CRC_FROM:]))
    return int(dispatch.crc32c(entry[CRC_FROM:]))
