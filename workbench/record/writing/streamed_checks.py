"""Check the records of a compressed batch as a stream, where its content is too large to hold.

The kernel checks one window of records after the other. A record that is larger than a window is
skipped as Kafka skips it: its key, value and headers are not kept.

Kafka: DefaultRecordBatch.skipKeyValueIterator, DefaultRecord.readPartiallyFrom (4.2)
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptRecordError
from workbench.kernels import dispatch
from workbench.kernels.writing.checks import AT
from workbench.layout import problems
from workbench.record import varint
from workbench.record.limits import MOST_CONTENT
from workbench.record.reading.arena import DecompressionError

WINDOW: Final = 4 << 20  # bytes of content
_LONGEST_NUMBER: Final = 10  # bytes of a varint
_MOST_HEADERS: Final = 1_000_000  # of a record that is larger than a window
_READ: Final = frozenset({problems.OK, problems.BYTES_AFTER_RECORDS})

Row = npt.NDArray[np.int64]


class _Content:
    """The content of a batch: a window of it, and the bytes that follow.

    Attributes:
        window: what is not checked yet; the next records.
        position: where the window begins.
        is_ended: whether nothing follows the window.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.window = bytearray()
        self.position = 0
        self.is_ended = False

    def fill(self, size: int) -> None:
        """Read until the window has so many bytes, or the content ends."""
        while len(self.window) < size and not self.is_ended:
            piece = next(self._pieces, None)
            if piece is None:
                self.is_ended = True
            else:
                self.window += piece
        if self.position + len(self.window) > MOST_CONTENT:
            raise DecompressionError(f"the records decompress to more than {MOST_CONTENT} bytes")

    def drop(self, size: int) -> bool:
        """Leave out the next bytes; return False if there are not so many."""
        while size > len(self.window) and not self.is_ended:
            size -= len(self.window)
            self.position += len(self.window)
            self.window.clear()
            self.fill(1)
        if size > len(self.window):
            return False
        del self.window[:size]
        self.position += size
        return True

    def number(self, *, is_long: bool = False) -> int | None:
        """Read a signed varint; None if there is none."""
        self.fill(_LONGEST_NUMBER)
        decode = varint.decode_long if is_long else varint.decode
        try:
            found, end = decode(bytes(self.window[:_LONGEST_NUMBER]), 0)
        except CorruptRecordError:
            return None
        self.drop(end)
        return found


def check_streamed(
    pieces: Iterator[bytes],
    row: Row,
    options: int,
    times: tuple[int, int, int],
    *,
    window: int = WINDOW,
) -> None:
    """Fill a row's columns about records, as the kernel `check_records` does with HEADS_ONLY.

    Args:
        pieces: the content.
        row: int64[COLUMNS], the batch's header.
        options: see the kernel.
        times: now, ms before now, ms after now.
        window: bytes that are checked at a time.

    Raises:
        DecompressionError: the content cannot be read, or is larger than a broker can read.
    """
    content, facts = _Content(pieces), _Facts(row, options, times)
    code, at = problems.OK, 0
    while facts.left:
        content.fill(window)
        code, at = facts.check(content.window)
        if code in _READ or content.is_ended:
            break
        code, at = problems.OK, 0
        if not facts.take_whole(content):
            code = _skip_large(content, facts)
            if code != problems.OK:
                break
    if code == problems.OK:
        content.fill(at + 1)
        is_more = len(content.window) > at
        code = problems.BYTES_AFTER_RECORDS if is_more else problems.OK
    facts.finish(code, content.position + at)


class _Facts:
    """What is known about the records so far."""

    def __init__(self, row: Row, options: int, times: tuple[int, int, int]) -> None:
        self._row = row
        self._part = row.copy()
        self._options = options
        self._times = times
        self._largest = -1
        self._refused = 0
        self._is_in_order = True
        self._done = 0

    @property
    def left(self) -> int:
        """How many records are still to be checked."""
        return int(self._row[AT.record_count]) - self._done

    def check(self, window: bytearray, count: int | None = None) -> tuple[int, int]:
        """Check the next records; return the problem, and where it is in the window."""
        part = self._part
        part[AT.record_count] = self.left if count is None else count
        part[AT.base_offset] = self._row[AT.base_offset] - self._done
        data = np.frombuffer(bytes(window), np.uint8)
        dispatch.check_records(data, 0, len(data), part, self._options, *self._times)
        return int(part[AT.record_problem]), int(part[AT.record_problem_at])

    def take_whole(self, content: _Content) -> bool:
        """Take over the records that the last check found whole, and leave them out."""
        count = int(self._part[AT.checked_count])
        if count == 0:
            return False
        _, end = self.check(content.window, count)
        self._take()
        content.drop(end)
        return True

    def _take(self) -> None:
        part = self._part
        self._largest = max(self._largest, int(part[AT.largest_timestamp]))
        self._refused += int(part[AT.refused_count])
        self._is_in_order = self._is_in_order and bool(part[AT.is_in_order])
        self._done += int(part[AT.checked_count])

    def take_one(self, head: bytes) -> None:
        """Take over a record that was skipped, by one that has its head and nothing else."""
        self.check(bytearray(head), 1)
        self._take()

    def finish(self, code: int, at: int) -> None:
        """Take over the last check, and fill the row."""
        if self.left and self._part[AT.checked_count] > 0:
            self._take()
        row = self._row
        row[AT.record_problem], row[AT.record_problem_at] = code, at
        row[AT.checked_count] = self._done
        row[AT.largest_timestamp], row[AT.refused_count] = self._largest, self._refused
        row[AT.is_in_order], row[AT.is_ready] = self._is_in_order, 0


def _skip_large(content: _Content, facts: _Facts) -> int:
    """Pass over one record that is larger than the window; return the problem."""
    content.number()  # the length, which Kafka does not trust
    if not content.drop(1):  # attributes
        return problems.BAD_VARINT
    timestamp, offset, key = content.number(is_long=True), content.number(), content.number()
    if timestamp is None or offset is None or key is None:
        return problems.BAD_VARINT
    if not content.drop(max(key, 0)):
        return problems.BAD_KEY
    value = content.number()
    if value is None:
        return problems.BAD_VARINT
    if not content.drop(max(value, 0)):
        return problems.BAD_VALUE
    problem = _skip_headers(content)
    if problem != problems.OK:
        return problem
    head = varint.encode_long(timestamp)
    head += b"".join(map(varint.encode, (offset, min(key, 0), -1, 0)))
    facts.take_one(varint.encode(len(head) + 1) + b"\0" + head)
    return problems.OK


def _skip_headers(content: _Content) -> int:
    headers = content.number()
    if headers is None:
        return problems.BAD_VARINT
    if not 0 <= headers <= _MOST_HEADERS:
        return problems.BAD_HEADERS
    for number in range(2 * headers):  # names and values
        size = content.number()
        if size is None:
            return problems.BAD_VARINT
        if (size < 0 and number % 2 == 0) or not content.drop(max(size, 0)):
            return problems.BAD_HEADERS
    return problems.OK
