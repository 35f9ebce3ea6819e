"""Files that are a run of entries of one size, perhaps with zeros behind: what indexes share.

A broker allocates the offset and time index of the segment it writes in full, 10 MB of zeros each,
and cuts them when the segment is done or the broker stops in order. After a crash, or while it
runs, the entries in use end at the last one that is not all zeros. Looking for that place takes a
few reads of one entry each: a directory of 10,000 partitions would have 200 GB of zeros.

Kafka: AbstractIndex (4.0)
"""

import os
from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptIndexError, OffsetOverflowError
from workbench.files.reading import Problem, ProblemKind, ProblemList, raise_problem
from workbench.record.remote import read_whole

MAX_RELATIVE_OFFSET: Final = 2**31 - 1

_CHUNK_SIZE: Final = 256 * 1024
_HEAD_SIZE: Final = 4096  # of the first read for the last entry: mostly holds all in use
_SHORT_SIZE: Final = 64
_SEEK_DATA: Final = getattr(os, "SEEK_DATA", None)


class EntryRun(NamedTuple):
    """The entries of a file.

    Attributes:
        data: the entries in use, whole ones only.
        file_size: of the file, in bytes.
        slack: bytes of zeros behind the entries in use.
        cut_size: bytes of the entry that the file ends in; 0 in a sound file.
    """

    data: bytes
    file_size: int
    slack: int
    cut_size: int


class IndexFile:
    """What one index file holds, and what is wrong with it; `len()` is the number of entries.

    Attributes:
        problems: see `reading`; empty in whatever was read strictly.
    """

    __slots__ = ()
    entry: ClassVar[np.dtype[Any]]
    problems: tuple[Problem, ...]

    @classmethod
    def decode(
        cls, data: bytes, base_offset: int, path: str | None = None, *, strict: bool = True
    ) -> Self:
        """Return the index in the bytes of a whole file.

        Args:
            data: the whole file.
            base_offset: of the segment.
            path: named in errors.
            strict: raise the first problem instead of keeping it.

        Raises:
            CorruptIndexError: the bytes break the format.
            UnsupportedFormatError: an entry's version is not known.
        """
        return cls._checked(decode_entries(data, cls.entry.itemsize), base_offset, path, strict)

    @classmethod
    def read(cls, path: str, base_offset: int, *, strict: bool = True) -> Self:
        """Return the index of a file; the zeros of an allocated one are not read. See `decode`.

        Raises:
            OSError: the file cannot be read.
        """
        return cls._checked(read_entries(path, cls.entry.itemsize), base_offset, path, strict)

    @classmethod
    def _checked(cls, run: EntryRun, base_offset: int, path: str | None, strict: bool) -> Self:  # noqa: FBT001
        index = cls._of_run(run, base_offset)
        if strict and index.problems:
            raise_problem(CorruptIndexError, path, index.problems[0])
        return index

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        """Return what the entries say, with their problems. Never raises, whatever the bytes."""
        raise NotImplementedError

    def encode(self) -> bytes:
        """Return the bytes of the entries in use, as the file holds them once it is cut to size."""
        raise NotImplementedError


def relative_offset(offset: int, base_offset: int) -> int:
    """Return an offset as an index entry holds it.

    Raises:
        OffsetOverflowError: ``offset`` is before the segment or too far behind its start.

    Kafka: AbstractIndex.relativeOffset (4.0)
    """
    if not 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET:
        raise OffsetOverflowError(offset, base_offset)
    return offset - base_offset


class EntryProblems(ProblemList):
    """Collects what is wrong with the entries of a run, beginning with one cut short.

    Args:
        run: where the entries come from.
        entry_size: in bytes.
        describe: slot of an entry -> what stands there, for people.
    """

    def __init__(self, run: EntryRun, entry_size: int, describe: Callable[[int], str]) -> None:
        super().__init__()
        self._entry_size = entry_size
        self._describe = describe
        if run.cut_size:
            position = run.file_size - run.cut_size
            expected = f"whole entries of {entry_size} bytes"
            self.add("unfinished entry", position, f"{run.cut_size} bytes", expected)

    def add_where(self, kind: ProblemKind, wrong: npt.NDArray[np.bool_], expected: str) -> None:
        """Note a problem at the first entry that is ``wrong`` (bool[n]), and how many there are."""
        slots = np.flatnonzero(wrong)
        if len(slots):
            slot = int(slots[0])
            found = self._describe(slot)
            self.add(kind, slot * self._entry_size, found, expected, len(slots))


def falls(numbers: npt.NDArray[np.int64], *, or_stays: bool) -> npt.NDArray[np.bool_]:
    """Return bool[n]: whether a number is below (or equal to) that of the entry before."""
    falling = np.zeros(len(numbers), np.bool_)
    compare = np.less_equal if or_stays else np.less
    falling[1:] = compare(numbers[1:], numbers[:-1])
    return falling


def decode_entries(data: bytes, entry_size: int) -> EntryRun:
    """Return the entries in the bytes of a whole file."""
    whole = len(data) - len(data) % entry_size
    used = _used_size(data[:whole], entry_size)
    return EntryRun(data[:used], len(data), whole - used, len(data) - whole)


def read_entries(path: str, entry_size: int) -> EntryRun:
    """Return the entries of a file; reads those in use, not the zeros behind them.

    Raises:
        OSError: the file cannot be read.
    """
    remote = read_whole(path)
    if remote is not None:
        return decode_entries(remote, entry_size)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        whole = size - size % entry_size
        used = _find_used(descriptor, 0, whole // entry_size, entry_size) * entry_size
        used = _past_stray(descriptor, used, whole, entry_size)
        data = _read_fully(descriptor, used)
    finally:
        os.close(descriptor)
    # A broker may cut the file meanwhile.
    data = data[: len(data) - len(data) % entry_size]
    return EntryRun(data, size, whole - len(data), size - whole)


def read_last_entry(path: str, entry_size: int) -> bytes:
    r"""Return the last entry in use, in two to twenty small reads; b"" when there is none.

    Raises:
        OSError: the file cannot be read.
    """
    remote = read_whole(path)
    if remote is not None:
        return decode_entries(remote, entry_size).data[-entry_size:]
    descriptor = os.open(path, os.O_RDONLY)
    try:
        head = os.pread(descriptor, _HEAD_SIZE, 0)
        whole = len(head) - len(head) % entry_size
        used = _used_size(head[:whole], entry_size)
        if used < whole or len(head) < _HEAD_SIZE:
            return head[used - entry_size : used] if used else b""
        count = os.fstat(descriptor).st_size // entry_size
        last = _find_used(descriptor, used // entry_size, count, entry_size) - 1
        entry = os.pread(descriptor, entry_size, last * entry_size)
        # A broker may cut the file meanwhile, but never below the entries in use.
        return entry if len(entry) == entry_size else b""
    finally:
        os.close(descriptor)


def _used_size(data: bytes, entry_size: int) -> int:
    """Return where the last entry that is not all zeros ends."""
    low, high = 0, len(data)  # what counts ends between the two
    if data[-entry_size:].strip(b"\0"):
        return high
    # rstrip looks at a byte a time, comparing at sixteen or more.
    while high - low > _SHORT_SIZE:
        middle = (low + high) // 2
        if data[middle:high] == bytes(high - middle):
            high = middle
        else:
            low = middle
    used = low + len(data[low:high].rstrip(b"\0"))
    return used + -used % entry_size


def _find_used(descriptor: int, low: int, high: int, entry_size: int) -> int:
    """Return how many entries come before the zeros at the end, ``low`` of ``high`` at least."""
    zeros = bytes(entry_size)
    if low < high and os.pread(descriptor, entry_size, (high - 1) * entry_size) != zeros:
        return high
    while low < high:
        middle = (low + high) // 2
        if os.pread(descriptor, entry_size, middle * entry_size) in {zeros, b""}:
            high = middle
        else:
            low = middle + 1
    return low


def _past_stray(descriptor: int, used: int, whole: int, entry_size: int) -> int:
    """Return the end of the last entry in use, also where zeros stand between entries.

    That is no broker's doing. Holes of a sparse file are skipped where the system tells them.
    """
    position = used
    while position < whole:
        position = _next_data(descriptor, position, whole)
        chunk = os.pread(descriptor, min(_CHUNK_SIZE, whole - position), position)
        if not chunk:
            break
        if chunk != bytes(len(chunk)):
            end = position + len(chunk.rstrip(b"\0"))
            used = end + -end % entry_size
        position += len(chunk)
    return used


def _next_data(descriptor: int, position: int, end: int) -> int:
    if _SEEK_DATA is None:
        return position
    try:
        return min(os.lseek(descriptor, position, _SEEK_DATA), end)
    except OSError:  # nothing but a hole up to the end, or not told by this file system
        return end if _is_hole_known(descriptor) else position


def _is_hole_known(descriptor: int) -> bool:
    try:
        os.lseek(descriptor, 0, os.SEEK_HOLE)
    except OSError:
        return False
    return True


def _read_fully(descriptor: int, size: int) -> bytes:
    data = os.pread(descriptor, size, 0)
    while len(data) < size:
        more = os.pread(descriptor, size - len(data), len(data))
        if not more:
            break
        data += more
    return data
