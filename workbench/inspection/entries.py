"""What the file system says of files: names, sizes and times, without opening one."""

import os
from typing import NamedTuple


class FileEntry(NamedTuple):
    """A file as listed: nothing of its contents was read.

    Attributes:
        name: within its folder.
        path: of the file.
        size: bytes; preallocated files count whole.
        modified_ms: when it was last written, ms since the epoch.
    """

    name: str
    path: str
    size: int
    modified_ms: int


def list_folder(path: str) -> tuple[list[FileEntry], list[str]]:
    """Return the files and the names of the folders in ``path``, both sorted by name.

    A file that goes away meanwhile, as on a live broker, is left out.

    Raises:
        OSError: the folder cannot be listed.
    """
    files: list[FileEntry] = []
    folders: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                if entry.is_dir():
                    folders.append(entry.name)
                else:
                    status = entry.stat()
                    modified = status.st_mtime_ns // 1_000_000
                    files.append(FileEntry(entry.name, entry.path, status.st_size, modified))
            except FileNotFoundError:
                continue
    files.sort()
    folders.sort()
    return files, folders
