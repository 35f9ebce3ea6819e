"""Read files that are a run of entries of one size, perhaps with zeros after it: all indexes.

A broker allocates the offset and time index of the active segment in full, 10 MB of zeros each, and
trims them when it rolls the segment or shuts down cleanly. After a crash, or while it runs, the
entries in use end at the last one that is not all zeros. Finding that position takes a few reads of
one entry each: a directory of 10,000 partitions would have 200 GB of zeros.

Kafka: AbstractIndex (4.0)
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from workbench.errors import CorruptIndexError, OffsetOverflowError
from workbench.file_system.source import THIS_MACHINE, Files, FileSource, next_data, open_regular
from workbench.files.reading import MIB, FileProblem, ProblemKind, ProblemList, raise_problem
from workbench.layout.integers import INT32_MAX

MAX_RELATIVE_OFFSET: Final = INT32_MAX

_CHUNK_SIZE: Final = 256 * 1024
_HEAD_SIZE: Final = 4096  # bytes that are read first to find the last entry: mostly enough
_SHORT_SIZE: Final = 64
_MOST_REMOTE: Final = 24 * MIB  # bytes read of a file outside this machine


class EntryRun(NamedTuple):
    """The entries of a file.

    Attributes:
        data: the entries in use, whole ones only.
        file_size: the file's size in bytes.
        slack: bytes of zeros after the entries in use.
        unread: bytes of entries in use after `data`: only the beginning of a huge file is read.
        cut_size: bytes of an incomplete last entry; 0 in a sound file.
    """

    data: bytes
    file_size: int
    slack: int
    cut_size: int
    unread: int = 0


class IndexFile:
    """The entries of one index file, and what is wrong with them; `len()` is their number.

    Only the first `most_bytes` of entries are read: see `problems`.

    Attributes:
        problems: see `reading`; always empty after a strict read.
    """

    __slots__ = ()
    entry: ClassVar[np.dtype[Any]]
    table: ClassVar[str]
    most_bytes: ClassVar[int] = 24 * MIB  # a broker allocates 10 MiB by default
    problems: tuple[FileProblem, ...]

    if not TYPE_CHECKING:  # mypy would believe that every attribute exists

        def __getattr__(self, name: str) -> NoReturn:
            table = type(self).table
            hint = f"; logs.inspect.{table}() is an Arrow table" if name.startswith("to_") else ""
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}{hint}")

    @classmethod
    def decode(
        cls, data: bytes, base_offset: int, path: str | None = None, *, strict: bool = True
    ) -> Self:
        """Return the index in the bytes of a whole file.

        Args:
            data: the whole file.
            base_offset: the segment's base offset.
            path: named in errors.
            strict: raise the first problem instead of keeping it.

        Raises:
            CorruptIndexError: the bytes break the format.
            UnsupportedFormatError: an entry's version is unknown.
        """
        return cls._checked(
            decode_entries(data, cls.entry.itemsize, cls.most_bytes), base_offset, path, strict
        )

    @classmethod
    def read(
        cls, path: str, base_offset: int, *, strict: bool = True, fs: Files = THIS_MACHINE
    ) -> Self:
        """Return the index of a file; the zeros of an allocated one are not read. See `decode`.

        ``fs`` is what reads it.

        Raises:
            OSError: the file cannot be read.
        """
        return cls._checked(
            read_entries(path, cls.entry.itemsize, cls.most_bytes, fs), base_offset, path, strict
        )

    @classmethod
    def _checked(cls, run: EntryRun, base_offset: int, path: str | None, strict: bool) -> Self:  # noqa: FBT001
        index = cls._of_run(run, base_offset)
        if strict and index.problems:
            raise_problem(CorruptIndexError, path, index.problems[0])
        return index

    @classmethod
    def _of_run(cls, run: EntryRun, base_offset: int) -> Self:
        """Return the index with its problems. Never raises, whatever the bytes."""
        raise NotImplementedError

    def encode(self) -> bytes:
        """Return the bytes of the entries in use, as in the trimmed file."""
        raise NotImplementedError


def relative_offset(offset: int, base_offset: int) -> int:
    """Return an offset as an index entry holds it.

    Raises:
        OffsetOverflowError: ``offset`` is before the segment or too far after its start.

    Kafka: AbstractIndex.relativeOffset (4.0)
    """
    if not 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET:
        raise OffsetOverflowError(offset, base_offset)
    return offset - base_offset


class EntryProblems(ProblemList):
    """Collect what is wrong with the entries of a run, beginning with an incomplete last one.

    Args:
        run: the run of entries.
        entry_size: in bytes.
        describe: slot of an entry -> the entry as text.
    """

    def __init__(self, run: EntryRun, entry_size: int, describe: Callable[[int], str]) -> None:
        super().__init__()
        self._entry_size = entry_size
        self._describe = describe
        if run.cut_size:
            position = run.file_size - run.cut_size
            expected = f"whole entries of {entry_size} bytes"
            self.add("unfinished entry", position, f"{run.cut_size} bytes", expected)
        if run.unread:
            read = len(run.data)
            found = f"{read + run.unread} bytes of entries"
            self.add("too large", read, found, f"at most {read}; later entries were not read")

    def add_where(self, kind: ProblemKind, wrong: npt.NDArray[np.bool_], expected: str) -> None:
        """Note a problem at the first entry that is ``wrong`` (bool[n]), and how many there are."""
        count = int(np.count_nonzero(wrong))
        if count:
            slot = int(wrong.argmax())
            self.add(kind, slot * self._entry_size, self._describe(slot), expected, count)


def falls(numbers: npt.NDArray[np.int64], *, or_stays: bool) -> npt.NDArray[np.bool_]:
    """Return bool[n]: whether a number is below (or equal to) the previous entry's."""
    falling = np.zeros(len(numbers), np.bool_)
    compare = np.less_equal if or_stays else np.less
    falling[1:] = compare(numbers[1:], numbers[:-1])
    return falling


def decode_entries(data: bytes, entry_size: int, most: int = sys.maxsize) -> EntryRun:
    """Return the entries in the bytes of a whole file, at most the first ``most`` bytes of them."""
    whole = len(data) - len(data) % entry_size
    used = _used_size(data[:whole], entry_size)
    read = min(used, most - most % entry_size)
    return EntryRun(data[:read], len(data), whole - used, len(data) - whole, used - read)


def read_entries(
    path: str, entry_size: int, most: int = sys.maxsize, fs: Files = THIS_MACHINE
) -> EntryRun:
    """Return the entries of a file; reads those in use, not the zeros after them.

    Args:
        path: the file.
        entry_size: in bytes.
        most: bytes of entries to read at most.
        fs: what reads the file.

    Raises:
        OSError: the file cannot be read.
    """
    remote = fs.read_remote(path, min(most, _MOST_REMOTE))
    if remote is not None:
        return _entries_of_remote(*remote, entry_size)
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        whole = size - size % entry_size
        used = _find_used(descriptor, 0, whole // entry_size, entry_size) * entry_size
        used = _past_stray(descriptor, used, whole, entry_size)
        wanted = min(used, most - most % entry_size)
        data = _read_fully(descriptor, wanted)
    finally:
        os.close(descriptor)
    # A broker may truncate the file meanwhile.
    data = data[: len(data) - len(data) % entry_size]
    unread = used - wanted if len(data) == wanted else 0
    return EntryRun(data, size, whole - len(data) - unread, size - whole, unread)


def _entries_of_remote(data: bytes, size: int, entry_size: int) -> EntryRun:
    """Return the entries in the first bytes of a file of ``size`` bytes.

    If they do not end in zeros, all that follows counts as entries.
    """
    run = decode_entries(data, entry_size)
    if len(data) == size:
        return run
    whole = size - size % entry_size
    unread = 0 if run.slack else whole - len(run.data)
    return EntryRun(run.data, size, whole - len(run.data) - unread, size - whole, unread)


def read_last_entry(path: str, entry_size: int, fs: Files = THIS_MACHINE) -> bytes:
    r"""Return the last entry in use, in two to twenty small reads; b"" when there is none.

    Of a remote file only the last entry is read, unless that is zeros.

    Raises:
        OSError: the file cannot be read.
    """
    if fs.at(path) is not None:
        with FileSource(path, fs) as source:
            at = source.size // entry_size * entry_size - entry_size
            entry = source.read(at, entry_size).tobytes() if at >= 0 else b""
        if len(entry) == entry_size and entry.strip(b"\0"):
            return entry
    remote = fs.read_remote(path, _MOST_REMOTE)
    if remote is not None:
        run = _entries_of_remote(*remote, entry_size)
        return b"" if run.unread else run.data[-entry_size:]
    descriptor = open_regular(path)
    try:
        head = os.pread(descriptor, _HEAD_SIZE, 0)
        whole = len(head) - len(head) % entry_size
        used = _used_size(head[:whole], entry_size)
        if used < whole or len(head) < _HEAD_SIZE:
            return head[used - entry_size : used] if used else b""
        count = os.fstat(descriptor).st_size // entry_size
        last = _find_used(descriptor, used // entry_size, count, entry_size) - 1
        entry = os.pread(descriptor, entry_size, last * entry_size)
        # A broker may trim the file meanwhile, but never below the entries in use.
        return entry if len(entry) == entry_size else b""
    finally:
        os.close(descriptor)


def _used_size(data: bytes, entry_size: int) -> int:
    """Return where the last entry that is not all zeros ends."""
    low, high = 0, len(data)  # the entries in use end between the two
    if data[-entry_size:].strip(b"\0"):
        return high
    # rstrip checks one byte at a time, a comparison sixteen or more.
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
    """Return the end of the last entry in use, even if zeros are between entries.

    No broker writes that. Holes of a sparse file are skipped where the system reports them.
    """
    position = used
    while position < whole:
        position = next_data(descriptor, position, whole)
        chunk = os.pread(descriptor, min(_CHUNK_SIZE, whole - position), position)
        if not chunk:
            break
        if chunk != bytes(len(chunk)):
            end = position + len(chunk.rstrip(b"\0"))
            used = end + -end % entry_size
        position += len(chunk)
    return used


def _read_fully(descriptor: int, size: int) -> bytes:
    data = os.pread(descriptor, size, 0)
    while len(data) < size:
        more = os.pread(descriptor, size - len(data), len(data))
        if not more:
            break
        data += more
    return data
