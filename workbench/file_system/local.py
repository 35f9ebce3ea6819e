"""Files and folders of this machine, for what writes.

The engine never calls `os` itself: it is given a `FileSystem`. This one does what it is told;
others keep the changes to themselves (`dry`), record them, or fail: so crashes are tested.

Errors are those of the operating system (OSError); who knows the log says which log it was.
"""

import os
import threading
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import LogDirectoryError
from workbench.record.source import FileSource

Data = bytes | bytearray | memoryview | npt.NDArray[np.uint8]

TEMPORARY: Final = ".tmp"  # behind a file's name while it is written anew

_NANOSECONDS: Final = 1_000_000  # in a ms


class Entry(NamedTuple):
    """A name in a folder."""

    name: str
    is_directory: bool


class Stat(NamedTuple):
    """Size in bytes and time of the last change in ms since the epoch."""

    size: int
    modified_ms: int


class File(FileSource):
    """A file that may be written at any position; opened when it is first used.

    Threads may share one for reading. `path` follows renames that the file system is asked for with
    this file. A file that was closed opens again when it is used again.

    Raises:
        OSError: from any method, also for a file that is not there.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1
        self._opening = threading.Lock()

    @property
    def descriptor(self) -> int:  # type: ignore[override]  # the base keeps it as an attribute
        """The operating system's number of the open file."""
        if self._descriptor < 0:
            with self._opening:
                if self._descriptor < 0:
                    self._descriptor = os.open(self.path, os.O_RDWR)
        return self._descriptor

    def write(self, data: Data, position: int) -> None:
        """Write all of ``data``, C-contiguous bytes, at ``position``; the file grows as needed."""
        written = os.pwrite(self.descriptor, data, position)
        size = memoryview(data).nbytes
        while written < size:  # a full disk raises at the second try
            written += os.pwrite(
                self.descriptor, memoryview(data).cast("B")[written:], position + written
            )

    def truncate(self, size: int) -> None:
        """Cut the file to ``size`` bytes, or make it longer with zeros that take no space."""
        os.ftruncate(self.descriptor, size)

    def sync(self) -> None:
        """Return when all that was written is on the disk."""
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._opening:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1


class DirectoryLock:
    """An exclusive lock on a log directory, held until `release`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class FileSystem:
    """The file system of this machine. Paths are strings; every method may raise OSError."""

    def open(self, path: str) -> File:
        """Return a file to read and write; it need not exist until it is used."""
        return File(path)

    def create(self, path: str) -> File:
        """Return a file to read and write, made empty if it is not there."""
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o644))
        return self.open(path)

    def read(self, path: str) -> bytes:
        """Return the bytes of a small file."""
        with open(path, "rb") as file:
            return file.read()

    def list(self, path: str) -> list[Entry]:
        """Return what is in a folder, sorted by name."""
        with os.scandir(path) as found:
            return sorted(Entry(entry.name, entry.is_dir()) for entry in found)

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder of this name."""
        return os.path.exists(path)

    def stat(self, path: str) -> Stat:
        """Return size and time of a file."""
        found = os.stat(path)
        return Stat(found.st_size, found.st_mtime_ns // _NANOSECONDS)

    def rename(self, old: str, new: str) -> None:
        """Give a file or folder another name at once; a file of that name is replaced."""
        os.replace(old, new)

    def write_atomically(self, path: str, data: bytes) -> None:
        """Replace a small file so that a crash leaves the old bytes or the new ones, all of them.

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
        self.sync_directory(os.path.dirname(path))

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.remove(path)

    def make_directory(self, path: str) -> None:
        """Make a folder."""
        os.mkdir(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        """Return when names made, changed and removed in a folder are on the disk."""
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
        import fcntl  # not on every system, and only needed to write

        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            problem = "the directory is locked; a broker or another process is using it"
            raise LogDirectoryError(os.path.dirname(path), problem) from error
        return DirectoryLock(descriptor)


LOCAL: Final = FileSystem()
