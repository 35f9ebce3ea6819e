"""Mount files outside this machine's file system, for example in S3, so that paths reach them.

A path below a mounted prefix, for example ``s3://bucket/logs``, is read through what was mounted
there; every other path is the operating system's. Mounts are read-only.
"""

import os
import re
from typing import Final, NamedTuple, Protocol


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
    """A file system; paths begin with the prefix that it was mounted at."""

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


_MOUNTS: Final[dict[str, RemoteFiles]] = {}
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def mount(prefix: str, files: RemoteFiles) -> None:
    """Read paths that are ``prefix``, or begin with it and a slash, through ``files``."""
    _MOUNTS[prefix] = files


def mounted_at(prefix: str) -> RemoteFiles | None:
    """Return what is mounted at exactly this prefix; None if nothing is."""
    return _MOUNTS.get(prefix)


def is_uri(path: str) -> bool:
    """Return whether a path names a place outside this machine: ``s3://bucket/logs``."""
    return "://" in path


def looks_like_uri(path: str) -> bool:
    """Return whether a path is a URI, or what `pathlib.Path` makes of one: ``s3:/bucket/logs``."""
    return _URI.match(path) is not None


def absolute(path: str) -> str:
    """Return a path that does not depend on the working directory; a URI as it is."""
    return path if is_uri(path) else os.path.abspath(path)


def real(path: str) -> str:
    """Return an absolute path without links; a URI as it is."""
    return path if is_uri(path) else os.path.realpath(path)


def files_at(path: str) -> RemoteFiles | None:
    """Return the files through which a path is read; None for the operating system.

    Raises:
        FileNotFoundError: the path is a URI, and nothing is mounted there.
    """
    for prefix, files in _MOUNTS.items():
        if path.startswith(prefix) and (len(path) == len(prefix) or path[len(prefix)] == "/"):
            return files
    if is_uri(path):
        raise FileNotFoundError(f"{path}: no file system is mounted for this prefix")
    return None


def is_file(path: str) -> bool:
    """Return whether there is a file at a path, on this machine or mounted."""
    files = files_at(path)
    if files is None:
        return os.path.isfile(path)
    entry = files.entry(path)
    return entry is not None and not entry.is_folder


def size_of(path: str) -> int:
    """Return the size of a file, on this machine or mounted, in bytes.

    Raises:
        OSError: there is no such file.
    """
    files = files_at(path)
    if files is None:
        return os.path.getsize(path)
    file = files.open(path)
    try:
        return file.size()
    finally:
        file.close()


def read_whole(path: str, limit: int) -> tuple[bytes, int] | None:
    """Return the first ``limit`` bytes of a remote file, and its size; None if it is not remote.

    Raises:
        OSError: the file cannot be read.
    """
    files = files_at(path)
    if files is None:
        return None
    file = files.open(path)
    try:
        size = file.size()
        return file.read_at(min(size, limit), 0), size
    finally:
        file.close()
