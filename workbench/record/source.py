"""One file opened for reading at any position, never mapped, never written.

A mapped file that a broker shortens kills the process that reads it; a read only comes back short.
"""

import os
from types import TracebackType
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from workbench.record.remote import RemoteFile, files_at

_STEP: Final = 1 << 20  # bytes


class FileSource:
    """A file opened read-only; `size` is asked of the file system each time.

    Close it, or use it in a ``with`` statement. Threads may share one: no position is kept.

    Raises:
        OSError: the file cannot be opened.
    """

    _remote: RemoteFile | None = None  # also of the engine's files, which are always here

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = -1
        remote = files_at(path)
        self._remote = None if remote is None else remote.open(path)
        if self._remote is None:
            self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    @property
    def size(self) -> int:
        """Size of the file now, in bytes."""
        return self.version[0]

    @property
    def version(self) -> tuple[int, int]:
        """Size and time of the last change, in ns: another version of the file has another."""
        if self._remote is not None:
            return self._remote.size(), 0
        status = os.fstat(self.descriptor)
        return status.st_size, status.st_mtime_ns

    def read_into(self, buffer: npt.NDArray[np.uint8], position: int) -> int:
        """Fill ``buffer``, uint8[n], from ``position``; return how many bytes there were."""
        view = memoryview(buffer)
        if self._remote is not None:
            data = self._remote.read_at(len(view), position) if position < self.size else b""
            view[: len(data)] = data
            return len(data)
        done = 0
        while done < len(view):
            if hasattr(os, "preadv"):
                got = os.preadv(self.descriptor, [view[done:]], position + done)
            else:  # Windows: one reader at a time moves the descriptor's position
                os.lseek(self.descriptor, position + done, os.SEEK_SET)
                data = os.read(self.descriptor, len(view) - done)
                got = len(data)
                view[done : done + got] = data
            if got == 0:
                break
            done += got
        return done

    def read(self, position: int, size: int) -> npt.NDArray[np.uint8]:
        """Return uint8[m]: the ``size`` bytes from ``position``, fewer at the end of the file."""
        buffer = np.empty(max(0, min(size, self.size - position)), np.uint8)
        return buffer[: self.read_into(buffer, position)]

    def is_zero(self, start: int, end: int) -> bool:
        """Return whether every byte of [start, end) that the file has is zero."""
        steps = range(start, end, _STEP)
        return not any(self.read(at, min(_STEP, end - at)).any() for at in steps)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._remote is not None:
            self._remote.close()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()
