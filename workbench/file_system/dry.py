"""A file system that takes every change and leaves the disk as it is.

What is read is the disk with the changes on top, so that code that writes can show what it would
do. The changes are kept in memory and in temporary files without names, and are gone with it.
"""

import errno
import os
import stat
import threading
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.local import (
    LOCAL,
    Data,
    DirectoryLock,
    Entry,
    File,
    FileSystem,
    Stat,
)
from workbench.file_system.overlay import Overlay

ChangeKind = Literal[
    "create", "write", "truncate", "rename", "remove", "make directory", "remove directory"
]


class Change(NamedTuple):
    """One thing that would have been done to the disk.

    Attributes:
        kind: what.
        path: of the file or folder.
        target: the new path of what is renamed.
        size: bytes written in all, by writes to the file one after the other; or the bytes that a
            file is cut or made longer to.
    """

    kind: ChangeKind
    path: str
    target: str | None = None
    size: int | None = None


class _Folder:
    """A folder: names that were looked at or changed; for others the disk is asked.

    Attributes:
        base: path on the disk; None for one that is not there.
        names: name to what it is now, None for what is not there.
    """

    def __init__(self, base: str | None) -> None:
        self.base = base
        self.names: dict[str, _Folder | Overlay | None] = {}

    def find(self, name: str) -> "_Folder | Overlay | None":
        """Return what has a name in here; None if nothing does."""
        if name not in self.names:
            self.names[name] = self._on_disk(name)
        return self.names[name]

    def _on_disk(self, name: str) -> "_Folder | Overlay | None":
        if self.base is None:
            return None
        path = os.path.join(self.base, name)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return None
        return _Folder(path) if stat.S_ISDIR(found.st_mode) else Overlay(path, found)


class DryFile(File):
    """A file of a `DryFileSystem`."""

    def __init__(self, fs: "DryFileSystem", path: str) -> None:
        super().__init__(path)
        self._fs = fs
        self._overlay: Overlay | None = None

    @property
    def overlay(self) -> Overlay:
        """The file's bytes; from the first use on those of the same file, whatever its name."""
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

    def read_bytes(self, position: int, size: int) -> bytes:
        """Return the ``size`` bytes from ``position``, fewer at the end of the file."""
        buffer = np.empty(size, np.uint8)
        return buffer[: self.overlay.read_into(buffer, position)].tobytes()

    def write(self, data: Data, position: int) -> None:
        """Keep ``data`` as what stands at ``position``."""
        view = memoryview(data).cast("B")
        self.overlay.write(view, position)
        self._fs.note("write", self.path, size=len(view))

    def truncate(self, size: int) -> None:
        """Take the file for cut to ``size`` bytes, or made longer with zeros."""
        self.overlay.truncate(size)
        self._fs.note("truncate", self.path, size=size)

    def sync(self) -> None:
        """Do nothing but look whether the file is there."""
        _ = self.overlay

    def prepare_removal(self) -> None:
        """Do nothing: one process predicts."""

    def close(self) -> None:
        """Close what is open on the disk."""
        if self._overlay is not None:
            self._overlay.close()
            self._overlay = None


class DryFileSystem(FileSystem):
    """Keeps all changes to itself. Threads may share it.

    Locks are not taken: what is only looked at may be in use.

    Args:
        base: what is listed where nothing was changed.
    """

    def __init__(self, base: FileSystem = LOCAL) -> None:
        self._base = base
        self._root = _Folder(os.path.abspath(os.sep))
        self._changes: list[Change] = []
        self._last: dict[str, int] = {}  # path to the place of its newest change
        self._lock = threading.RLock()

    @property
    def changes(self) -> tuple[Change, ...]:
        """What would have been done, in order; writes to a file one after the other are one."""
        with self._lock:
            return tuple(self._changes)

    def open(self, path: str) -> File:
        """Return a file to read and write; it need not exist until it is used."""
        return DryFile(self, path)

    def create(self, path: str) -> File:
        """Return a file to read and write, made empty if it is not there."""
        with self._lock:
            folder, name = self._parent(path)
            there = folder.find(name)
            if isinstance(there, _Folder):
                raise _error(errno.EISDIR, path)
            if there is None:
                folder.names[name] = Overlay()
                self.note("create", path)
        return self.open(path)

    def read(self, path: str) -> bytes:
        """Return the bytes of a small file."""
        overlay = self.overlay(path)
        buffer = np.empty(overlay.size, np.uint8)
        data = buffer[: overlay.read_into(buffer, 0)].tobytes()
        overlay.close()
        return data

    def list(self, path: str) -> list[Entry]:
        """Return what is in a folder, sorted by name."""
        with self._lock:
            folder = self._folder(path)
            on_disk = [] if folder.base is None else self._base.list(folder.base)
            found = {entry.name: entry for entry in on_disk}
            for name, node in folder.names.items():
                if node is None:
                    found.pop(name, None)
                else:
                    found[name] = Entry(name, isinstance(node, _Folder))
            return sorted(found.values())

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder of this name."""
        with self._lock:
            try:
                self._find(path)
            except OSError:
                return False
            return True

    def stat(self, path: str) -> Stat:
        """Return size and time of a file."""
        with self._lock:
            node = self._find(path)
            if isinstance(node, Overlay):
                return Stat(node.size, node.modified_ms)
            return Stat(0, 0) if node.base is None else self._base.stat(node.base)

    def rename(self, old: str, new: str) -> None:
        """Give a file or folder another name; a file of that name is replaced."""
        with self._lock:
            folder, name = self._parent(old)
            new_folder, new_name = self._parent(new)
            node, there = folder.find(name), new_folder.find(new_name)
            if node is None:
                raise _error(errno.ENOENT, old)
            if _is_below(new, old):
                raise _error(errno.EINVAL, new)
            if _is_below(old, new):
                raise _error(errno.ENOTEMPTY, new)
            if isinstance(there, _Folder):
                if not isinstance(node, _Folder):
                    raise _error(errno.EISDIR, new)
                if there is not node and self.list(new):
                    raise _error(errno.ENOTEMPTY, new)
            elif there is not None and isinstance(node, _Folder):
                raise _error(errno.ENOTDIR, new)
            folder.names[name] = None
            new_folder.names[new_name] = node
            self.note("rename", old, target=new)

    def remove(self, path: str) -> None:
        """Remove a file."""
        with self._lock:
            folder, name = self._parent(path)
            node = folder.find(name)
            if not isinstance(node, Overlay):
                raise _error(errno.ENOENT if node is None else errno.EISDIR, path)
            folder.names[name] = None
            self.note("remove", path)

    def make_directory(self, path: str) -> None:
        """Make a folder."""
        with self._lock:
            folder, name = self._parent(path)
            if folder.find(name) is not None:
                raise _error(errno.EEXIST, path)
            folder.names[name] = _Folder(None)
            self.note("make directory", path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty folder."""
        with self._lock:
            if self.list(path):
                raise _error(errno.ENOTEMPTY, path)
            folder, name = self._parent(path)
            folder.names[name] = None
            self.note("remove directory", path)

    def sync_directory(self, path: str) -> None:
        """Do nothing but look whether the folder is there."""
        with self._lock:
            self._folder(path)

    def set_modified(self, path: str, modified_ms: int) -> None:
        """Take the time of a file's last change for this, ms since the epoch."""
        self.overlay(path).modified_ms = modified_ms

    def lock(self, path: str) -> DirectoryLock:
        """Return a lock that locks nothing."""
        del path
        return DirectoryLock(-1)

    # --- for its files -----------------------------------------------------------------------

    def overlay(self, path: str) -> Overlay:
        """Return the bytes of a file.

        Raises:
            OSError: it is not there, or is a folder.
        """
        with self._lock:
            node = self._find(path)
            if isinstance(node, _Folder):
                raise _error(errno.EISDIR, path)
            return node

    def note(
        self, kind: ChangeKind, path: str, *, target: str | None = None, size: int | None = None
    ) -> None:
        """Remember a change; a write right after a write to the same file is added to it."""
        with self._lock:
            at = self._last.get(path)
            if kind == "write" and at is not None and self._changes[at].kind == kind:
                written = (self._changes[at].size or 0) + (size or 0)
                self._changes[at] = self._changes[at]._replace(size=written)
                return
            self._last[path] = len(self._changes)
            self._changes.append(Change(kind, path, target, size))

    # --- names -------------------------------------------------------------------------------

    def _find(self, path: str) -> _Folder | Overlay:
        """Return what has a path.

        Raises:
            OSError: nothing does.
        """
        node: _Folder | Overlay | None = self._root
        _, tail = os.path.splitdrive(os.path.abspath(path))
        for name in filter(None, tail.split(os.sep)):
            if isinstance(node, Overlay):
                raise _error(errno.ENOTDIR, path)
            node = None if node is None else node.find(name)
        if node is None:
            raise _error(errno.ENOENT, path)
        return node

    def _folder(self, path: str) -> _Folder:
        node = self._find(path)
        if isinstance(node, Overlay):
            raise _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[_Folder, str]:
        """Return the folder that a path is in, and its name there."""
        head, name = os.path.split(os.path.abspath(path))
        return self._folder(head), name


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path is in a folder, at any depth."""
    return os.path.abspath(path).startswith(os.path.abspath(folder) + os.sep)


def _error(number: int, path: str) -> OSError:
    """Return the error that the system would raise."""
    return OSError(number, os.strerror(number), path)
