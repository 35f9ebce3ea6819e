"""A `.log` file in windows of complete batches: every reader of records uses them.

The file is read a few MiB at a time into reused memory. If the size of a batch is invalid, the next
batch with a valid CRC is searched for, and the bytes between are a `Problem`.

Kafka: FileLogInputStream, RecordBatch.ensureValid (4.2)
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.layout import problems
from workbench.layout.batch_header import (
    BATCH_HEADER_SIZE,
    CRC_FROM,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import MESSAGE_CRC_FROM, SMALLEST_MESSAGE
from workbench.record.buffers import BufferPool
from workbench.record.limits import LARGEST_BATCH
from workbench.record.reading.batch_table import places_of
from workbench.record.reading.resync import (
    ResyncBudget,
    Searched,
    find_following,
    last_sound_offset,
)

WINDOW: Final = 4 << 20  # bytes read at a time: calls are rare, and a core's cache still helps
_ROWS_AT_ONCE: Final = 8192
_BYTES_A_ROW: Final = 128  # a batch of one record seldom has fewer; more rows than fit come later

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[Any]


class Problem(NamedTuple):
    """Bytes that could not be read.

    Attributes:
        code: one of `layout.problems`.
        position: the position in the file where the batch starts.
        size: the number of bytes left out; 0: every record was rescued.
        offset: the batch's base offset according to its header, -1 if unknown.
        found, expected: the values as text; empty if the code says it all.
        is_zeros: whether it is known that all these bytes are zero.
    """

    code: int
    position: int
    size: int
    offset: int
    found: str = ""
    expected: str = ""
    is_zeros: bool = False


class Window(NamedTuple):
    """Complete batches and their bytes, valid until the next window is read, or forever.

    See `BatchWindows.give_away`.

    Attributes:
        data: uint8[n], the file's bytes from ``position``.
        position: the position of ``data[0]`` in the file.
        rows: BATCH_ROW[m], the batches from ``position``, without a gap.
    """

    data: Bytes
    position: int
    rows: Rows

    def places(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return int64[m, 2]: start and end in `data` of some of the batches, BATCH_ROW[m]."""
        return places_of(rows, self.position)

    def valid(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return bool[m]: which of some batches, BATCH_ROW[m], have a valid size and CRC."""
        found = np.zeros(len(rows), np.bool_)
        at = 0
        while at < len(rows):
            invalid = at + count_valid(self.data, rows[at:], self.position)
            found[at:invalid] = True
            at = invalid + 1
        return found


class BatchWindows:
    """Iterate over it for `Window`s, in file order. Not thread-safe.

    Args:
        source: the file; it is not closed.
        start: byte position of a batch to start at.
        stop: give batches that end at or before this position.
        pool: where the memory comes from.
        base_offset: the segment's base offset; after damage only offsets from it are trusted.
        size: bytes read at a time, if no batch is larger.

    Attributes:
        problems: bytes without a readable batch, since they were last taken; the reader empties it.
        stop_code: why it ended, once it has: END, UNFINISHED or BAD_SIZE of `layout.problems`.
    """

    def __init__(
        self,
        source: FileSource,
        start: int,
        stop: int,
        pool: BufferPool,
        base_offset: int = 0,
        *,
        size: int = WINDOW,
    ) -> None:
        self._source = source
        self._position = start  # in the file, of the buffer's first byte
        self._stop = stop
        self._pool = pool
        self._buffer: Bytes = pool.take(np.uint8, max(min(size, stop - start), BATCH_HEADER_SIZE))
        self._filled = 0
        self._rows = np.zeros(min(_ROWS_AT_ONCE, len(self._buffer) // _BYTES_A_ROW + 2), BATCH_ROW)
        self._is_given_away = False  # the buffer belongs to the holder of the last window
        self._last_offset = base_offset - 1  # of the last batch whose header is sound
        self._searched: tuple[int, Searched] | None = None  # the last search, and from where
        self.problems: list[Problem] = []
        self.stop_code = problems.END

    @cached_property
    def _patience(self) -> ResyncBudget:
        return ResyncBudget()

    @property
    def stop_position(self) -> int:
        """The position after the last batch, once reading has ended."""
        return self._position

    def give_away(self) -> None:
        """Leave the last window's bytes to its user: they remain valid, and can be overwritten."""
        self._is_given_away = True

    def __iter__(self) -> Iterator[Window]:
        """Yield the windows that hold at least one whole batch."""
        while self._fill():
            at, code, needed = 0, problems.MORE_DATA, 0
            while True:
                data = self._buffer[at : self._filled]
                position = self._position + at
                count, end, code = dispatch.scan_window(data, position, self._stop, self._rows)
                # Only the last batch can reach beyond the window.
                needed = int(self._rows["size"][count - 1]) if end - position > len(data) else 0
                whole = self._rows[: count - 1 if needed else count]
                if not len(whole):
                    behind = self._behind(at, code, needed)
                    if behind is None:
                        break
                    at = behind
                    continue
                copied = whole.view(np.uint8).copy().view(BATCH_ROW)  # as bytes: see `layout.rows`
                yield Window(data, position, copied)
                self._last_offset = last_sound_offset(whole, self._last_offset)
                at += end - needed - position
                if needed or code in {problems.END, problems.MORE_DATA}:
                    break
            if not self._go_on(at, code, needed):
                break

    def _behind(self, at: int, code: int, needed: int) -> int | None:
        """Return the position in the buffer of the next readable batch, past bytes left out.

        Args:
            at, code, needed: see `_go_on`.

        Returns:
            None when nothing is to be left out, or no batch is found in the buffer.
        """
        if needed or code not in {problems.BAD_SIZE, problems.UNFINISHED}:
            return None
        start = self._position + at
        behind, _ = self._find_next(start)
        if behind is None or behind >= self._position + self._filled:
            return None
        self._leave_out(start, behind, code)
        return behind - self._position

    def _fill(self) -> bool:
        """Read on until the buffer is full; return False when the file has become shorter."""
        room = min(len(self._buffer), self._stop - self._position) - self._filled
        if room <= 0:
            return True
        target = self._buffer[self._filled : self._filled + room]
        got = self._source.read_into(target, self._position + self._filled)
        self._filled += got
        if got == 0:
            self.stop_code = problems.UNFINISHED
        return got > 0

    def _go_on(self, at: int, code: int, needed: int) -> bool:
        """Make ready for the next reading; return whether there is one.

        Args:
            at: the position in the buffer after the yielded batches.
            code: why the walk over headers ended there.
            needed: the size of a batch that begins there and is incomplete in the buffer, or 0.
        """
        self._drop(at)
        if needed > LARGEST_BATCH:
            code = problems.BAD_SIZE
        elif needed:
            if needed > len(self._buffer):
                larger = self._pool.take(np.uint8, needed)
                larger[: self._filled] = self._buffer[: self._filled]
                self._buffer = larger
            return True
        if code == problems.MORE_DATA and at:
            return True
        self.stop_code = problems.UNFINISHED if code == problems.MORE_DATA else code
        if code not in {problems.BAD_SIZE, problems.UNFINISHED}:
            return False
        behind, is_zeros = self._find_next(self._position)
        # A batch too long for the file is merely incomplete if nothing follows it.
        if behind is not None or code == problems.BAD_SIZE:
            end = self._stop if behind is None else behind
            self._leave_out(self._position, end, code, is_zeros=is_zeros)
            self._position, self._filled = end, 0
        return behind is not None

    def _drop(self, count: int) -> None:
        """Forget the first ``count`` bytes of the buffer."""
        rest = self._buffer[count : self._filled]
        if self._is_given_away:
            self._buffer = self._pool.take(np.uint8, len(self._buffer))
            self._is_given_away = False
        self._buffer[: len(rest)] = rest
        self._filled = len(rest)
        self._position += count

    def _find_next(self, position: int) -> Searched:
        """Search for a readable batch after a position where none is; a search is done once."""
        if self._searched is None or self._searched[0] != position:
            found = find_following(
                self._source, position, self._stop, self._last_offset, self._patience
            )
            self._searched = position, found
        return self._searched[1]

    def _leave_out(self, start: int, end: int, code: int, *, is_zeros: bool = False) -> None:
        """Note the bytes from ``start`` to ``end`` as a problem: an invalid size."""
        size = int.from_bytes(self._source.read(start + 8, 4).tobytes(), signed=True)
        expected = f"at least {SMALLEST_MESSAGE} bytes"
        if code == problems.UNFINISHED:
            expected = f"at most {self._stop - start - LENGTH_END} bytes"
        elif size >= SMALLEST_MESSAGE:
            expected = f"at most {LARGEST_BATCH} bytes"
        self.problems.append(
            Problem(problems.BAD_SIZE, start, end - start, -1, f"{size} bytes", expected, is_zeros)
        )


def count_valid(buffer: Bytes, rows: Rows, position: int = 0) -> int:
    """Return how many batches come before the first that is not valid, by its size or CRC.

    Args:
        buffer: uint8[n].
        rows: BATCH_ROW[m], complete batches, one after the other.
        position: the one of ``buffer[0]``, as ``rows["position"]`` counts.
    """
    return int(dispatch.first_invalid(buffer, position, rows))


def entry_crc(entry: Bytes) -> int:
    """Return the CRC that a complete entry, uint8[n], should have stored."""
    if entry[MAGIC_AT] < 2:
        return int(dispatch.crc32(entry[MESSAGE_CRC_FROM:]))
    return int(dispatch.crc32c(entry[CRC_FROM:]))
