"""Reusable memory: fresh pages cost about twenty times as much as copying into warm ones.

A slab is lent as an array view and returns by itself when nothing refers to the view any more, so a
caller can keep results as long as needed, and a stream that drops its results reuses the same
memory.
"""

import mmap
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SMALLEST_SLAB: Final = 256
_PAGE: Final = 4096  # bytes
_LARGE: Final = 1 << 16  # bytes from which a slab starts with a page of memory
LARGEST_SLAB: Final = 16 << 20  # bytes; what is larger is not watched: one huge batch needs it
_SHARED: Final = 1 << 20  # bytes up to which the arrays of a chunk share a slab
_CACHE_LINE: Final = 64  # bytes
_MOST_SLABS: Final = 24  # of one size that are watched: two chunks of a stream take fewer
_MOST_LENT: Final = 16  # pools that wait to be lent
_LENT_MEMORY: Final = 32 << 20  # bytes that each of them keeps


class BufferPool:
    """Slabs of memory in powers of two. Not thread-safe: use one pool per reading thread.

    Large slabs start with a page of memory. Some CPUs (AMD Zen 3) read a file three times slower to
    a position up to 31 bytes after the start of a page, and that is where allocations begin.

    When more slabs of a size are in use than are watched, as when every batch of a scan is kept,
    the oldest is left to its holder and does not come back.
    """

    def __init__(self) -> None:
        self._slabs: dict[int, list[npt.NDArray[np.uint8]]] = {}

    def take(self, dtype: Any, count: int) -> npt.NDArray[Any]:
        """Return an array of at least ``count`` items, its contents undefined.

        The array may be longer than requested: as long as its slab. Above 16 MiB its memory returns
        to the system when nothing refers to it any more.
        """
        kind = np.dtype(dtype)
        wanted = max(count * kind.itemsize, 1)
        if wanted > LARGEST_SLAB:
            return own_pages(wanted + -wanted % kind.itemsize).view(kind)
        size = max(_SMALLEST_SLAB, 1 << (wanted - 1).bit_length())
        slabs = self._slabs.setdefault(size, [])
        slab = _unused(slabs, _FREE)
        if slab is not None:
            return _usable(slab, size).view(kind)
        if len(slabs) == _MOST_SLABS:
            del slabs[0]
        slab = np.empty(size + _PAGE if size >= _LARGE else size, np.uint8)
        slabs.append(slab)
        return _usable(slab, size).view(kind)

    def take_all(self, wanted: Sequence[tuple[np.dtype[Any], int]]) -> list[npt.NDArray[Any]]:
        """Return an array for each (dtype, count), of just so many items, its contents undefined.

        Small ones share a slab, which comes back when nothing refers to any of them: what costs
        most of them is to take them.
        """
        size, starts = 0, []
        for kind, count in wanted:
            starts.append(size)
            size += kind.itemsize * count + _CACHE_LINE - 1 & -_CACHE_LINE
        if size > _SHARED:
            return [self.take(kind, count)[:count] for kind, count in wanted]
        slab = self.take(np.uint8, size)
        return [
            slab[start : start + kind.itemsize * count].view(kind)
            for start, (kind, count) in zip(starts, wanted, strict=True)
        ]

    @property
    def size(self) -> int:
        """Bytes of the slabs that are watched, in use or not."""
        return sum(size * len(slabs) for size, slabs in self._slabs.items())

    def trim(self, limit: int) -> None:
        """Give memory back to the system until the slabs take at most ``limit`` bytes."""
        for size in sorted(self._slabs, reverse=True):
            if self.size <= limit:
                break
            del self._slabs[size]


def _unused(slabs: list[npt.NDArray[np.uint8]], references: int) -> npt.NDArray[np.uint8] | None:
    """Return the first slab that has no more references than one that only the pool holds."""
    for slab in slabs:
        if sys.getrefcount(slab) <= references:
            return slab
    return None


def _references_of_unused() -> int:
    """Return how many references `_unused` sees of a slab that only the pool holds.

    Versions of Python differ: a loop variable need not count, and a wrong number would lend memory
    that is in use.
    """
    slabs = [np.empty(1, np.uint8)]
    return next(count for count in range(1, 9) if _unused(slabs, count) is not None)


_FREE: Final = _references_of_unused()


def own_pages(size: int) -> npt.NDArray[np.uint8]:
    """Return zeros in pages of their own, which go back to the system with the last reference.

    The allocator of C would keep them for its next use, and other allocations between them.
    """
    if os.name == "posix":
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    else:
        pages = mmap.mmap(-1, size)
    return np.frombuffer(pages, np.uint8)


def _usable(slab: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """Return the ``size`` bytes of a slab that are given out."""
    start = -slab.ctypes.data % _PAGE if len(slab) > size else 0
    return slab[start : start + size]


class _Pools(threading.local):
    """The pool of each thread."""

    def __init__(self) -> None:
        self.pool = BufferPool()


_POOLS: Final = _Pools()


def thread_pool() -> BufferPool:
    """Return this thread's pool: one scan after the other runs in the same memory."""
    return _POOLS.pool


def use_pool(pool: BufferPool) -> None:
    """Make a pool this thread's: for a thread that works for a short time, with a `lent_pool`."""
    _POOLS.pool = pool


_TO_LEND: Final[list[BufferPool]] = []


@contextmanager
def lent_pool() -> Iterator[BufferPool]:
    """Lend a pool that was lent before, so that its memory is warm; no other caller has it then."""
    try:
        pool = _TO_LEND.pop()
    except IndexError:
        pool = BufferPool()
    try:
        yield pool
    finally:
        pool.trim(_LENT_MEMORY)
        if len(_TO_LEND) < _MOST_LENT:
            _TO_LEND.append(pool)
