"""Log directories in S3, HDFS and whatever else `pyarrow.fs` can read by a URI.

Credentials and endpoints come from pyarrow's own sources: the environment, or the URI's query
(``s3://bucket/logs?endpoint_override=host:9000&scheme=http``).
"""

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from workbench.file_system.mounts import RemoteEntry, mount


class ArrowFiles:
    """A directory of a pyarrow file system, read below a prefix.

    Args:
        files: a `pyarrow.fs.FileSystem`.
        prefix: the start of every path.
        folder: the directory in ``files`` that the prefix stands for.
    """

    def __init__(self, files: Any, prefix: str, folder: str) -> None:
        self._files = files
        self._prefix = prefix
        self._folder = folder

    def _inside(self, path: str) -> str:
        return (self._folder + path.removeprefix(self._prefix)).rstrip("/")

    def open(self, path: str) -> Any:
        """Open a file.

        Raises:
            OSError: it cannot be opened.
        """
        return self._files.open_input_file(self._inside(path))

    def entry(self, path: str) -> RemoteEntry | None:
        """Return the entry at a path; None if there is none."""
        from pyarrow.fs import FileType

        info = self._files.get_file_info(self._inside(path))
        return None if info.type == FileType.NotFound else _entry(info)

    def entries(self, path: str) -> list[RemoteEntry]:
        """Return the entries of a directory.

        Raises:
            OSError: it cannot be listed.
        """
        from pyarrow.fs import FileSelector

        return [
            _entry(info) for info in self._files.get_file_info(FileSelector(self._inside(path)))
        ]

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Return the entries of a directory and of all directories below it, by their paths.

        Raises:
            OSError: it cannot be listed.
        """
        from pyarrow.fs import FileSelector

        inside = self._inside(path)
        found: dict[str, list[RemoteEntry]] = {path: []}
        for info in self._files.get_file_info(FileSelector(inside, recursive=True)):
            entry = _entry(info)
            folder = path + info.path.rpartition("/")[0].removeprefix(inside)
            found.setdefault(folder, []).append(entry)
            if entry.is_folder:
                found.setdefault(f"{folder}/{entry.name}", [])
        return found


def _entry(info: Any) -> RemoteEntry:
    name = sys.intern(info.base_name)  # a million files have few names
    return RemoteEntry(name, not info.is_file, info.size or 0, (info.mtime_ns or 0) // 1_000_000)


@cache
def mounted(path: str) -> str:
    """Make a path readable in this process, and return it without its query and credentials.

    A path without a scheme is returned as it is.

    Raises:
        OSError: the location cannot be reached, or pyarrow does not know the scheme.
    """
    if "://" not in path:
        return path
    from pyarrow.fs import FileSystem

    files, folder = FileSystem.from_uri(path)
    parts = urlsplit(path)
    host = parts.netloc.rpartition("@")[2]
    prefix = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    mount(prefix, ArrowFiles(files, prefix, folder.rstrip("/")))
    return prefix


def all_mounted(paths: Iterable[str]) -> tuple[str, ...]:
    """Make several paths readable, as `mounted` does."""
    return tuple(map(mounted, paths))
