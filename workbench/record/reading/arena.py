"""A buffer that the batches of one chunk are decompressed into, back to back.

Fresh memory costs far more than copying into memory that was used before, so an arena is made once,
cleared for each chunk, and keeps what it grew to, unless one huge batch made it grow.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import WorkbenchError
from workbench.record.buffers import LARGEST_SLAB, own_pages
from workbench.record.limits import VARIABLE

START_CAPACITY: Final = 2 << 20  # bytes; a chunk of small batches fits without growing


class DecompressionError(WorkbenchError, ValueError):
    """Compressed bytes that their codec cannot read.

    The message says what is wrong; the caller adds the file and the position.
    """


class TooLargeError(DecompressionError):
    """Compressed bytes that expand beyond the limit; they may be sound."""


class Arena:
    """A growing run of bytes, filled from the front.

    Growing moves the bytes: `data` and `view` are then new objects that begin with the same bytes,
    and views taken before keep the old ones. So take views only after the chunk is filled.
    Not thread-safe.

    Attributes:
        data: uint8[capacity]; the first `used` bytes are filled.
        view: the same bytes, writable, for codecs that fill a buffer.
        used: bytes filled.
        start: position where the batch being decompressed begins.
        limit: the position beyond which the batch being decompressed must not grow.
    """

    __slots__ = ("data", "limit", "start", "used", "view")

    def __init__(self, capacity: int = START_CAPACITY) -> None:
        self.data: npt.NDArray[np.uint8] = np.empty(max(capacity, 1), np.uint8)
        self.view = memoryview(self.data)
        self.used = 0
        self.start = 0
        self.limit = 0

    def clear(self) -> None:
        """Forget the bytes and keep the memory, unless it is more than usual batches need."""
        self.used = 0
        if len(self.data) > LARGEST_SLAB:
            self.data = np.empty(START_CAPACITY, np.uint8)
            self.view = memoryview(self.data)

    def reserve(self, size: int) -> None:
        """Make room for ``size`` bytes after the used ones; at least double if it must grow."""
        needed = self.used + size
        if needed > len(self.data):
            capacity = max(needed, 2 * len(self.data))
            # C's allocator would keep each size on the way to a huge batch, again for the next one.
            is_large = capacity > START_CAPACITY
            grown = own_pages(capacity) if is_large else np.empty(capacity, np.uint8)
            grown[: self.used] = self.data[: self.used]
            self.data = grown
            self.view = memoryview(grown)

    def append(self, data: bytes | memoryview) -> None:
        """Append bytes of the batch that is being decompressed.

        Raises:
            TooLargeError: the batch would grow beyond the limit.
        """
        end = self.used + len(data)
        if end > self.limit:
            raise self.limit_error()
        if end > len(self.data):
            self.reserve(len(data))
        self.view[self.used : end] = data
        self.used = end

    def limit_error(self) -> TooLargeError:
        """Return the error for a batch that expands too far."""
        limit = self.limit - self.start
        return TooLargeError(
            f"the records decompress to more than {limit} bytes; {VARIABLE} raises this limit"
        )
