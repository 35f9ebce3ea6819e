"""What files are read from: this machine, and what was opened beside it, such as a bucket.

A path below a prefix that was opened, for example ``s3://bucket/logs``, is read through what was
opened there; every other path is the operating system's. Nothing else in the workbench opens files
to read.

Files are never mapped: if a broker shortens a mapped file, its reader is killed; a read only
returns fewer bytes. They are opened without waiting, and only if they are regular files: a FIFO
with the name of a log would block its reader forever, and opening a device may change it.
"""

import errno
import os
import pickle
import re
import stat
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from workbench.errors import LinkError, NotRegularFileError

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
URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class RemoteEntry(NamedTuple):
    """What a remote file system says about a file or folder.

    Attributes:
        name: the name in its folder.
        is_folder: whether it is a folder, not a file.
        size: bytes.
        modified_ms: when it was last written, ms since the epoch.
        refusal: what it is, if it is not read: "a link"; None if it is.
    """

    name: str
    is_folder: bool
    size: int
    modified_ms: int
    refusal: str | None = None


class RemoteFile(Protocol):
    """An open file."""

    def size(self) -> int:
        """Return how many bytes it has."""

    def version(self) -> int:
        """Return a number that differs between versions of the file."""

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end."""

    def close(self) -> None:
        """Close it."""


class RemoteFiles(Protocol):
    """A file system; paths begin with the prefix that it was opened for. It can be pickled."""

    def open(self, path: str) -> RemoteFile:
        """Open a file; FileNotFoundError when there is none."""

    def entry(self, path: str) -> RemoteEntry | None:
        """Return what is at a path; None when there is nothing."""

    def entries(self, path: str) -> list[RemoteEntry]:
        """Return what is in a folder."""

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Return what is in a folder and in every folder below it, by the folders' paths.

        Every folder has its key, an empty one too. Few requests: S3 is asked once per 1,000 files.
        """


def is_uri(path: str) -> bool:
    """Return whether a path names a place outside this machine: ``s3://bucket/logs``."""
    return "://" in path


def looks_like_uri(path: str) -> bool:
    """Return whether a path is a URI, or what `pathlib.Path` makes of one: ``s3:/bucket/logs``."""
    return URI.match(path) is not None


def absolute(path: str) -> str:
    """Return a path that does not depend on the working directory; a URI as it is."""
    return path if "://" in path else os.path.abspath(path)


def real(path: str) -> str:
    """Return an absolute path without links; a URI as it is."""
    return path if is_uri(path) else os.path.realpath(path)


class Files:
    """What reads paths: on this machine alone, unless a subclass says otherwise.

    An opened directory holds one, and passes it on to its partitions, segments and files. Threads
    may share it, and it can be pickled.
    """

    def at(self, path: str) -> RemoteFiles | None:
        """Return what a path is read through; None for the operating system.

        Raises:
            FileNotFoundError: the path is a URI, and nothing was opened there.
        """
        if "://" in path:
            raise FileNotFoundError(f"{path}: no file system is opened for this prefix")
        return None

    def is_file(self, path: str) -> bool:
        """Return whether there is a file at a path."""
        files = self.at(path)
        if files is None:
            return os.path.isfile(path)
        entry = files.entry(path)
        return entry is not None and not entry.is_folder

    def size_of(self, path: str) -> int:
        """Return the size of a file, in bytes.

        Raises:
            OSError: there is no such file.
        """
        files = self.at(path)
        if files is None:
            return os.path.getsize(path)
        file = files.open(path)
        try:
            return file.size()
        finally:
            file.close()

    def read_remote(self, path: str, limit: int) -> tuple[bytes, int] | None:
        """Return the first ``limit`` bytes of a remote file, and its size; None of another file.

        Raises:
            OSError: the file cannot be read.
        """
        files = self.at(path)
        if files is None:
            return None
        file = files.open(path)
        try:
            size = file.size()
            return file.read_at(min(size, limit), 0), size
        finally:
            file.close()


THIS_MACHINE: Final = Files()


class MountedFiles(Files):
    """What reads paths on this machine, and below some prefixes through other file systems.

    Those are closed when nothing holds this any more. In another process they are opened again,
    once for all that is sent there while one of it is in use.
    """

    def __init__(self, mounts: Mapping[str, RemoteFiles], token: bytes | None = None) -> None:
        """Take what was opened.

        Args:
            mounts: paths that are a prefix, or begin with it and a slash → what they are read
                through.
            token: what distinguishes this from others in every process; None: it is new.
        """
        self.mounts: Final = dict(mounts)
        self._token = os.urandom(16) if token is None else token
        _IN_USE[self._token] = self

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._token, pickle.dumps(self.mounts))

    def at(self, path: str) -> RemoteFiles | None:
        """Return what a path is read through; None for the operating system.

        Raises:
            FileNotFoundError: the path is a URI, and nothing was opened there.
        """
        for prefix, files in self.mounts.items():
            if path.startswith(prefix) and (len(path) == len(prefix) or path[len(prefix)] == "/"):
                return files
        return super().at(path)


_IN_USE: Final[WeakValueDictionary[bytes, MountedFiles]] = WeakValueDictionary()
"""By their tokens, so that what is sent in several pickles is opened once."""
_RECEIVING: Final = threading.RLock()  # a tier's files hold those of its bucket


def _received(token: bytes, mounts: bytes) -> MountedFiles:
    """Return what was pickled; it is opened if nothing here holds it."""
    with _RECEIVING:
        found = _IN_USE.get(token)
        if found is None:
            found = MountedFiles(pickle.loads(mounts), token)  # noqa: S301 - part of a pickle
        return found


def with_mount(fs: Files, prefix: str, files: RemoteFiles) -> MountedFiles:
    """Return the same files, with ``files`` below a prefix."""
    return MountedFiles({**mounts_of(fs), prefix: files})


def mounts_of(fs: Files) -> Mapping[str, RemoteFiles]:
    """Return what was opened outside of this machine, by prefix."""
    return fs.mounts if isinstance(fs, MountedFiles) else {}


def read_small(path: str, most: int) -> bytes:
    """Return the bytes of a regular file of this machine that a user names, without waiting.

    Args:
        path: the file; links are followed.
        most: bytes that it may have.

    Raises:
        NotRegularFileError: a folder, FIFO, socket or device has this name.
        OSError: the file cannot be read, or is larger.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes", path)
    return data


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


def link_text(path: str) -> str:
    """Say where a symbolic link leads: ``a link to /etc``."""
    return f"a link to {os.readlink(path)}"


def follow_link(path: str, within: str) -> os.stat_result:
    """Return the status of a symbolic link's target, if that is inside a folder.

    Args:
        path: the link.
        within: the folder; its own path may contain links.

    Raises:
        LinkError: it leads out of the folder, nowhere, or in a circle.
        OSError: the operating system cannot resolve it.
    """
    link = link_text(path)
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
