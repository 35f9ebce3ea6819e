"""List files with names, sizes and times, without opening one."""

import errno
import os
import stat
from collections.abc import Collection, Iterable
from functools import total_ordering
from typing import Any, Final, Literal, NamedTuple, TypeVar

from workbench.errors import LinkError, NotRegularFileError
from workbench.file_system.source import (
    THIS_MACHINE,
    Files,
    FileSource,
    RemoteEntry,
    follow_link,
    kind_of_mode,
)
from workbench.files.reading import SmallFile

S = TypeVar("S", bound=SmallFile)

_EFFECTIVE: Final = os.access in os.supports_effective_ids
_GONE = (0, 0, 0, 0)  # `_status` of a file that was deleted since it was listed
_BLOCK: Final = 4096  # bytes; a file that lacks less has no hole
_UNIT: Final = 512  # bytes of a unit of `st_blocks`, on every system


@total_ordering
class FileEntry:
    """A file as listed, with nothing of its contents read. Sorts by name.

    Size, time and occupied bytes are read when first asked for, then kept: most of the files of
    ten thousand partitions are only ever named.

    Attributes:
        name: the name in its folder.
        path: the file.
        fs: what reads it.
    """

    __slots__ = ("_status", "fs", "name", "path")

    def __init__(
        self,
        name: str,
        path: str,
        size: int | None = None,
        modified_ms: int | None = None,
        occupied: int | None = None,
        inode: int = 0,
        *,
        fs: Files = THIS_MACHINE,
    ) -> None:
        self.name = name
        self.path = path
        self.fs = fs
        self._status: tuple[int, int, int, int] | None = None
        if size is not None and modified_ms is not None:
            self._status = (size, modified_ms, size if occupied is None else occupied, inode)

    def _asked(self) -> tuple[int, int, int, int]:
        if self._status is None:
            remote = self.fs.at(self.path)
            if remote is not None:
                entry = remote.entry(self.path)
                self._status = (
                    _GONE if entry is None else (entry.size, entry.modified_ms, entry.size, 0)
                )
                return self._status
            try:
                status = os.stat(self.path)
            except FileNotFoundError:
                self._status = _GONE
            else:
                modified_ms = status.st_mtime_ns // 1_000_000
                self._status = (status.st_size, modified_ms, _occupied(status), status.st_ino)
        return self._status

    @property
    def is_here(self) -> bool:
        """Whether the operating system reads it: it is not in a bucket or an archive."""
        return self.fs.at(self.path) is None

    def open(self) -> FileSource:
        """Open the file.

        Raises:
            OSError: it cannot be opened.
        """
        return FileSource(self.path, self.fs)

    def read(self, kind: type[S]) -> S:
        """Return what a small file of a kind holds, with its problems.

        Raises:
            OSError: it cannot be read.
        """
        return kind.read(self.path, strict=False, fs=self.fs)

    @property
    def size(self) -> int:
        """Bytes, including preallocated ones. 0 when the file was deleted since."""
        return self._asked()[0]

    @property
    def size_now(self) -> int:
        """Bytes as of now.

        Raises:
            OSError: there is no such file any more.
        """
        return self.fs.size_of(self.path)

    @property
    def modified_ms(self) -> int:
        """When it was last written, ms since the epoch."""
        return self._asked()[1]

    @property
    def occupied(self) -> int:
        """Bytes that the disk holds: `size` without the holes of a preallocated or sparse file."""
        return self._asked()[2]

    @property
    def inode(self) -> int:
        """The number of the file in its file system; 0 where there is none."""
        return self._asked()[3]

    @property
    def is_there(self) -> bool:
        """Whether the file of this machine that was asked about has its name still."""
        try:
            return os.stat(self.path).st_ino == self.inode
        except FileNotFoundError:
            return False
        except OSError:  # reading says why
            return True

    def __repr__(self) -> str:
        return f"FileEntry({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileEntry) and self.path == other.path

    def __lt__(self, other: "FileEntry") -> bool:
        return self.name < other.name

    def __hash__(self) -> int:
        return hash(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with what `os.stat` says, read now if it was not read before."""
        return _unpickled, (self.fs, self.name, self.path, *self._asked())


def _unpickled(fs: Files, *fields: Any) -> FileEntry:
    return FileEntry(*fields, fs=fs)


def _occupied(status: os.stat_result) -> int:
    """Return the size of a file without its holes; blocks are not rounded up."""
    blocks = getattr(status, "st_blocks", None)  # not on Windows
    if blocks is None or status.st_size - blocks * _UNIT < _BLOCK:
        return status.st_size
    return int(blocks) * _UNIT


UnreadKind = Literal["not-a-file", "link-not-followed", "unreadable"]


class Unread(NamedTuple):
    """A name in a folder that cannot be read, and why. Sorts by name.

    Attributes:
        name: the name in its folder; empty for the folder itself.
        path: the path of that name.
        kind: the kind of the finding that reports it.
        found: what it is: "a FIFO", "a link to /etc, outside of the directory".
    """

    name: str
    path: str
    kind: UnreadKind
    found: str

    @classmethod
    def of_error(cls, name: str, path: str, error: OSError) -> "Unread":
        """Return the entry for a file or folder that could not be opened, from the error."""
        if isinstance(error, LinkError):
            return cls(name, path, "link-not-followed", error.found)
        if isinstance(error, NotRegularFileError):
            return cls(name, path, "not-a-file", error.found)
        return cls(name, path, "unreadable", error.strerror or str(error))


class FolderContents(NamedTuple):
    """What is in a folder, each sorted by name.

    Attributes:
        files: regular files, and links to them.
        folders: names of folders, and of links to folders.
        unread: everything else: FIFOs, sockets, devices, and links that are not followed.
    """

    files: list[FileEntry]
    folders: list[str]
    unread: list[Unread]


def list_folder(path: str, within: str | None = None, fs: Files = THIS_MACHINE) -> FolderContents:
    """Return what is in a folder.

    Args:
        path: the folder.
        within: links that lead out of this folder are not followed; default ``path``.
        fs: what reads it.

    Raises:
        LinkError: ``path`` itself is a link that leads out of ``within``.
        OSError: the folder cannot be listed.
    """
    remote = fs.at(path)
    if remote is not None:
        return remote_contents(path, remote.entries(path), fs)
    if within is None:
        within = path
    elif within != path and os.path.islink(path):
        follow_link(path, within)
    files: list[str] = []
    folders: list[str] = []
    others: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:  # a name comes with its type: no further system call
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                others.append(entry.name)
    start = os.path.join(path, "")
    unread = [_sort_other(name, start + name, within, files, folders) for name in others]
    files.sort()
    folders.sort()
    listed = [FileEntry(name, start + name, fs=fs) for name in files]
    return FolderContents(listed, folders, sorted(each for each in unread if each is not None))


def list_named(path: str, names: Collection[str], fs: Files) -> FolderContents:
    """Return what a folder has of some names; the folder may hold very many others.

    Links that lead out of the folder are not followed.

    Raises:
        OSError: the folder cannot be listed.
    """
    remote = fs.at(path)
    if remote is not None:
        return remote_contents(path, [e for e in remote.entries(path) if e.name in names], fs)
    files: list[str] = []
    folders: list[str] = []
    unread = [
        _sort_other(name, os.path.join(path, name), path, files, folders) for name in sorted(names)
    ]
    listed = [FileEntry(name, os.path.join(path, name), fs=fs) for name in files]
    return FolderContents(listed, folders, [each for each in unread if each is not None])


def remote_contents(path: str, entries: Iterable[RemoteEntry], fs: Files) -> FolderContents:
    """Return what is in a folder that ``fs`` mounts, from what that says is there."""
    there = sorted(entries, key=lambda each: each.name)
    read = [each for each in there if each.refusal is None]
    return FolderContents(
        [
            FileEntry(each.name, f"{path}/{each.name}", each.size, each.modified_ms, fs=fs)
            for each in read
            if not each.is_folder
        ],
        [each.name for each in read if each.is_folder],
        [
            Unread(each.name, f"{path}/{each.name}", "not-a-file", each.refusal)
            for each in there
            if each.refusal is not None
        ],
    )


def _sort_other(
    name: str, path: str, within: str, files: list[str], folders: list[str]
) -> Unread | None:
    """Sort a link by its target; return the entry of a name that is not read."""
    try:
        found = os.lstat(path)
        if is_link := stat.S_ISLNK(found.st_mode):
            found = follow_link(path, within)
    except FileNotFoundError:  # deleted since it was listed
        return None
    except OSError as error:
        return Unread.of_error(name, path, error)
    if stat.S_ISREG(found.st_mode):
        files.append(name)
    elif stat.S_ISDIR(found.st_mode):
        folders.append(name)
    else:
        kind = kind_of_mode(found.st_mode)
        return Unread(name, path, "not-a-file", f"a link to {kind}" if is_link else kind)
    return None


def without_unreadable(contents: FolderContents, names: Collection[str]) -> FolderContents:
    """Return what is in a folder, with files of some names ``unread`` if access to them is denied.

    For the few files that every look at the folder needs; for others, opening them raises.
    """
    refused = [
        file
        for file in contents.files
        if file.name in names
        and file.is_here
        and not os.access(file.path, os.R_OK, effective_ids=_EFFECTIVE)
        and os.path.lexists(file.path)
    ]
    if not refused:
        return contents
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    unread = [Unread.of_error(file.name, file.path, denied) for file in refused]
    files = [file for file in contents.files if file not in refused]
    return contents._replace(files=files, unread=sorted([*contents.unread, *unread]))
