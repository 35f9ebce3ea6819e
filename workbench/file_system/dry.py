"""A file system that accepts every change and leaves the disk as it is.

Reads see the disk with the changes on top, so code that writes can show what it would do. The
changes are kept in memory and in temporary files without names, as long as the file system is.
"""

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import LinkError, NotRegularFileError
from workbench.file_system.local import (
    LOCAL,
    Data,
    DirectoryLock,
    File,
    FileSystem,
    FolderEntry,
    Stat,
)
from workbench.file_system.overlay import Overlay
from workbench.file_system.source import (
    Files,
    RemoteEntry,
    RemoteFiles,
    absolute,
    follow_link,
    is_uri,
)

_NO_NAMES: Final = {"", os.curdir, os.pardir}

ChangeKind = Literal[
    "create", "write", "truncate", "rename", "remove", "make directory", "remove directory"
]


class Change(NamedTuple):
    """One change that would have been made on the disk.

    Attributes:
        kind: what would have been done.
        path: the file or folder.
        target: the new path of a rename.
        size: bytes written in all, by consecutive writes to the file; or the new size of a file
            that is truncated or extended.
    """

    kind: ChangeKind
    path: str
    target: str | None = None
    size: int | None = None


class _Folder(dict[str, "_Folder | Overlay | None"]):
    """A folder: name → what it is now, None if nothing; looked up on the disk at its first use.

    Attributes:
        fs: what reads the disk.
        now: gives the time of a change, ms.
        base: path on the disk; None if it does not exist there.
        within: folder that links must not lead out of; None if they may lead anywhere.
    """

    def __init__(
        self, fs: Files, base: str | None, now: Callable[[], int], within: str | None = None
    ) -> None:
        self.fs = fs
        self.now = now
        self.base = base
        self.within = within
        self._listed: Mapping[str, FolderEntry | RemoteEntry] | None = None  # as the disk has it

    def __missing__(self, name: str) -> "_Folder | Overlay | None":
        """Look up a name on the disk."""
        found = self[name] = self._look_up(name)
        return found

    def on_disk(self, disk: FileSystem) -> Mapping[str, FolderEntry | RemoteEntry]:
        """Return what is in the folder without the changes, by name: as it was at the first call.

        What a log looks for again and again is then found without the disk.
        """
        if self._listed is None:
            entries: Iterable[FolderEntry | RemoteEntry] = ()
            files = self._mounted_files()
            if files is not None:
                entries = files.entries(str(self.base))
            elif self.base is not None:
                entries = disk.list(self.base)
            self._listed = {entry.name: entry for entry in entries}
        return self._listed

    def _mounted_files(self) -> RemoteFiles | None:
        """Return what the folder is read through; None if it is on the disk, or not there."""
        return None if self.base is None else self.fs.at(self.base)

    def _mounted(self, path: str, name: str, files: RemoteFiles) -> "_Folder | Overlay | None":
        entry: FolderEntry | RemoteEntry | None
        if self._listed is not None and self._mounted_files() is not None:
            entry = self._listed.get(name)
        else:
            entry = files.entry(path)
        if not isinstance(entry, RemoteEntry):
            return None
        if entry.is_folder:
            return _Folder(self.fs, path, self.now)
        return Overlay(path, mounted=entry, fs=self.fs, now=self.now)

    def _look_up(self, name: str) -> "_Folder | Overlay | None":
        if self.base is None:
            return None
        path = name if "://" in name else os.path.join(self.base, name)
        files = self.fs.at(path)
        if files is not None:
            return self._mounted(path, name, files)
        try:
            own = os.lstat(path)
            is_link = stat.S_ISLNK(own.st_mode)
            found = os.stat(path) if is_link else own
        except FileNotFoundError:
            return None
        except OSError:
            if self.within is None or not os.path.islink(path):
                raise
            is_link, found = True, os.lstat(path)
        if is_link and self.within is not None:
            try:
                follow_link(path, str(self.within))
            except LinkError as error:
                return Overlay(path, found, error, now=self.now)
        if stat.S_ISDIR(found.st_mode):
            return _Folder(self.fs, path, self.now, self.within)
        return Overlay(path, found, now=self.now)


class DryFile(File):
    """A file of a `DryFileSystem`."""

    def __init__(self, fs: "DryFileSystem", path: str) -> None:
        super().__init__(path)
        self._fs = fs
        self._overlay: Overlay | None = None

    @property
    def overlay(self) -> Overlay:
        """The file's bytes; after the first use always the same file's, even if it is renamed."""
        if self._overlay is None:
            self._overlay = self._fs.overlay(self.path)
        return self._overlay

    @property
    def descriptor(self) -> int:  # type: ignore[override]  # the base keeps it as an attribute
        """A descriptor to read from."""
        return self.overlay.descriptor

    @property
    def size(self) -> int:
        """Size of the file now, in bytes."""
        return self.overlay.size

    def read_into(self, buffer: npt.NDArray[np.uint8], position: int) -> int:
        """Fill ``buffer``, uint8[n], from ``position``; return how many bytes there were."""
        return self.overlay.read_into(buffer, position)

    def past_hole(self, position: int, end: int) -> int:
        """Return the first position in [position, end] that is not known to be a hole's zeros."""
        return self.overlay.past_hole(position, end)

    def read_bytes(self, position: int, size: int) -> bytes:
        """Return the ``size`` bytes from ``position``, fewer at the end of the file."""
        buffer = np.empty(size, np.uint8)
        return buffer[: self.overlay.read_into(buffer, position)].tobytes()

    def write(self, data: Data, position: int) -> None:
        """Keep ``data`` as the bytes at ``position``."""
        view = memoryview(data).cast("B")
        self.overlay.write(view, position)
        self._fs.note("write", self.path, size=len(view))

    def truncate(self, size: int) -> None:
        """Truncate the file to ``size`` bytes, or extend it with zeros, in memory."""
        self.overlay.truncate(size)
        self._fs.note("truncate", self.path, size=size)

    def sync(self) -> None:
        """Do nothing but check that the file exists."""
        _ = self.overlay

    def prepare_removal(self) -> None:
        """Do nothing: only one process predicts."""

    def close(self) -> None:
        """Close what is open on the disk."""
        if self._overlay is not None:
            self._overlay.close()
            self._overlay = None


class DryFileSystem(FileSystem):
    """Keep all changes off the disk. Threads may share it.

    No lock is taken: the directory that is only read may be in use.

    Args:
        base: what reads the files below the changes.
        within: folders; links in them are not followed out of the one they are in.
        now: gives the time of a change, ms, as of the clock of a log that is written through it.
    """

    is_dry = True

    def __init__(
        self, base: Files = LOCAL, within: Iterable[str] = (), *, now: Callable[[], int]
    ) -> None:
        self._base = base
        self._now = now
        self._disk = base if isinstance(base, FileSystem) else LOCAL
        self._within = frozenset(map(absolute, within))
        self._root = _Folder(base, os.path.abspath(os.sep), now)
        self._folders: dict[str, _Folder] = {}  # path → a folder that was found there
        self._changes: list[Change] = []
        self._last: dict[str, int] = {}  # path → index of its newest change
        self._lock = threading.RLock()

    def at(self, path: str) -> RemoteFiles | None:
        """Return what the files below the changes are read through; see `Files.at`."""
        return self._base.at(path)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes, in order; consecutive writes to a file are one change."""
        with self._lock:
            return tuple(self._changes)

    def open(self, path: str) -> File:
        """Return a file to read and write; it need not exist until it is used."""
        return DryFile(self, path)

    def create(self, path: str) -> File:
        """Return a file to read and write, created empty if it does not exist."""
        with self._lock:
            folder, name = self._parent(path)
            if folder[name] is None:
                folder[name] = Overlay(now=self._now)
                self.note("create", path)
            self.overlay(path)
        return self.open(path)

    def read(self, path: str, most: int = -1) -> bytes:
        """Return the bytes of a small file, at most the first ``most`` unless that is below 0."""
        overlay = self.overlay(path)
        buffer = np.empty(overlay.size if most < 0 else min(most, overlay.size), np.uint8)
        data = buffer[: overlay.read_into(buffer, 0)].tobytes()
        overlay.close()
        return data

    def list(self, path: str) -> list[FolderEntry]:
        """Return what is in a folder, sorted by name."""
        with self._lock:
            folder = self._folder(path)
            on_disk = folder.on_disk(self._disk)
            found: dict[str, FolderEntry] = {}
            for name, each in on_disk.items():
                if isinstance(each, RemoteEntry):
                    each = FolderEntry(name, each.is_folder)  # noqa: PLW2901 - the same, as a disk's
                found[name] = each
            for name, node in folder.items():
                if node is None:
                    found.pop(name, None)
                else:
                    found[name] = FolderEntry(name, isinstance(node, _Folder) or node.is_directory)
            return sorted(found.values())

    def exists(self, path: str) -> bool:
        """Return whether a file or folder of this name exists."""
        with self._lock:
            try:
                self._find(path)
            except PermissionError:  # it cannot be known
                raise
            except OSError:
                return False
            return True

    def stat(self, path: str) -> Stat:
        """Return size and time of a file."""
        with self._lock:
            node = self._find(path)
            if isinstance(node, Overlay):
                if node.refusal is not None:
                    raise node.refusal
                return Stat(node.size, node.modified_ms)
            is_here = node.base is not None and self.at(node.base) is None
            return self._disk.stat(str(node.base)) if is_here else Stat(0, 0)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder; a file of the new name is replaced."""
        with self._lock:
            (folder, name), (new_folder, new_name) = self._parent(old), self._parent(new)
            node, there = folder[name], new_folder[new_name]
            if node is None:
                raise _error(errno.ENOENT, old)
            if isinstance(node, _Folder) and _is_below(new, old):
                raise _error(errno.EINVAL, new)
            if isinstance(there, _Folder):
                if _is_below(old, new):
                    raise _error(errno.ENOTEMPTY, new)
                if not isinstance(node, _Folder):
                    raise _error(errno.EISDIR, new)
                if there is not node and self.list(new):
                    raise _error(errno.ENOTEMPTY, new)
            elif there is not None and isinstance(node, _Folder):
                raise _error(errno.ENOTDIR, new)
            folder[name] = None
            new_folder[new_name] = node
            if isinstance(node, _Folder):
                self._folders.clear()
            self.note("rename", old, target=new)

    def remove(self, path: str) -> None:
        """Remove a file."""
        with self._lock:
            folder, name = self._parent(path)
            node = folder[name]
            if not isinstance(node, Overlay):
                raise _error(errno.ENOENT if node is None else errno.EISDIR, path)
            folder[name] = None
            self.note("remove", path)

    def make_directory(self, path: str) -> None:
        """Create a folder."""
        with self._lock:
            folder, name = self._parent(path)
            if folder[name] is not None:
                raise _error(errno.EEXIST, path)
            folder[name] = _Folder(self._base, None, self._now)
            self.note("make directory", path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty folder."""
        with self._lock:
            if self.list(path):
                raise _error(errno.ENOTEMPTY, path)
            folder, name = self._parent(path)
            folder[name] = None
            self._folders.clear()
            self.note("remove directory", path)

    def sync_directory(self, path: str) -> None:
        """Do nothing but check that the folder exists."""
        with self._lock:
            self._folder(path)

    def set_modified(self, path: str, modified_ms: int) -> None:
        """Set the time of a file's last change, ms since the epoch, in memory."""
        self.overlay(path).modified_ms = modified_ms

    def lock(self, path: str) -> DirectoryLock:
        """Return a lock that locks nothing."""
        del path
        return DirectoryLock(-1)

    # --- for its files -----------------------------------------------------------------------

    def overlay(self, path: str) -> Overlay:
        """Return the bytes of a file.

        Raises:
            NotRegularFileError: a folder, FIFO, socket or device has this name.
            LinkError: it is a link out of one of the folders of ``within``.
            OSError: it does not exist.
        """
        with self._lock:
            node = self._find(path)
            if isinstance(node, _Folder):
                raise NotRegularFileError(path, "a folder")
            if node.refusal is not None:
                raise node.refusal
            return node

    def note(
        self, kind: ChangeKind, path: str, *, target: str | None = None, size: int | None = None
    ) -> None:
        """Record a change; a write directly after a write to the same file is added to it."""
        with self._lock:
            at = self._last.get(path)
            if kind == "write" and at is not None and self._changes[at].kind == kind:
                written = (self._changes[at].size or 0) + (size or 0)
                self._changes[at] = self._changes[at]._replace(size=written)
                return
            self._last[path] = len(self._changes)
            self._changes.append(Change(kind, path, target, size))

    # --- names -------------------------------------------------------------------------------

    def close_files(self) -> None:
        """Close what is open on the disk; files that are read again are opened again."""
        with self._lock:
            folders = [self._root]
            while folders:
                for found in folders.pop().values():
                    if isinstance(found, _Folder):
                        folders.append(found)
                    elif found is not None:
                        found.close()

    def _find(self, path: str) -> _Folder | Overlay:
        """Return what has a path.

        Raises:
            OSError: nothing does.
        """
        head, _, name = path.rpartition(os.sep)
        folder = self._folders.get(head) if name not in _NO_NAMES else None
        whole = absolute(path) if folder is None else path
        node = self._walk(whole) if folder is None else folder[name]
        if node is None:
            raise _error(errno.ENOENT, path)
        if isinstance(node, _Folder):
            if node.base in self._within:
                node.within = node.base
            self._folders[whole] = node
        return node

    def _walk(self, path: str) -> _Folder | Overlay | None:
        """Return what has an absolute path, looked up from the root; None if nothing does."""
        node: _Folder | Overlay | None = self._root
        for name in _names(path):
            if isinstance(node, Overlay):
                raise node.refusal or _error(errno.ENOTDIR, path)
            node = None if node is None else node[name]
            if isinstance(node, _Folder) and node.base in self._within:
                node.within = node.base
        return node

    def _folder(self, path: str) -> _Folder:
        node = self._find(path)
        if isinstance(node, Overlay):
            raise node.refusal or _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[_Folder, str]:
        """Return the folder that a path is in, and its name there."""
        head, name = os.path.split(path)
        folder = self._folders.get(head) if name not in _NO_NAMES else None
        if folder is None:
            head, name = os.path.split(absolute(path))
            folder = self._folder(head)
        return folder, name


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path is in a folder, at any depth."""
    return absolute(path).startswith(absolute(folder) + os.sep)


def _names(path: str) -> list[str]:
    """Return the names on the way to an absolute path; a URI's first is its scheme and server."""
    if is_uri(path):
        scheme, _, rest = path.partition("://")
        server, _, tail = rest.partition("/")
        return [f"{scheme}://{server}", *filter(None, tail.split("/"))]
    _, tail = os.path.splitdrive(path)
    return [*filter(None, tail.split(os.sep))]


def _error(number: int, path: str) -> OSError:
    """Return the error that the operating system would raise."""
    return OSError(number, os.strerror(number), path)
