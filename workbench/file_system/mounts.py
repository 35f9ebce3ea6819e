"""Mount files outside this machine's file system, for example in S3, so that paths reach them.

A path below a mounted prefix, for example ``s3://bucket/logs``, is read through what was mounted
there; every other path is the operating system's. Mounts are read-only.
"""

from typing import Final, NamedTuple, Protocol


class RemoteEntry(NamedTuple):
    """What a remote file system says about a file or folder.

    Attributes:
        name: the name in its folder.
        is_folder: whether it is a folder, not a file.
        size: bytes.
        modified_ms: when it was last written, ms since the epoch.
    """

    name: str
    is_folder: bool
    size: int
    modified_ms: int


class RemoteFile(Protocol):
    """An open file."""

    def size(self) -> int:
        """Return how many bytes it has."""

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


def mount(prefix: str, files: RemoteFiles) -> None:
    """Read paths that are ``prefix``, or begin with it and a slash, through ``files``."""
    _MOUNTS[prefix] = files


def files_at(path: str) -> RemoteFiles | None:
    """Return the files through which a path is read; None for the operating system.

    Raises:
        FileNotFoundError: the path is a URI, and nothing is mounted there.
    """
    if "://" not in path:
        return None
    for prefix, files in _MOUNTS.items():
        if path == prefix or path.startswith(f"{prefix}/"):
            return files
    raise FileNotFoundError(f"{path}: no file system is mounted for this prefix")


def read_whole(path: str, limit: int | None = None) -> bytes | None:
    """Return the bytes of a remote file, at most ``limit`` of them; None when it is not remote.

    Raises:
        OSError: the file cannot be read.
    """
    files = files_at(path)
    if files is None:
        return None
    file = files.open(path)
    try:
        size = file.size()
        return bytes(file.read_at(size if limit is None else min(size, limit), 0))
    finally:
        file.close()
