"""Files and folders of this machine, for what writes.

The engine never calls `os` itself but a `FileSystem`. This one changes the disk; others keep the
changes in memory (`dry`), record them, or fail, which is how crashes are tested.

Errors are the operating system's (OSError); callers add which log it was.
"""

import errno
import functools
import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.errors import LogDirectoryError, NotRegularFileError
from workbench.file_system.source import (
    READ_ONLY,
    Files,
    FileSource,
    kind_of_mode,
    looks_like_uri,
    open_regular,
)

Data = bytes | bytearray | memoryview | npt.NDArray[np.uint8]

TEMPORARY: Final = ".tmp"  # suffix of a file's name while it is rewritten

_NANOSECONDS: Final = 1_000_000  # in a ms
_READ_WRITE: Final = os.O_RDWR | getattr(os, "O_BINARY", 0)
_LOCKED: Final[set[tuple[int, int]]] = set()  # device and number of the lock files held here
_LOCKING: Final = threading.Lock()
_PASSING: Final = frozenset({errno.ENOMEM, errno.EMFILE, errno.ENFILE})
_SPARES: Final = 8  # descriptors kept by a process that writes; so many threads change logs at once

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def is_passing(error: OSError) -> bool:
    """Return whether a process lacks memory or descriptors for a while: no disk is to blame."""
    return error.errno in _PASSING


class _SpareDescriptors:
    """Descriptors that are given back when a process has no others.

    So a change that has begun ends, although clients and other logs have taken all others.
    Threads may share them.
    """

    def __init__(self) -> None:
        self._kept: list[int] = []

    def keep(self) -> None:
        """Take as many as there should be, or as can be had."""
        while len(self._kept) < _SPARES:
            try:
                self._kept.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                return

    def give_back(self) -> bool:
        """Close one; return whether there was one."""
        try:
            os.close(self._kept.pop())
        except IndexError:
            return False
        return True


_SPARE: Final = _SpareDescriptors()


def _even_if_none_is_left(opens: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Let what opens a file use a spare descriptor."""

    @functools.wraps(opens)
    def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        while True:
            try:
                return opens(*args, **kwargs)
            except OSError as error:
                if error.errno not in {errno.EMFILE, errno.ENFILE} or not _SPARE.give_back():
                    raise

    return call


class FolderEntry(NamedTuple):
    """A name in a folder."""

    name: str
    is_directory: bool


class Stat(NamedTuple):
    """Size in bytes and time of the last change in ms since the epoch."""

    size: int
    modified_ms: int


_open_for_use: Final = _even_if_none_is_left(open_regular)


class _Descriptor(int):
    """The operating system's number of an open file, which is closed with the last reference.

    So a thread that reads never gets the bytes of another file, even if another thread deletes and
    closes the file meanwhile.
    """

    __slots__ = ()

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self)


class File(FileSource):
    """A file that can be written at any position; opened when it is first used.

    Threads may share one. A file that was closed opens again when it is used again; a thread that
    renames it must hold `naming` until `path` is the new name, so that no thread opens the old one.

    Attributes:
        path: the file.
        naming: held while the file is opened.

    Args:
        path: the file.
        descriptor: the file's descriptor, if it is open already; closed with it.
        read_only: writing fails.

    Raises:
        OSError: from any method, even for a file that does not exist.
    """

    def __init__(
        self, path: str, *, descriptor: int | None = None, read_only: bool = False
    ) -> None:
        self.path = path
        self._flags = READ_ONLY if read_only else _READ_WRITE
        self._descriptor = None if descriptor is None else _Descriptor(descriptor)
        self.naming = threading.RLock()

    @property
    def descriptor(self) -> int:  # type: ignore[override]  # the base keeps it as an attribute
        """The operating system's number of the open file; keep it while it is used."""
        descriptor = self._descriptor
        if descriptor is None:
            with self.naming:
                descriptor = self._descriptor
                if descriptor is None:
                    descriptor = self._descriptor = _Descriptor(
                        _open_for_use(self.path, self._flags)
                    )
        return descriptor

    def read_bytes(self, position: int, size: int) -> bytes:
        """Return the ``size`` bytes from ``position``, fewer at the end of the file."""
        return _pread(self.descriptor, size, position)

    def write(self, data: Data, position: int) -> None:
        """Write all of ``data``, C-contiguous bytes, at ``position``; the file grows as needed."""
        descriptor = self.descriptor
        written = _pwrite(descriptor, data, position)
        size = memoryview(data).nbytes
        while written < size:  # a full disk raises at the second try
            rest = memoryview(data).cast("B")[written:]
            written += _pwrite(descriptor, rest, position + written)

    def truncate(self, size: int) -> None:
        """Truncate the file to ``size`` bytes, or extend it with zeros that take no space."""
        os.ftruncate(self.descriptor, size)

    def sync(self) -> None:
        """Write everything to the disk before returning; a file that was closed is closed again."""
        was_closed = self._descriptor is None
        _sync(self.descriptor)
        if was_closed:
            self.close()

    def prepare_removal(self) -> None:
        """Let readers of the file continue after its removal, where the system allows that.

        The file is then closed with the last reference to it.
        """
        if os.name == "nt":
            self.close()
            return
        try:
            _ = self.descriptor
        except FileNotFoundError:
            return
        except OSError as error:
            if not is_passing(error):  # otherwise readers that have not begun find no file
                raise

    def close(self) -> None:
        """Close the file once no thread reads it; a second call does nothing."""
        with self.naming:
            self._descriptor = None


class DirectoryLock:
    """An exclusive lock on a log directory, held until `release`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        with _LOCKING:
            if self._descriptor >= 0:
                _LOCKED.discard(_identity(os.fstat(self._descriptor)))
                os.close(self._descriptor)
                self._descriptor = -1


class FileSystem(Files):
    """The file system of this machine. Paths are strings; every method may raise OSError.

    Attributes:
        is_dry: whether changes are forgotten, so that what runs on it only looks.
    """

    is_dry: ClassVar[bool] = False

    def require_writable(self, path: str) -> None:
        """Refuse a path, as a caller gave it, that leads to where nothing is written.

        Raises:
            LogDirectoryError: it is a URI, which would become a folder ``s3:`` here, or inside an
                archive.
        """
        from workbench.file_system.archives.opening import archive_of

        if not self.is_dry and (looks_like_uri(path) or archive_of(path) is not None):
            raise LogDirectoryError(
                path, "cannot be written to (expected a directory of this machine); change a copy"
            )

    def open(self, path: str) -> File:
        """Return a file to read and write; it need not exist until it is used."""
        return File(path)

    @_even_if_none_is_left
    def create(self, path: str) -> File:
        """Return a file to read and write, created empty if it does not exist."""
        return File(path, descriptor=open_regular(path, _READ_WRITE | os.O_CREAT))

    @_even_if_none_is_left
    def read(self, path: str, most: int = -1) -> bytes:
        """Return the bytes of a small file, at most the first ``most`` unless that is below 0."""
        with open(open_regular(path), "rb") as file:
            return file.read(most)

    @_even_if_none_is_left
    def list(self, path: str) -> list[FolderEntry]:
        """Return what is in a folder, sorted by name."""
        with os.scandir(path) as found:
            return sorted(
                [
                    FolderEntry(
                        entry.name, _is_directory(entry) if entry.is_symlink() else entry.is_dir()
                    )
                    for entry in found
                ]
            )

    def exists(self, path: str) -> bool:
        """Return whether a file or folder of this name exists."""
        return os.path.exists(path)

    def stat(self, path: str) -> Stat:
        """Return size and time of a file or folder; anything else raises NotRegularFileError."""
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise NotRegularFileError(path, kind_of_mode(found.st_mode))
        return Stat(found.st_size, found.st_mtime_ns // _NANOSECONDS)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder atomically; a file of the new name is replaced."""
        os.replace(old, new)

    @_even_if_none_is_left
    def write_atomically(self, path: str, data: bytes) -> None:
        """Replace a small file so that a crash leaves either all old bytes or all new ones.

        Kafka: CheckpointFile.write, Utils.atomicMoveWithFallback (4.2)
        """
        temporary = path + TEMPORARY
        file = self.create(temporary)
        try:
            file.truncate(0)
            file.write(data, 0)
            file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        self.sync_directory(os.path.dirname(path) or ".")
        _SPARE.keep()

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.remove(path)

    def make_directory(self, path: str) -> None:
        """Create a folder."""
        os.mkdir(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    @_even_if_none_is_left
    def sync_directory(self, path: str) -> None:
        """Write names created, changed and removed in a folder to the disk before returning."""
        if os.name == "nt":  # folders cannot be opened there; names are journaled
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def set_modified(self, path: str, modified_ms: int) -> None:
        """Set the time of a file's last change, ms since the epoch."""
        nanoseconds = modified_ms * _NANOSECONDS
        os.utime(path, ns=(nanoseconds, nanoseconds))

    def lock(self, path: str) -> DirectoryLock:
        """Lock a log directory by its `.lock` file, as a broker does.

        Raises:
            LogDirectoryError: a broker or another process holds it.

        Kafka: FileLock.tryLock (4.2)
        """
        problem = "the directory is locked; a broker or another process is using it"
        with _LOCKING:
            # A process can lock a file several times, and loses the lock when it first closes the
            # file: so one that is locked here is not even opened.
            if os.path.exists(path) and _identity(os.stat(path)) in _LOCKED:
                raise LogDirectoryError(os.path.dirname(path), problem)
            descriptor = open_regular(path, _READ_WRITE | os.O_CREAT)
            try:
                _lock(descriptor)
            except OSError as error:
                os.close(descriptor)
                raise LogDirectoryError(os.path.dirname(path), problem) from error
            _LOCKED.add(_identity(os.fstat(descriptor)))
        return DirectoryLock(descriptor)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    """Return whether a name in a folder is a folder; a circle of links is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


if sys.platform == "win32":
    import msvcrt

    _SEEKING: Final = threading.Lock()

    def _pread(descriptor: int, size: int, position: int) -> bytes:
        with _SEEKING:
            os.lseek(descriptor, position, os.SEEK_SET)
            return os.read(descriptor, size)

    def _pwrite(descriptor: int, data: Data, position: int) -> int:
        with _SEEKING:
            os.lseek(descriptor, position, os.SEEK_SET)
            return os.write(descriptor, data)

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _sync: Final = os.fsync

    def allow_open_files() -> None:
        """Do nothing: this system has no such limit."""

    def most_open_files() -> int:
        """Return a number that is never reached: this system has no such limit."""
        return sys.maxsize
else:
    import fcntl
    import resource

    _pread: Final = os.pread
    _pwrite: Final = os.pwrite

    def _lock(descriptor: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    if sys.platform == "darwin":  # fsync alone leaves the bytes in the drive's cache

        def _sync(descriptor: int) -> None:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        _sync: Final = os.fsync

    def allow_open_files() -> None:
        """Raise the limit of open files to the most that is allowed, as a JVM does at its start.

        Each log with appends keeps some files open.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            with suppress(OSError, ValueError):  # macOS allows less than it reports
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def most_open_files() -> int:
        """Return how many files and connections this process can have open at a time."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return sys.maxsize if soft == resource.RLIM_INFINITY else soft


LOCAL: Final = FileSystem()
