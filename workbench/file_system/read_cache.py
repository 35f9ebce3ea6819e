"""Read files that are far away in few large requests, and keep what was read for a while.

A reader that continues where it stopped gets 8 MiB per request, and the next 8 MiB are fetched
while it works. Other reads fetch 256 KiB: an index, a checkpoint, or the batches of a lookup. All
files of one mount together keep at most 64 MiB.
"""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from workbench.file_system.kept import Kept
from workbench.file_system.source import RemoteEntry, RemoteFile, RemoteFiles

LARGE: Final = 8 << 20  # bytes of a request of a reader that goes through a file
SMALL: Final = 256 << 10  # bytes of every other request
_KEPT: Final = 64 << 20  # bytes of one mount
_SEQUENTIAL: Final = 1 << 20  # bytes; a reader that asks for so many at once is sequential
_FRESH: Final = 5.0  # seconds in which a file that is opened again is not asked for its version
_HANDLES: Final = 256  # files kept open


class _Known:
    """A file that was opened, and its version.

    Attributes:
        file: the file far away.
        size: bytes.
        version: see `RemoteFile.version`.
        opened: when, in seconds of the monotonic clock.
    """

    __slots__ = ("file", "opened", "size", "version")

    def __init__(self, file: RemoteFile) -> None:
        self.file = file
        self.size = file.size()
        self.version = file.version()
        self.opened = time.monotonic()


_Key = tuple[str, int, int, int, int]  # path, size and version of the file, position, bytes


class CachedFiles:
    """A file system far away whose files are read through a cache. Threads may share it.

    Args:
        files: the file system.

    Attributes:
        files: the file system.
        blocks: what was read.
    """

    def __init__(self, files: RemoteFiles) -> None:
        self.files = files
        self._known: Kept[str, _Known] = Kept(_HANDLES)
        self.blocks: Final[Kept[_Key, bytes]] = Kept(_KEPT, len)
        self._lock = threading.Lock()
        self._fetchers: tuple[int, ThreadPoolExecutor] | None = None  # and whose process's

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedFiles, (self.files,)

    def entry(self, path: str) -> RemoteEntry | None:
        """Return what is at a path; None when there is nothing."""
        return self.files.entry(path)

    def entries(self, path: str) -> list[RemoteEntry]:
        """Return what is in a folder."""
        return self.files.entries(path)

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Return what is in a folder and in every folder below it, by the folders' paths."""
        return self.files.tree(path)

    def forget(self) -> None:
        """Ask for the version of every file again when it is opened next."""
        self._known.clear()

    def open(self, path: str) -> "CachedFile":
        """Open a file.

        Raises:
            OSError: it cannot be opened.
        """
        known = self._known.get(path)
        if known is None or time.monotonic() - known.opened > _FRESH:
            known = _Known(self.files.open(path))
            self._known.put(path, known)
        return CachedFile(self, path, known)

    def block(self, key: _Key, file: RemoteFile) -> bytes:
        """Return some bytes of a file, kept or fetched.

        Raises:
            OSError: they cannot be read.
        """
        found = self.blocks.get(key)
        if found is None:
            *_, position, size = key
            found = file.read_at(size, position)
            self.blocks.put(key, found)
        return found

    def ahead(self, key: _Key, file: RemoteFile) -> Future[bytes]:
        """Begin to fetch some bytes of a file; a forked process has threads of its own for that."""
        with self._lock:
            if self._fetchers is None or self._fetchers[0] != os.getpid():
                pool = ThreadPoolExecutor(4, thread_name_prefix="fetch-ahead")
                self._fetchers = os.getpid(), pool
            return self._fetchers[1].submit(self.block, key, file)


class CachedFile:
    """An open file of `CachedFiles`. Threads may share it.

    Args:
        files: the file system.
        path: the file.
        known: the file far away.
    """

    def __init__(self, files: CachedFiles, path: str, known: _Known) -> None:
        self._files = files
        self._known = known
        self._name = (path, known.size, known.version)
        self._last = (-1, -1)  # what was read last: start and end
        self._run = 0  # how many reads, up to the last, each continued the one before
        self._large_at = -LARGE  # position of the last large block
        self._ahead: tuple[int, Future[bytes]] | None = None  # position of what is being fetched

    def size(self) -> int:
        """Return how many bytes it had when it was opened."""
        return self._known.size

    def version(self) -> int:
        """Return a number that differs between versions of the file."""
        return self._known.version

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end.

        Raises:
            OSError: they cannot be read.
        """
        end = min(offset + nbytes, self._known.size)
        if end <= offset:
            return b""
        start, stop = self._last
        self._run = self._run + 1 if start < offset <= stop else 0
        self._last = offset, end
        goes_on = end - offset >= _SEQUENTIAL or self._run > 1
        parts = list(self._parts(offset, end, goes_on=goes_on))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Stop fetching."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead[1].cancel()

    def _parts(self, position: int, end: int, *, goes_on: bool) -> Iterator[bytes]:
        """Yield the bytes [position, end) in parts of blocks; ends early if the file is shorter."""
        while position < end:
            start = position - position % LARGE
            data = self._files.blocks.get(self._key(start, LARGE))
            if data is None and goes_on:
                data = self._large(start)
            elif data is None:
                start = position - position % SMALL
                data = self._files.block(self._key(start, SMALL), self._known.file)
            part = data[position - start : end - start]
            if not part:
                return
            yield part
            position += len(part)

    def _large(self, start: int) -> bytes:
        """Return a large block, and begin to fetch the next one."""
        ahead = self._ahead
        if ahead is not None and ahead[0] == start:
            self._ahead = None
            data = ahead[1].result()
        else:
            data = self._files.block(self._key(start, LARGE), self._known.file)
        behind = start + LARGE
        key = self._key(behind, LARGE)
        goes_on = start in {0, self._large_at + LARGE}
        if goes_on and behind < self._known.size and self._files.blocks.get(key) is None:
            self._ahead = behind, self._files.ahead(key, self._known.file)
        self._large_at = start
        return data

    def _key(self, start: int, size: int) -> _Key:
        return (*self._name, start, min(size, self._known.size - start))
