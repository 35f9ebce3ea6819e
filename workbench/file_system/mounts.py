"""Files outside this machine's file system, for example in S3, beside those of this machine.

A path below a prefix that was opened, for example ``s3://bucket/logs``, is read through what was
opened there; every other path is the operating system's. Nothing is written there.
"""

import os
import pickle
import re
import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakValueDictionary


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


_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_uri(path: str) -> bool:
    """Return whether a path names a place outside this machine: ``s3://bucket/logs``."""
    return "://" in path


def looks_like_uri(path: str) -> bool:
    """Return whether a path is a URI, or what `pathlib.Path` makes of one: ``s3:/bucket/logs``."""
    return _URI.match(path) is not None


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
