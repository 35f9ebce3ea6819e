"""Records of a `.log` file as columns: any magic, any codec, bad bytes reported.

The file is read in windows of a few MiB into reused memory; the memory needed does not depend on
the file's size. The reader reports a batch that it cannot read as a `Problem` and continues after
it. If even the batch's size is invalid, it searches for the next batch with a valid CRC.

Kafka: FileRecords.batches, RecordBatch.streamingIterator (4.2)
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.kernels.codecs.inputs import DecodeTask, DecompressionBounds, Library
from workbench.kernels.reading.outputs import CHECK_CRC, HEADERS, KEYS, OUT_OF_ROOM, VALUES
from workbench.layout import problems
from workbench.layout.attributes import NONE, codec_name
from workbench.layout.batch_header import BATCH_HEADER_SIZE, SMALLEST_RECORD
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.lz4_frame import WRITTEN_CHECKSUM
from workbench.layout.message_header import SMALLEST_ENTRY
from workbench.record.buffers import BufferPool, thread_pool
from workbench.record.codecs.compression import Arena, TooLargeError, decompress_run
from workbench.record.codecs.libraries import compiled_decoder
from workbench.record.columns import ColumnBuilder, RecordColumns
from workbench.record.limits import LARGEST_CONTENT, MOST_RECORDS, VARIABLE
from workbench.record.reading.batch_records import ALL_COLUMNS
from workbench.record.reading.rescue import RESCUABLE, RescuedContents, rescue
from workbench.record.reading.windows import BatchWindows, Problem, Window, entry_crc
from workbench.record.reading.wrapper import WrapperError, wrapper_value

__all__ = [
    "ALL_COLUMNS",
    "HEADERS",
    "KEYS",
    "VALUES",
    "Chunk",
    "FilePiece",
    "Problem",
    "RecordReader",
    "Select",
    "empty_chunk",
]

_ARENA_RUN: Final = 1 << 20  # decompressed bytes that are decoded while they are in the cache
_USUAL_RATIO: Final = 4  # of decompressed to compressed bytes; more makes outputs grow on the way
_MOST_THAT_FIT: Final = LARGEST_CONTENT // SMALLEST_RECORD  # records of a compressed batch
_PER_MAGIC: Final = np.int8(8)
_UNREADABLE: Final = (-1, -1)  # span of a batch that was left out
_LARGE_RECORD: Final = 256  # bytes; from this size it pays to move values within the window
_CHUNK_BYTES: Final = 6 << 20  # decompressed bytes after which a chunk is handed on
_APART_BYTES: Final = 4 << 20  # decoded bytes of a piece: several wait at a time
_LEAST_PART: Final = 1 << 16  # bytes of a compressed piece

Rows = npt.NDArray[Any]
Select = Callable[[Rows], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some batches and their records.

    Attributes:
        rows: BATCH_ROW[m], every batch of the window, whether decoded or not.
        columns: the records of the selected, readable ones; `batch` numbers ``rows``.
        problems: the batches left out, ascending by position.
    """

    rows: Rows
    columns: RecordColumns
    problems: list[Problem]


def empty_chunk(options: int, pool: BufferPool, problems: Sequence[Problem] = ()) -> Chunk:
    """Return a chunk without batches, to carry ``problems``; ``options``: see `RecordReader`."""
    return Chunk(np.zeros(0, BATCH_ROW), ColumnBuilder(options, pool).finish(), list(problems))


class FilePiece(NamedTuple):
    """A part of a file that is decoded on its own.

    Attributes:
        window: complete batches; None after the last one.
        problems: what could not be read before them.
    """

    window: Window | None
    problems: list[Problem]


class RecordReader:
    """Reads the records of one file; iterate over it for `Chunk`s.

    Or let one thread read `pieces`, and others `decode` them side by side.

    Args:
        source: the file; it is not closed.
        start: byte position of a batch to start at.
        stop: read batches that end at or before this position; default the file's end now.
        options: which of KEYS, VALUES, HEADERS to decode.
        check_crc: leave out batches whose CRC is invalid.
        rescue: read, of batches that are left out otherwise, the records that can be read; the
            problem then says how many. It costs a second decoding, and ``check_crc`` is not asked.
        select: called with BATCH_ROW[m], returns bool[m]: which batches to decode. Others cost
            nothing.
        pool: where output memory comes from; share one to use memory again across files.
        base_offset: the segment's base offset; after damage only offsets from it are trusted.
        apart: whether each piece has memory of its own, and is decoded into that of the thread
            which decodes it.

    Not thread-safe, except for `decode` with ``apart``.
    """

    def __init__(
        self,
        source: FileSource,
        start: int = 0,
        stop: int | None = None,
        *,
        options: int = ALL_COLUMNS,
        check_crc: bool = True,
        rescue: bool = False,
        select: Select | None = None,
        pool: BufferPool | None = None,
        base_offset: int = 0,
        apart: bool = False,
    ) -> None:
        self._pool = pool or BufferPool()
        self._windows = BatchWindows(
            source,
            start,
            source.size if stop is None else stop,
            self._pool,
            base_offset,
        )
        self._how = _How(options, check_crc, select, self._windows.give_away, rescue)
        self._apart = apart
        self._expansion = float(_USUAL_RATIO)  # of decoded bytes to those of the file
        self._decoder = _Decoder(self._how, self._pool)

    @property
    def stop_code(self) -> int:
        """Why reading ended, once it has: END, UNFINISHED or BAD_SIZE of `layout.problems`."""
        return self._windows.stop_code

    @property
    def stop_position(self) -> int:
        """The position where reading ended, once it has: after the last complete batch."""
        return self._windows.stop_position

    def __iter__(self) -> Iterator[Chunk]:
        """Yield chunks in file order; the last one may only carry problems."""
        for piece in self.pieces():
            yield from self.decode(piece)

    def pieces(self) -> Iterator[FilePiece]:
        """Yield what `decode` takes, in file order."""
        for window in self._windows:
            if not self._apart:
                yield FilePiece(window, self._take_problems())
                continue
            self._windows.give_away()
            for part in _parts(window, int(_APART_BYTES / self._expansion)):
                yield FilePiece(part, self._take_problems())
        if self._windows.problems:
            yield FilePiece(None, self._take_problems())

    def decode(self, piece: FilePiece) -> Iterator[Chunk]:
        """Yield the chunks of a piece."""
        if self._apart:
            yield from self._decode_apart(piece)
        else:
            yield from self._decoder.decode(piece)

    def _decode_apart(self, piece: FilePiece) -> Iterator[Chunk]:
        """Decode into the memory of this thread, and see how much larger the pieces become."""
        size = 0
        decoder = _Decoder(self._how, thread_pool(), self._expansion, _THREAD)
        for chunk in decoder.decode(piece):
            size += chunk.columns.nbytes
            yield chunk
        if piece.window is not None:
            self._expansion = max(1.0, size / len(piece.window.data))

    def _take_problems(self) -> list[Problem]:
        taken, self._windows.problems = self._windows.problems, []
        return taken


def _parts(window: Window, size: int) -> Iterator[Window]:
    """Yield a window in parts of about ``size`` bytes if it is compressed: they become larger."""
    rows = window.rows
    if not rows["codec"].any():
        yield window
        return
    places = window.places(rows)
    shares = places[:, 0] // max(size, _LEAST_PART)
    edges = np.flatnonzero(shares[1:] != shares[:-1]) + 1
    for first, last in pairwise([0, *edges.tolist(), len(rows)]):
        start, end = int(places[first, 0]), int(places[last - 1, 1])
        yield Window(window.data[start:end], window.position + start, rows[first:last])


class _Memory:
    """What is decompressed into, made when it is first needed."""

    @cached_property
    def arena(self) -> Arena:
        """The buffer."""
        return Arena()


class _ThreadMemory(threading.local, _Memory):
    """The buffer of each thread."""


_THREAD: Final = _ThreadMemory()


class _How(NamedTuple):
    """What is decoded; see `RecordReader`. ``give_away``: leaves a window's bytes to its chunk."""

    options: int
    check_crc: bool
    select: Select | None
    give_away: Callable[[], None]
    rescue: bool = False


class _Decoder:
    """Decodes windows, one after the other."""

    def __init__(
        self,
        how: _How,
        pool: BufferPool,
        expansion: float = _USUAL_RATIO,
        memory: _Memory | None = None,
    ) -> None:
        self._options, self._check_crc, self._select, self._give_away, self._rescues = how
        self._check_crc &= not self._rescues  # a first decoding checks them
        self._expansion = expansion
        self._pool = pool
        self._memory = _Memory() if memory is None else memory
        self._problems: list[Problem] = []

    @property
    def _arena(self) -> Arena:
        return self._memory.arena

    def decode(self, piece: FilePiece) -> Iterator[Chunk]:
        """Yield the chunks of a piece."""
        self._problems = piece.problems
        if piece.window is None:
            yield empty_chunk(self._options, self._pool, self._take_problems())
        else:
            yield from self._decode(piece.window)

    def _take_problems(self) -> list[Problem]:
        taken, self._problems = self._problems, []
        return taken

    def _decode(self, window: Window) -> Iterator[Chunk]:
        """Decode the wanted batches of a window, in one chunk or more."""
        rescued = self._rescued(window) if self._rescues else {}
        all_rows = window.rows
        has_large = not rescued and self._has_large_values(window)
        wanted = self._wanted(all_rows).nonzero()[0]
        if len(wanted) < len(all_rows):
            window = window._replace(rows=all_rows[wanted])
        rows = window.rows
        kinds = rows["magic"] * _PER_MAGIC + rows["codec"]
        edges = (kinds[1:] != kinds[:-1]).nonzero()[0] + 1
        apart = {at: rescued[place] for at, place in enumerate(wanted.tolist()) if place in rescued}
        if apart:
            either_side = np.array([*apart, *(at + 1 for at in apart)])
            edges = np.unique([*edges, *either_side[(either_side > 0) & (either_side < len(rows))]])
        value_data = None
        if has_large and len(rows) and not len(edges) and kinds[0] == 2 * 8 + NONE:
            self._give_away()
            value_data = window.data
        chunk = _ChunkStart(ColumnBuilder(self._options, self._pool, value_data), 0)
        for first, last in pairwise([0, *edges.tolist(), len(rows)] if len(rows) else []):
            if first in apart:
                self._decode_rescued(rows, first, apart[first], chunk)
                continue
            if kinds[first] % 8 == NONE:
                self._decode_plain(window, (first, last), chunk)
                continue
            for done in self._decode_compressed(window, (first, last), chunk):
                if chunk.builder.byte_count > _CHUNK_BYTES:
                    run = (chunk.first_row, done)
                    yield self._chunk(all_rows, rows, wanted, run, chunk.builder)
                    chunk.builder = ColumnBuilder(self._options, self._pool)
                    chunk.first_row = done
        yield self._chunk(all_rows, rows, wanted, (chunk.first_row, len(rows)), chunk.builder)

    def _rescued(self, window: Window) -> "dict[int, _RescuedBatch]":
        """Return what the damaged batches of a window still give, by their rows."""
        probing = _How(0, check_crc=True, select=self._select, give_away=lambda: None)
        probe = _Decoder(probing, self._pool, self._expansion, self._memory)
        found = [each for chunk in probe.decode(FilePiece(window, [])) for each in chunk.problems]
        rows, places = window.rows, window.places(window.rows)
        rescued = {}
        for problem in found:
            if problem.code in RESCUABLE:
                at = int(np.searchsorted(rows["position"], problem.position))
                start, end = places[at].tolist()
                rescued[at] = _RescuedBatch(problem, rescue(window.data[start:end], rows[at]))
        return rescued

    def _wanted(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return bool[m]: which batches are to be decoded; those that cannot be are noted."""
        wanted: npt.NDArray[np.bool_] = rows["problem"] == problems.OK
        if np.count_nonzero(wanted) < len(rows):
            for row in rows[~wanted]:
                self._note(row, int(row["problem"]))
        if self._select is not None:
            wanted &= self._select(rows)
        too_many = rows["record_count"] > MOST_RECORDS
        if np.count_nonzero(too_many):
            # More than fit into what a batch may decompress to: the kernels find that out.
            too_many &= (rows["codec"] == NONE) | (rows["record_count"] <= _MOST_THAT_FIT)
            too_many &= wanted
            for row in rows[too_many]:
                self._note(row, problems.TOO_LARGE)
            wanted &= ~too_many
        return wanted

    def _has_large_values(self, window: Window) -> bool:
        """Return whether values are wanted and records so large that copying costs most."""
        records = int(np.add.reduce(window.rows["record_count"]))
        return bool(self._options & VALUES) and len(window.data) >= _LARGE_RECORD * records

    def _chunk(
        self,
        rows: Rows,
        decoded: Rows,
        wanted: npt.NDArray[np.int64],
        run: tuple[int, int],
        builder: ColumnBuilder,
    ) -> Chunk:
        """Return the records of a run of the wanted rows, and all rows that the run covers."""
        columns = builder.finish()
        first, last = run
        start = int(wanted[first - 1]) + 1 if first else 0
        end = int(wanted[last - 1]) + 1 if last < len(wanted) else len(rows)
        if len(wanted) < len(rows):
            taken = wanted[first:last]
            rows[taken] = decoded[first:last]  # a decoded wrapper has a base offset
            columns.batch[:] = taken[columns.batch] - start
        return Chunk(rows[start:end], columns, self._take_problems())

    def _decode_plain(self, window: Window, run: tuple[int, int], chunk: "_ChunkStart") -> None:
        """Decode a run of uncompressed batches of one magic."""
        first, last = run
        rows = window.rows[first:last]
        old = rows[0]["magic"] < 2
        spans = window.places(rows)
        spans[:, 0] += 0 if old else BATCH_HEADER_SIZE
        size = int(np.add.reduce(rows["size"])) + BATCH_HEADER_SIZE
        # The message kernel asks for room by the smallest message, whatever it finds.
        count = size // SMALLEST_ENTRY + 1 if old else int(np.add.reduce(rows["record_count"]))
        options = self._options | (CHECK_CRC if self._check_crc else 0)
        task = _Task(window.data, spans, rows, options, first - chunk.first_row)
        self._run_kernel(task, (0, len(rows)), chunk.builder, (count, size))

    def _decode_rescued(
        self, rows: Rows, at: int, found: "_RescuedBatch", chunk: "_ChunkStart"
    ) -> None:
        """Decode what a damaged batch still gives, and note how much that is."""
        problem, rescued = found
        text = f"{problem.found}; {rescued.text}" if problem.found else rescued.text
        left_out = 0 if rescued.is_whole else problem.size
        self._problems.append(problem._replace(found=text, size=left_out))
        if not rescued.readable:
            return
        row, size = rows[at : at + 1].copy(), len(rescued.data)
        if row["magic"][0] == 2:
            row["record_count"] = rescued.readable
        span = np.array([[0, size]], np.int64)
        task = _Task(rescued.data, span, row, self._options, at - chunk.first_row)
        self._run_kernel(task, (0, 1), chunk.builder, (size // SMALLEST_RECORD + 1, size))
        rows["base_offset"][at] = row["base_offset"][0]  # of a wrapper, it is known now

    def _run_kernel(
        self, task: "_Task", run: tuple[int, int], builder: ColumnBuilder, room: tuple[int, int]
    ) -> None:
        """Decode the rows of ``run``, noting those that cannot be; ``room``: what they may take."""
        first, last = run
        out = builder.reserve(*room)
        before = builder.record_count
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
        if task.shift:
            out.batch[before : builder.record_count] += task.shift

    def _decode_compressed(
        self, window: Window, run: tuple[int, int], chunk: "_ChunkStart"
    ) -> Iterator[int]:
        """Decode a run of compressed batches of one magic and codec.

        Yields the next row of the window each time the arena has been full and decoded: there the
        caller may begin a new chunk.
        """
        first, last = run
        rows = window.rows[first:last]
        magic, codec = int(rows[0]["magic"]), int(rows[0]["codec"])
        places = self._payloads(window, rows)
        spans = np.empty((len(rows), 2), np.int64)
        done = 0
        while done < len(rows):
            # Of the thread that continues, which need not be the one that began.
            library = compiled_decoder(codec) if magic == 2 else None
            if not chunk.builder.record_count:
                chunk.builder.expect(*_guess(rows[done:], self._expansion))
            if library is not None:
                task = _Task(window.data, spans, rows, self._options, first - chunk.first_row)
                behind = self._decode_usual(task, places, done, library, chunk.builder)
                if behind > done:
                    done = behind
                    yield first + done
                    continue
            self._arena.clear()
            count, failures = decompress_run(
                codec,
                window.data,
                places[done:],
                self._arena,
                spans[done:],
                magic=magic,
                enough=_ARENA_RUN,
            )
            for index, error in failures:
                found = f"{codec_name(codec)}: {error}"
                is_large = isinstance(error, TooLargeError)
                code = problems.TOO_LARGE if is_large else problems.BAD_COMPRESSION
                self._note(rows[done + index], code, found)
                spans[done + index] = _UNREADABLE
            shift = first - chunk.first_row
            task = _Task(self._arena.data, spans, rows, self._options, shift)
            self._decode_arena(task, (done, done + count), chunk.builder)
            done += count
            yield first + done

    def _decode_usual(
        self,
        task: "_Task",
        places: npt.NDArray[np.int64],
        first: int,
        library: Library,
        builder: ColumnBuilder,
    ) -> int:
        """Decompress and decode rows, starting with ``first``, in one call of compiled code.

        Returns:
            The row after those that were decoded, or noted; ``first`` if that batch does not have
            the framing that Kafka writes.
        """
        before, codec = builder.record_count, int(task.rows[0]["codec"])
        source, out = task.data, builder.reserve(0, 0)
        while True:
            first, code, position = dispatch.decode_packed(
                source,
                places,
                DecodeTask(first, codec, task.options),
                DecompressionBounds(
                    LARGEST_CONTENT, max(_CHUNK_BYTES - builder.byte_count, 1), WRITTEN_CHECKSUM
                ),
                library,
                self._arena.data,
                task.spans,
                task.rows,
                out,
            )
            if code != OUT_OF_ROOM:
                break
            size = int(task.spans[first, 1] - task.spans[first, 0])
            count = min(int(task.rows[first]["record_count"]), size // SMALLEST_RECORD)
            out = builder.reserve(count, size)
        if code != problems.OK:
            inside = position - int(task.spans[first, 0])
            self._note(task.rows[first], code, f"at byte {inside} of the records")
            first += 1
        if task.shift:
            out.batch[before : builder.record_count] += task.shift
        return first

    def _payloads(self, window: Window, rows: Rows) -> npt.NDArray[np.int64]:
        """Return int64[m, 2]: start and end of each batch's compressed bytes in the window.

        Batches whose CRC is invalid, and wrappers without a value, have `_UNREADABLE` and are
        noted; batches without records have it, too.
        """
        old = bool(rows[0]["magic"] < 2)
        places = window.places(rows)
        matches = np.ones(len(rows), np.bool_)
        if self._check_crc:
            check = dispatch.check_message_crcs if old else dispatch.check_crcs
            check(window.data, window.position, rows, matches)
        for index in np.flatnonzero(~matches):
            start, end = places[index].tolist()
            self._note_crc(rows[index], window.data[start:end])
        if old:
            for index in np.flatnonzero(matches):
                start, end = places[index].tolist()
                try:
                    inner = wrapper_value(memoryview(window.data[start:end]))
                    places[index] = start + inner[0], start + inner[1]
                except WrapperError as error:
                    self._note(rows[index], error.code)
                    places[index] = _UNREADABLE
        else:
            places[:, 0] += BATCH_HEADER_SIZE
            matches &= rows["record_count"] > 0  # Kafka does not read past an empty header
        places[~matches] = _UNREADABLE
        return places

    def _decode_arena(self, task: "_Task", run: tuple[int, int], builder: ColumnBuilder) -> None:
        """Decode the rows of ``run``, which fill the arena; those of `_UNREADABLE` have no part."""
        first, last = run
        size = self._arena.used
        if task.rows[first]["magic"] < 2:
            count = size // SMALLEST_ENTRY + last - first
        else:  # a count that the bytes cannot hold is refused by the kernel
            counts = task.rows["record_count"][first:last]
            count = min(int(np.add.reduce(counts)), size // SMALLEST_RECORD)
        readable = task.spans[first:last, 0] >= 0
        if np.count_nonzero(readable) == len(readable):
            self._run_kernel(task, run, builder, (count, size))
            return
        edges = [0, *(np.flatnonzero(readable[1:] != readable[:-1]) + 1).tolist(), len(readable)]
        for start, end in pairwise(edges):
            if readable[start]:
                self._run_kernel(task, (first + start, first + end), builder, (count, size))

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
        elif code == problems.TOO_LARGE and not found:
            found = f"{int(row['record_count'])} records"
            expected = f"at most {MOST_RECORDS}, unless {VARIABLE} raises the limit"
        problem = Problem(code, position, size, int(row["base_offset"]), found, expected)
        self._problems.append(problem)


@dataclass
class _ChunkStart:
    """The chunk that is being filled, and the row of the window where it began."""

    builder: ColumnBuilder
    first_row: int


class _RescuedBatch(NamedTuple):
    """Why a batch is left out otherwise, and what it still gives."""

    problem: Problem
    rescued: RescuedContents


class _Task(NamedTuple):
    """The input of a decode kernel; see `kernels.reading.decode.decode_records`."""

    data: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int64]
    rows: Rows
    options: int
    shift: int  # added to a number of ``rows`` gives one of the chunk's rows


def _guess(rows: Rows, expansion: float) -> tuple[int, int]:
    """Return how many records and bytes compressed batches may bring to a chunk: a guess."""
    size = int(rows["size"].sum())
    counts = int(np.maximum(rows["record_count"], 0).sum())
    return min(counts, size), min(int(expansion * size), _CHUNK_BYTES + 2 * _ARENA_RUN)
