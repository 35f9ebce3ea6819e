"""Records of a `.log` file, a window at a time, as columns: any magic, any codec, bad bytes reported.

The file is read in windows of a few MiB into memory that is used again; the memory needed does not
depend on the file's size. A batch that cannot be read is left out and told as a `Problem`; reading goes
on behind it. Where even its size makes no sense, the next batch with a right CRC is looked for.

Kafka: FileRecords.batches, RecordBatch.streamingIterator (4.2)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.outputs import CHECK_CRC, HEADERS, KEYS, OUT_OF_ROOM, VALUES
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
from workbench.record.resync import find_batch
from workbench.record.source import FileSource

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
WINDOW: Final = 4 << 20  # bytes read at a time: calls are rare, and a core's cache still helps
LARGEST_BATCH: Final = 128 << 20  # bytes; a size above is taken for damage, not for an allocation
LARGEST_EXPANSION: Final = 512 << 20  # bytes that one batch may decompress to
_ROWS_AT_ONCE: Final = 8192
_ARENA_RUN: Final = 1 << 20  # decompressed bytes that are decoded while they are in the cache
_CHUNK_BYTES: Final = 32 << 20  # decompressed bytes after which a chunk is handed on

Rows = npt.NDArray[Any]
Select = Callable[[Rows], npt.NDArray[np.bool_]]


class Problem(NamedTuple):
    """Bytes that could not be read.

    Attributes:
        code: of `layout.problems`.
        position: byte place in the file where the batch starts.
        size: bytes left out.
        offset: base offset of the batch as its header says, -1 when unknown.
        found, expected: in words; empty when the code says it all.
    """

    code: int
    position: int
    size: int
    offset: int
    found: str = ""
    expected: str = ""


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
        select: called with BATCH_ROW[m], returns bool[m]: which batches to decode. Others cost nothing.
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
        self._source = source
        self._position = start
        self._stop = source.size if stop is None else stop
        self._options = options
        self._check_crc = check_crc
        self._select = select
        self._pool = pool or BufferPool()
        self._arena = Arena()
        self._problems: list[Problem] = []
        self.stop_code = problems.END

    def __iter__(self) -> Iterator[Chunk]:
        """Yield chunks in file order; the last one may only carry problems."""
        size = max(min(WINDOW, self._stop - self._position), BATCH_HEADER_SIZE)
        buffer = self._pool.take(np.uint8, size)
        rows = np.zeros(min(_ROWS_AT_ONCE, len(buffer) // SMALLEST_ENTRY + 2), BATCH_ROW)
        filled = 0  # bytes of the buffer that hold the file from self._position
        while True:
            room = min(len(buffer), self._stop - self._position) - filled
            if room > 0:
                target = buffer[filled : filled + room]
                got = self._source.read_into(target, self._position + filled)
                if got == 0:  # the file is shorter now than it was
                    self.stop_code = problems.UNFINISHED
                    break
                filled += got
            at = 0  # place in the buffer
            while True:
                window = buffer[at:filled]
                count, reached, code = dispatch.scan_window(
                    window, self._position, self._stop, rows
                )
                whole = self._whole(rows[:count], len(window))
                if whole:
                    yield from self._decode(window, rows[:whole].copy())
                    last = rows[whole - 1]
                    step = int(last["position"] + last["size"]) - self._position
                    at += step
                    self._position += step
                if whole < count or whole == 0 or code == problems.MORE_DATA:
                    break
            if whole < count:  # a batch that the buffer does not hold to its end
                needed = int(rows[whole]["size"])
                if needed > LARGEST_BATCH:
                    self._skip(problems.BAD_SIZE, found=f"{needed} bytes")
                    filled = 0
                    continue
                rest = buffer[at:filled].copy()
                if needed > len(buffer):
                    buffer = self._pool.take(np.uint8, needed)
                filled = len(rest)
                buffer[:filled] = rest
                continue
            if code == problems.MORE_DATA and at > 0:
                rest = buffer[at:filled].copy()
                filled = len(rest)
                buffer[:filled] = rest
                continue
            if code == problems.BAD_SIZE:
                if not self._skip_bad_size():
                    break
                filled = 0
                continue
            self.stop_code = problems.UNFINISHED if code == problems.MORE_DATA else code
            break
        if self._problems:
            empty = ColumnBuilder(self._options, self._pool).finish()
            yield Chunk(rows[:0], empty, self._take_problems())

    def _whole(self, rows: Rows, size: int) -> int:
        """Return how many of ``rows`` end within ``size`` bytes from the position."""
        if not len(rows):
            return 0
        last = rows[-1]  # only the last one can reach beyond the window
        return len(rows) - int(last["position"] + last["size"] - self._position > size)

    def _take_problems(self) -> list[Problem]:
        taken, self._problems = self._problems, []
        return taken

    def _skip_bad_size(self) -> bool:
        """Go on at the next batch behind a size that cannot be; return whether there is one."""
        size = int.from_bytes(self._source.read(self._position + 8, 4).tobytes(), signed=True)
        self.stop_code = problems.BAD_SIZE
        return self._skip(problems.BAD_SIZE, found=f"{size} bytes")

    def _skip(self, code: int, found: str) -> bool:
        """Leave out bytes from the position to the next readable batch; return whether there is one."""
        start = self._position
        behind = find_batch(self._source, start + 1, self._stop)
        self._position = self._stop if behind is None else behind
        size = self._position - start
        self._problems.append(Problem(code, start, size, -1, found, "at least 14 bytes"))
        return behind is not None

    def _decode(self, window: npt.NDArray[np.uint8], rows: Rows) -> Iterator[Chunk]:
        """Decode the batches of ``rows``, which all lie in ``window``, in one chunk or more."""
        wanted = rows["problem"] == problems.OK
        for index in np.flatnonzero(~wanted):
            self._note(rows[index], int(rows[index]["problem"]))
        if self._select is not None:
            wanted &= self._select(rows)
        kinds = np.where(wanted, (rows["magic"] < 2) * 2 + (rows["codec"] != NONE), -1)
        edges = np.flatnonzero(np.diff(kinds)) + 1
        builder = ColumnBuilder(self._options, self._pool)
        first_row = 0
        for first, last in zip([0, *edges], [*edges, len(rows)], strict=True):
            kind = int(kinds[first])
            if kind == -1:
                continue
            if kind in {0, 2}:
                self._decode_plain(window, rows, int(first), int(last), builder)
                continue
            row = int(first)
            while row < last:
                row = self._decode_compressed(window, rows, row, int(last), builder)
                if builder.byte_count > _CHUNK_BYTES:
                    yield self._chunk(rows, first_row, row, builder)
                    builder, first_row = ColumnBuilder(self._options, self._pool), row
        yield self._chunk(rows, first_row, len(rows), builder)

    def _chunk(self, rows: Rows, first: int, last: int, builder: ColumnBuilder) -> Chunk:
        columns = builder.finish()
        if first:
            columns.batch[:] -= first
        return Chunk(rows[first:last], columns, self._take_problems())

    def _decode_plain(
        self,
        window: npt.NDArray[np.uint8],
        rows: Rows,
        first: int,
        last: int,
        builder: ColumnBuilder,
    ) -> None:
        """Decode a run of uncompressed batches that are all magic 2, or all older."""
        old = rows[first]["magic"] < 2
        spans = np.empty((len(rows), 2), np.int64)
        np.subtract(rows["position"], self._position, out=spans[:, 0])
        np.add(spans[:, 0], rows["size"], out=spans[:, 1])
        spans[:, 0] += 0 if old else BATCH_HEADER_SIZE
        size = int(rows["size"][first:last].sum())
        count = last - first if old else int(rows["record_count"][first:last].sum())
        options = self._options | (CHECK_CRC if self._check_crc else 0)
        # The message kernel asks for room by the smallest message, whatever it finds.
        records = size // SMALLEST_ENTRY + 1 if old else count
        self._run_kernel(window, spans, rows, (first, last), options, builder, (records, size))

    def _run_kernel(
        self,
        data: npt.NDArray[np.uint8],
        spans: npt.NDArray[np.int64],
        rows: Rows,
        run: tuple[int, int],
        options: int,
        builder: ColumnBuilder,
        room: tuple[int, int],
    ) -> None:
        """Decode the rows of ``run``, noting those that cannot be."""
        first, last = run
        decode = dispatch.decode_messages if rows[first]["magic"] < 2 else dispatch.decode_records
        out = builder.reserve(*room)
        while first < last:
            row, code, position = decode(data, spans, rows, first, last, options, out)
            if code == OUT_OF_ROOM:
                msg = f"outputs for {room[0]} records and {room[1]} bytes are too small"
                raise RuntimeError(msg)
            if code != problems.OK:
                inside = int(position) - int(spans[row, 0])
                self._note(rows[row], int(code), data=data, inside=inside)
            first = row + 1 if code != problems.OK else last

    def _decode_compressed(
        self,
        window: npt.NDArray[np.uint8],
        rows: Rows,
        first: int,
        last: int,
        builder: ColumnBuilder,
    ) -> int:
        """Decompress and decode batches of a run until the arena is full; return the next row."""
        arena = self._arena
        arena.clear()
        old = bool(rows[first]["magic"] < 2)
        spans = np.zeros((len(rows), 2), np.int64)
        matches = np.ones(len(rows), np.bool_)
        readable: list[tuple[int, int]] = []  # runs of rows that were decompressed
        row = first
        if self._check_crc:
            check = dispatch.check_message_crcs if old else dispatch.check_crcs
            check(window, self._position, rows[first:last], matches[first:last])
        view = memoryview(window)
        while row < last and arena.used < _ARENA_RUN:
            if not matches[row]:
                self._note(rows[row], problems.CRC_MISMATCH, data=window)
                row += 1
                continue
            at = int(rows[row]["position"]) - self._position
            entry = view[at : at + int(rows[row]["size"])]
            try:
                payload = wrapper_value(entry) if old else entry[BATCH_HEADER_SIZE:]
                codec, magic = int(rows[row]["codec"]), int(rows[row]["magic"])
                spans[row] = decompress_into(codec, payload, arena, magic, LARGEST_EXPANSION)
            except WrapperError as error:
                self._note(rows[row], error.code)
            except DecompressionError as error:
                found = f"{codec_name(codec)}: {error}"
                self._note(rows[row], problems.BAD_COMPRESSION, found=found)
            else:
                if readable and readable[-1][1] == row:
                    readable[-1] = (readable[-1][0], row + 1)
                else:
                    readable.append((row, row + 1))
            row += 1
        for run in readable:
            sizes = spans[run[0] : run[1], 1] - spans[run[0] : run[1], 0]
            if old:
                count = int((sizes // SMALLEST_ENTRY + 1).sum())
            else:  # a count that the bytes cannot hold is refused by the kernel
                counts = rows["record_count"][run[0] : run[1]]
                count = int(np.minimum(counts, sizes // SMALLEST_RECORD).sum())
            room = (count, int(sizes.sum()))
            self._run_kernel(arena.data, spans, rows, run, self._options, builder, room)
        return row

    def _note(
        self,
        row: Any,
        code: int,
        *,
        data: npt.NDArray[np.uint8] | None = None,
        inside: int | None = None,
        found: str = "",
    ) -> None:
        """Remember that a batch was left out."""
        expected = ""
        position, size = int(row["position"]), int(row["size"])
        if code == problems.CRC_MISMATCH and data is not None:
            at = position - self._position
            computed = entry_crc(data[at : at + size])
            found, expected = f"CRC {int(row['crc']):08x} stored", f"{computed:08x} computed"
        elif code == problems.UNKNOWN_MAGIC:
            found, expected = f"magic {int(row['magic'])}", "0, 1 or 2"
        elif code == problems.UNKNOWN_CODEC:
            found, expected = codec_name(int(row["codec"])), "0 to 4"
        elif code == problems.BAD_COUNT:
            found = f"{int(row['record_count'])} records in {size} bytes"
        elif inside is not None:
            found = f"at byte {inside} of the records"
        self._problems.append(
            Problem(code, position, size, int(row["base_offset"]), found, expected)
        )


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
    """Return the CRC that a whole batch or message ought to have stored: uint8[n] from its first byte."""
    if entry[16] < 2:
        return int(dispatch.crc32(entry[MESSAGE_CRC_FROM:]))
    return int(dispatch.crc32c(entry[CRC_FROM:]))
