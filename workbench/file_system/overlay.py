"""The bytes of a file that are changed in memory while the file on the disk remains as it is.

Only differences are kept: where the file was truncated, and one run of written bytes. Both are
small for what a broker does when it starts: it truncates logs, and rewrites indexes from their
beginning.
"""

import os
import stat
import tempfile
import threading
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from workbench.errors import NotRegularFileError
from workbench.file_system.local import File
from workbench.file_system.source import THIS_MACHINE, Files, FileSource, RemoteEntry, kind_of_mode


class MountedFile(FileSource):
    """A file of a mounted file system, opened when it is first read, and again after `close`."""

    def __init__(self, path: str, fs: Files) -> None:
        self.path = path
        self.descriptor = -1
        self._fs = fs
        self._open: FileSource | None = None

    def read_into(self, buffer: npt.NDArray[np.uint8], position: int) -> int:
        """Fill ``buffer``, uint8[n], from ``position``; return how many bytes there were."""
        source = self._open
        if source is None:
            source = self._open = FileSource(self.path, self._fs)
        return source.read_into(buffer, position)

    def close(self) -> None:
        """Close the file until it is read again."""
        source, self._open = self._open, None
        if source is not None:
            source.close()


_MOST_IN_MEMORY: Final = 16 << 20  # bytes written to one file; beyond, they go to a temporary file
_COPY_SIZE: Final = 1 << 20
_MS: Final = 1_000_000  # ns in a ms


class Overlay:
    """A file's bytes: a file on the disk up to a limit, some bytes overwritten, zeros at the end.

    Threads may share one.

    Args:
        path: the file on the disk, or a mounted one; None for a new one, in memory only.
        found: the status of the file on the disk.
        mounted: what a mounted file system says about the file.
        fs: what reads a mounted file.
        now: gives the time of a change, ms.

    Attributes:
        size: bytes.
        modified_ms: time of the last change, ms since the epoch.
        refusal: why it is not read: a FIFO, or a link out of a directory; None if it is read.
        is_directory: whether the target of such a link is a directory.

    Raises:
        OSError: the file on the disk cannot be read.
    """

    def __init__(
        self,
        path: str | None = None,
        found: os.stat_result | None = None,
        refusal: OSError | None = None,
        mounted: RemoteEntry | None = None,
        fs: Files = THIS_MACHINE,
        *,
        now: Callable[[], int],
    ) -> None:
        self.size = 0
        self._now = now
        self.modified_ms = 0
        self._path = path
        self._fs = None if found is not None else fs  # None: on this machine
        self._source: FileSource | None = None  # of the path, once it is read
        self._limit = 0  # bytes of the file on the disk that count
        self._written_at = 0
        self._written = bytearray()
        self._copy: File | None = None  # once there is one, it holds all bytes
        self._lock = threading.RLock()
        self.refusal = refusal
        self.is_directory = False
        if mounted is not None:
            self.size = self._limit = mounted.size
            self.modified_ms = mounted.modified_ms
            if mounted.refusal is not None:
                self.refusal = NotRegularFileError(str(path), mounted.refusal)
        elif found is None:
            self.touch()
        elif refusal is not None or not stat.S_ISREG(found.st_mode):
            kind = kind_of_mode(found.st_mode)
            self.refusal = refusal or NotRegularFileError(str(path), kind)
            self.is_directory = stat.S_ISDIR(found.st_mode)
        else:
            self.size = self._limit = found.st_size
            self.modified_ms = found.st_mtime_ns // _MS

    @property
    def descriptor(self) -> int:
        """A descriptor to read from; some changes require that all bytes are copied first.

        -1 for a mounted file, of which `read_into` alone reads.
        """
        with self._lock:
            is_cut_only = not self._written and self.size <= self._limit
            base = self._base
            if self._copy is None and base is not None and is_cut_only:
                return base.descriptor
            return self._copied().descriptor

    def read_into(self, buffer: npt.NDArray[np.uint8], position: int) -> int:
        """Fill ``buffer``, uint8[n], from ``position``; return how many bytes there were."""
        with self._lock:
            wanted = max(0, min(len(buffer), self.size - position))
            part = buffer[:wanted]
            if self._copy is not None:
                return self._copy.read_into(part, position)
            got, base = 0, self._base
            if base is not None and position < self._limit:
                got = base.read_into(part[: self._limit - position], position)
            part[got:] = 0
            start = max(position, self._written_at)
            end = min(position + wanted, self._written_at + len(self._written))
            if start < end:
                at = self._written_at
                run = np.frombuffer(self._written, np.uint8)[start - at : end - at]
                part[start - position : end - position] = run
            return wanted

    def past_hole(self, position: int, end: int) -> int:
        """Return the first position in [position, end] that is not known to be a hole's zeros."""
        with self._lock:
            if self._copy is not None:
                return self._copy.past_hole(position, end)
            found, base, limit = end, self._base, min(end, self._limit)
            if base is not None and position < limit:
                data = base.past_hole(position, limit)
                found = data if data < limit else end
            if position < self._written_at + len(self._written):
                found = min(found, max(position, self._written_at))
            return max(position, found)

    def write(self, data: memoryview, position: int) -> None:
        """Put bytes at ``position``; the file grows as needed."""
        if not len(data):
            return
        with self._lock:
            end = position + len(data)
            if self._copy is None:
                self._keep(data, position)
            if self._copy is not None:
                self._copy.write(data, position)
            self.size = max(self.size, end)
            self.touch()

    def truncate(self, size: int) -> None:
        """Truncate to ``size`` bytes, or extend with zeros."""
        with self._lock:
            if self._copy is not None:
                self._copy.truncate(size)
            self._limit = min(self._limit, size)
            del self._written[max(0, size - self._written_at) :]
            self.size = size
            self.touch()

    def touch(self) -> None:
        """Set the time of the last change to now."""
        self.modified_ms = self._now()

    def close(self) -> None:
        """Close the file on the disk until it is read again."""
        source, self._source = self._source, None
        if source is not None:
            source.close()

    @property
    def _base(self) -> FileSource | None:
        """The file on the disk, or the mounted one; None for a new one."""
        if self._source is None and self._path is not None:
            path, fs = self._path, self._fs
            self._source = File(path, read_only=True) if fs is None else MountedFile(path, fs)
        return self._source

    def _keep(self, data: memoryview, position: int) -> None:
        """Keep written bytes; they and earlier ones become one run."""
        if not self._written:
            self._written_at = position
        start, end = self._written_at, self._written_at + len(self._written)
        first, last = min(start, position), max(end, position + len(data))
        if last - first > _MOST_IN_MEMORY:
            self._copied()
            return
        if position > end:
            self._written += self._bytes(end, position)
        elif position < start:
            self._written[:0] = self._bytes(position, start)
            self._written_at = position
        at = position - self._written_at
        self._written[at : at + len(data)] = data

    def _bytes(self, start: int, end: int) -> bytes:
        """Return the bytes [start, end), zeros where the file has none."""
        buffer = np.zeros(end - start, np.uint8)
        self.read_into(buffer, start)
        return buffer.tobytes()

    def _copied(self) -> File:
        """Return a temporary file without a name that holds the bytes, created when needed."""
        if self._copy is None:
            descriptor, path = tempfile.mkstemp()
            copy = File(path, descriptor=descriptor)
            os.remove(path)  # its bytes exist until the last reader closes it
            for start in range(0, self.size, _COPY_SIZE):
                chunk = self._bytes(start, min(start + _COPY_SIZE, self.size))
                if chunk.strip(b"\0"):  # zeros need no room on the disk
                    copy.write(chunk, start)
            copy.truncate(self.size)
            self._copy = copy
            self._written.clear()
        return self._copy
