"""Run kernels between inaccessible pages: `KAFKA_WORKBENCH_KERNELS=checked`.

For each call from Python, the arrays move to memory that ends where such a page begins: the first
byte that is read or written after them ends the process, and what is written before them is found
after the call. What a kernel allocates is memory of its own, inaccessible once it is freed.
So an error shows itself where it is made, even with one thread.
"""

import ctypes
import mmap
import threading
from collections import deque
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import binding
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import _nrt_python, rtsys

_LARGEST: Final = 32 << 20  # bytes of arrays that move: copies of larger ones take too long
_PAGE: Final = mmap.PAGESIZE
_FILL: Final = 0xA5  # of the bytes beside the arrays

Bytes = npt.NDArray[np.uint8]

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class MemoryAccessError(AssertionError):
    """A kernel has written where it must not."""


def _forbid(address: int, size: int) -> None:
    """Make some pages inaccessible."""
    if _LIBC.mprotect(address, size, 0):
        raise OSError(ctypes.get_errno(), "mprotect")


def _pages(size: int) -> Bytes:
    """Return whole pages with at least ``size`` bytes, and forbidden pages around them."""
    size += -size % _PAGE
    memory = np.frombuffer(mmap.mmap(-1, size + 2 * _PAGE), np.uint8)
    start = memory.ctypes.data
    _forbid(start, _PAGE)
    _forbid(start + _PAGE + size, _PAGE)
    return memory[_PAGE:-_PAGE]


class _Memory(threading.local):
    """What each thread uses again, by size."""

    def __init__(self) -> None:
        self.free: dict[int, list[Bytes]] = {}
        self.edge = _pages(1)

    def take(self, size: int) -> Bytes:
        size = max(_PAGE, 1 << (size - 1).bit_length())
        free = self.free.get(size)
        return free.pop() if free else _pages(size)

    def give_back(self, memory: Bytes) -> None:
        self.free.setdefault(len(memory), []).append(memory)


_MEMORY: Final = _Memory()


class _Run:
    """One array, or several that overlap, for the time of a call."""

    def __init__(self, arrays: list[npt.NDArray[Any]]) -> None:
        self._start = min(array.ctypes.data for array in arrays)
        end = max(array.ctypes.data + array.nbytes for array in arrays)
        self._original = _bytes_at(self._start, end - self._start)
        self._is_written = any(array.flags.writeable for array in arrays)
        after = -end % max(array.dtype.alignment for array in arrays)
        self._memory = _MEMORY.take(end - self._start + after)
        self._memory.fill(_FILL)
        self._end = len(self._memory) - after
        self._moved = self._memory[self._end - len(self._original) : self._end]
        self._moved[:] = self._original

    def moved(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the array that a kernel gets for one of those."""
        return _like(array, self._moved, array.ctypes.data - self._start)

    def leave(self) -> None:
        """Take back what the kernel has written.

        Raises:
            MemoryAccessError: it has written something else, too.
        """
        before, after = self._memory[: self._end - len(self._moved)], self._memory[self._end :]
        if (before != _FILL).any() or (after != _FILL).any():
            raise MemoryAccessError("a kernel has written beside its arrays")
        if not np.array_equal(self._original, self._moved):
            if not self._is_written:
                raise MemoryAccessError("a kernel has changed an array that is read-only")
            self._original[:] = self._moved
        _MEMORY.give_back(self._memory)


def _bytes_at(address: int, size: int) -> Bytes:
    """Return the bytes at an address."""
    return np.frombuffer((ctypes.c_char * size).from_address(address), np.uint8)


def _like(array: npt.NDArray[Any], memory: Bytes, start: int) -> npt.NDArray[Any]:
    """Return an array of the same type and shape in other memory, also if it is empty."""
    made: npt.NDArray[Any] = np.ndarray(array.shape, array.dtype, memory, start)
    made.setflags(write=array.flags.writeable)
    return made


def _moves(argument: Any) -> bool:
    is_array = isinstance(argument, np.ndarray) and argument.flags.c_contiguous
    return is_array and argument.nbytes <= _LARGEST


def _arrays(argument: Any) -> list[npt.NDArray[Any]]:
    """Return the arrays of an argument that move."""
    if isinstance(argument, tuple):
        return [array for item in argument for array in _arrays(item)]
    return [argument] if _moves(argument) and argument.nbytes else []


def _runs(arrays: list[npt.NDArray[Any]]) -> dict[int, _Run]:
    """Return the memory of arrays, by the address of each."""
    groups: list[list[npt.NDArray[Any]]] = []
    end = 0
    for array in sorted(arrays, key=lambda each: each.ctypes.data):
        if array.ctypes.data >= end:
            groups.append([])
        groups[-1].append(array)
        end = max(end, array.ctypes.data + array.nbytes)
    made = [(group, _Run(group)) for group in groups]
    return {array.ctypes.data: run for group, run in made for array in group}


def _moved(argument: Any, runs: dict[int, _Run]) -> Any:
    """Return what a kernel gets for an argument."""
    if isinstance(argument, tuple):
        items = [_moved(item, runs) for item in argument]
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    if not _moves(argument):
        return argument
    if not argument.nbytes:
        return _like(argument, _MEMORY.edge, _PAGE)
    return runs[argument.ctypes.data].moved(argument)


class _Guarded(CPUDispatcher):  # type: ignore[misc]
    """A compiled kernel whose arrays move for each call."""

    def __call__(self, *arguments: Any) -> Any:
        runs = _runs(_arrays(arguments))
        result = super().__call__(*_moved(arguments, runs))
        for run in set(runs.values()):
            run.leave()
        return result


def guard(compiled: Any) -> None:
    """Let a kernel that was compiled by this process, or will be, run between such pages."""
    compiled.__class__ = _Guarded


# --- what kernels allocate -----------------------------------------------------------------------

_ALLOCATE: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_REALLOCATE: Final = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)
_FREE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_ALLOCATED: Final[dict[int, Bytes]] = {}
_FREED: Final[deque[Bytes]] = deque(maxlen=1024)  # whose addresses are not given out again yet


class _Allocator(ctypes.Structure):
    """numba's `NRT_ExternalAllocator`."""

    _fields_ = (
        ("malloc", _ALLOCATE),
        ("realloc", _REALLOCATE),
        ("free", _FREE),
        ("opaque", ctypes.c_void_p),
    )


@_ALLOCATE  # type: ignore[untyped-decorator]
def _allocate(size: int, _opaque: int) -> int:
    memory = _pages(size)
    _ALLOCATED[memory.ctypes.data] = memory
    return int(memory.ctypes.data)


@_REALLOCATE  # type: ignore[untyped-decorator]
def _reallocate(_address: int, _size: int, _opaque: int) -> int:
    return 0  # there is no memory: arrays do not grow


@_FREE  # type: ignore[untyped-decorator]
def _free(address: int, _opaque: int) -> None:
    memory = _ALLOCATED.pop(address)
    _forbid(address, len(memory))
    _FREED.append(memory)


_ALLOCATOR: Final = _Allocator(_allocate, _reallocate, _free, None)
_MAKE: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p)(
    _nrt_python.c_helpers["MemInfo_alloc_safe_aligned_external"]
)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)  # type: ignore[untyped-decorator]
def _make(size: int, alignment: int) -> Any:
    return _MAKE(size, alignment, ctypes.addressof(_ALLOCATOR))


def guard_allocations() -> None:
    """Let what kernels allocate from now on be pages that are forbidden once they are freed."""
    rtsys.initialize(cpu_target.target_context)
    for name in ("NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned"):
        binding.add_symbol(name, ctypes.cast(_make, ctypes.c_void_p).value)
