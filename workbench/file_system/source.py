"""Open files for reading at any position; nothing else in the workbench opens files to read.

Files are never mapped: if a broker shortens a mapped file, its reader is killed; a read only
returns fewer bytes. They are opened without waiting, and only if they are regular files: a FIFO
with the name of a log would block its reader forever, and opening a device may change it.
"""

import errno
import os
import stat
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from workbench.errors import LinkError, NotRegularFileError
from workbench.file_system.mounts import THIS_MACHINE, Files, RemoteFile

READ_ONLY: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0)

_STEP: Final = 1 << 20  # bytes
_SEEK_DATA: Final = getattr(os, "SEEK_DATA", None)
_NOT_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def kind_of_mode(mode: int) -> str:
    """Return the kind of a file from its `st_mode`, for messages: "a FIFO"."""
    return next((kind for is_one, kind in _KINDS if is_one(mode)), "an unknown kind of file")


def open_regular(path: str, flags: int = READ_ONLY) -> int:
    """Open a regular file of this machine without waiting; return its descriptor.

    Every file of a log directory is opened here. The descriptor is not inherited. Only a regular
    file is opened; one that is replaced between check and open is closed again.

    Args:
        path: the file; links are followed.
        flags: see `os.open`; with ``O_CREAT`` a missing file is created.

    Raises:
        NotRegularFileError: a folder, FIFO, socket or device has this name.
        OSError: the file cannot be opened.
    """
    try:
        _require_regular(path, os.stat(path))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | _NOT_WAITING, 0o644)
    try:
        _require_regular(path, os.fstat(descriptor))
    except NotRegularFileError:
        os.close(descriptor)
        raise
    return descriptor


def follow_link(path: str, within: str) -> os.stat_result:
    """Return the status of a symbolic link's target, if that is inside a folder.

    Args:
        path: the link.
        within: the folder; its own path may contain links.

    Raises:
        LinkError: it leads out of the folder, nowhere, or in a circle.
        OSError: the operating system cannot resolve it.
    """
    link = f"a link to {os.readlink(path)}"
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise LinkError(path, f"{link}, which does not exist") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise LinkError(path, f"{link}, a circle of links") from None
    inside = os.path.join(os.path.realpath(within), "")
    if not os.path.join(os.path.realpath(path), "").startswith(inside):
        raise LinkError(path, f"{link}, outside of the directory")
    return found


def _require_regular(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularFileError(path, kind_of_mode(found.st_mode))


def next_data(descriptor: int, position: int, end: int) -> int:
    """Return the first position in [position, end] that is not in a hole of a sparse file.

    A hole reads as zeros. ``position`` itself if the file system does not report holes.
    """
    if _SEEK_DATA is None:
        return position
    try:
        return min(os.lseek(descriptor, position, _SEEK_DATA), end)
    except OSError:  # nothing but a hole up to the end, or the file system reports no holes
        return end if _is_hole_known(descriptor) else position


def _is_hole_known(descriptor: int) -> bool:
    try:
        os.lseek(descriptor, 0, os.SEEK_HOLE)
    except OSError:
        return False
    return True


class FileSource:
    """A file opened read-only; `size` asks the file system each time.

    Close it, or use it in a ``with`` statement. Threads may share one: no position is kept.

    Args:
        path: the file.
        fs: what reads it.

    Raises:
        NotRegularFileError: a folder, FIFO, socket or device has this name.
        OSError: the file cannot be opened.
    """

    _remote: RemoteFile | None = None  # never set for the engine's files, which are local

    def __init__(self, path: str, fs: Files = THIS_MACHINE) -> None:
        self.path = path
        self.descriptor = -1
        remote = fs.at(path)
        self._remote = None if remote is None else remote.open(path)
        if self._remote is None:
            self.descriptor = open_regular(path)

    @property
    def size(self) -> int:
        """Size of the file now, in bytes."""
        return self.version[0]

    @property
    def version(self) -> tuple[int, int]:
        """Size and time of the last change, in ns: they differ between versions of the file."""
        if self._remote is not None:
            return self._remote.size(), self._remote.version()
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
        at = self.past_hole(start, end)
        while at < end:
            data = self.read(at, min(_STEP, end - at))
            if not len(data):
                break
            if data.any():
                return False
            at = self.past_hole(at + len(data), end)
        return True

    def past_hole(self, position: int, end: int) -> int:
        """Return the first position in [position, end] that is not known to be a hole's zeros."""
        if self.descriptor < 0 or position >= end:
            return position
        return next_data(self.descriptor, position, end)

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
