"""Memory that is used again: fresh pages cost about twenty times what copying into warm ones does.

A slab goes out as an array view and comes back by itself when nobody holds the view any more, so
results can be kept as long as one likes, and a stream that drops its results runs in the same
memory.
"""

import sys
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SMALLEST_SLAB: Final = 256
_FREE: Final = 3  # references to a slab that only the pool holds: list, loop variable, getrefcount


class BufferPool:
    """Slabs of memory in powers of two. Not thread-safe: one pool a reading thread."""

    def __init__(self) -> None:
        self._slabs: dict[int, list[npt.NDArray[np.uint8]]] = {}

    def take(self, dtype: Any, count: int) -> npt.NDArray[Any]:
        """Return an array of at least ``count`` items, its contents undefined.

        The array may be longer than asked for: as long as its slab.
        """
        kind = np.dtype(dtype)
        size = max(_SMALLEST_SLAB, 1 << (max(count * kind.itemsize, 1) - 1).bit_length())
        slabs = self._slabs.setdefault(size, [])
        for slab in slabs:
            if sys.getrefcount(slab) == _FREE:
                return slab.view(kind)
        slab = np.empty(size, np.uint8)
        slabs.append(slab)
        return slab.view(kind)

    @property
    def size(self) -> int:
        """Bytes of all slabs, in use or not."""
        return sum(size * len(slabs) for size, slabs in self._slabs.items())
