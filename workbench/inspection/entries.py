"""What the file system says of files: names, sizes and times, without opening one."""

import os
from functools import total_ordering
from typing import Any

from workbench.record.remote import files_at

_GONE = (0, 0)  # size and time of a file that went away since it was listed


@total_ordering
class FileEntry:
    """A file as listed: nothing of its contents was read. Sorts by name.

    Size and time are asked of the system when first wanted, then kept: most of the files of
    ten thousand partitions are only ever named.

    Attributes:
        name: within its folder.
        path: of the file.
    """

    __slots__ = ("_status", "name", "path")

    def __init__(
        self, name: str, path: str, size: int | None = None, modified_ms: int | None = None
    ) -> None:
        self.name = name
        self.path = path
        self._status: tuple[int, int] | None = None
        if size is not None and modified_ms is not None:
            self._status = (size, modified_ms)

    def _asked(self) -> tuple[int, int]:
        if self._status is None:
            remote = files_at(self.path)
            if remote is not None:
                entry = remote.entry(self.path)
                self._status = _GONE if entry is None else (entry.size, entry.modified_ms)
                return self._status
            try:
                status = os.stat(self.path)
            except FileNotFoundError:
                self._status = _GONE
            else:
                self._status = (status.st_size, status.st_mtime_ns // 1_000_000)
        return self._status

    @property
    def size(self) -> int:
        """Bytes; preallocated files count whole. 0 when the file has gone since."""
        return self._asked()[0]

    @property
    def modified_ms(self) -> int:
        """When it was last written, ms since the epoch."""
        return self._asked()[1]

    def __repr__(self) -> str:
        return f"FileEntry({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileEntry) and self.path == other.path

    def __lt__(self, other: "FileEntry") -> bool:
        return self.name < other.name

    def __hash__(self) -> int:
        return hash(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with size and time, as they are at this moment at the latest."""
        return FileEntry, (self.name, self.path, *self._asked())


def list_folder(path: str) -> tuple[list[FileEntry], list[str]]:
    """Return the files and the names of the folders in ``path``, both sorted by name.

    Raises:
        OSError: the folder cannot be listed.
    """
    remote = files_at(path)
    if remote is not None:
        there = sorted(remote.entries(path))
        listed = [
            FileEntry(each.name, f"{path}/{each.name}", each.size, each.modified_ms)
            for each in there
            if not each.is_folder
        ]
        return listed, [each.name for each in there if each.is_folder]
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            (folders if entry.is_dir() else files).append(entry.name)
    files.sort()
    folders.sort()
    start = os.path.join(path, "")
    return [FileEntry(name, start + name) for name in files], folders
