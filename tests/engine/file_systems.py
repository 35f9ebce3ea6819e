"""File systems that remember what was done to them, or that fail.

`RecordingFileSystem` does what it is told and keeps every operation with its data; from these
`tests.engine.crash_states` makes the states that a crash may leave. `FailingFileSystem` fails at
the n-th operation that changes something.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from workbench.file_system.local import LOCAL, Data, DirectoryLock, File, FileSystem

OperationKind = Literal[
    "create",
    "write",
    "truncate",
    "sync",
    "rename",
    "remove",
    "make_directory",
    "remove_directory",
    "sync_directory",
    "set_modified",
]


class Operation(NamedTuple):
    """One change that was asked for; paths are as they were given.

    Attributes:
        kind: the method of `File` or `FileSystem`.
        path: the file's or folder's.
        target: the new name, of a rename.
        data: what is written.
        number: position of a write, size of a truncation, time of `set_modified`.
        file: number of the file that is open, the same under all its names; -1 where none is.
    """

    kind: OperationKind
    path: str
    target: str = ""
    data: bytes = b""
    number: int = 0
    file: int = -1


class WatchedFile(File):
    """A file whose changes the file system hears of first."""

    def __init__(self, fs: "WatchedFileSystem", path: str, descriptor: int | None = None) -> None:
        super().__init__(path, descriptor=descriptor)
        self._fs = fs
        self._number = -1 if descriptor is None else fs.number_of(path)

    @property
    def descriptor(self) -> int:  # type: ignore[override]  # the base keeps it as an attribute
        """The operating system's number of the open file."""
        if self._descriptor is None:
            self._number = self._fs.number_of(self.path)
        return super().descriptor

    def write(self, data: Data, position: int) -> None:
        """Write and report it."""
        written = memoryview(data).tobytes()
        with self._telling("write", data=written, number=position) as short:
            super().write(written[: len(written) // 2] if short else data, position)

    def truncate(self, size: int) -> None:
        """Truncate and report it."""
        with self._telling("truncate", number=size):
            super().truncate(size)

    def sync(self) -> None:
        """Sync and report it."""
        with self._telling("sync"):
            super().sync()

    @contextmanager
    def _telling(
        self, kind: OperationKind, *, data: bytes = b"", number: int = 0
    ) -> Iterator[bool]:
        _ = self.descriptor
        operation = Operation(kind, self.path, data=data, number=number, file=self._number)
        with self._fs.telling(operation) as short:
            yield short


class WatchedFileSystem(FileSystem):
    """The file system of this machine, with `before` and `after` around every change."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._next_number = 0

    def before(self, operation: Operation) -> bool:
        """Hear of a change; return whether a write is to be done by half and then fail."""
        del operation
        return False

    def after(self, operation: Operation) -> None:
        """Hear of a change that was made."""

    def number_of(self, path: str) -> int:
        """Return the number of the file that has a path."""
        path = os.path.abspath(path)
        if path not in self._numbers:
            self._numbers[path] = self._next_number
            self._next_number += 1
        return self._numbers[path]

    @contextmanager
    def telling(self, operation: Operation) -> Iterator[bool]:
        """Report a change before and after it; yields whether to do it by half."""
        short = self.before(operation)
        yield short
        if short:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), operation.path)
        self.after(operation)

    def _moved(self, old: str, new: str) -> None:
        """Follow a rename; of a folder, with all that is in it."""
        old, new = os.path.abspath(old), os.path.abspath(new)
        for path in list(self._numbers):
            if path == old or path.startswith(old + os.sep):
                self._numbers[new + path[len(old) :]] = self._numbers.pop(path)

    def open(self, path: str) -> File:
        """See `FileSystem`."""
        return WatchedFile(self, path)

    def create(self, path: str) -> File:
        """See `FileSystem`; one that is there already is no change."""
        if os.path.exists(path):
            return self.open(path)
        with self.telling(Operation("create", path, file=self.number_of(path))):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        return WatchedFile(self, path, descriptor)

    def rename(self, old: str, new: str) -> None:
        """See `FileSystem`."""
        with self.telling(Operation("rename", old, target=new)):
            super().rename(old, new)
            self._numbers.pop(os.path.abspath(new), None)
            self._moved(old, new)

    def remove(self, path: str) -> None:
        """See `FileSystem`."""
        with self.telling(Operation("remove", path)):
            super().remove(path)
            self._numbers.pop(os.path.abspath(path), None)

    def make_directory(self, path: str) -> None:
        """See `FileSystem`."""
        with self.telling(Operation("make_directory", path)):
            super().make_directory(path)

    def remove_directory(self, path: str) -> None:
        """See `FileSystem`."""
        with self.telling(Operation("remove_directory", path)):
            super().remove_directory(path)

    def sync_directory(self, path: str) -> None:
        """See `FileSystem`."""
        with self.telling(Operation("sync_directory", path)):
            super().sync_directory(path)

    def set_modified(self, path: str, modified_ms: int) -> None:
        """See `FileSystem`."""
        with self.telling(Operation("set_modified", path, number=modified_ms)):
            super().set_modified(path, modified_ms)

    def lock(self, path: str) -> DirectoryLock:
        """See `FileSystem`; not told."""
        return LOCAL.lock(path)


class RecordingFileSystem(WatchedFileSystem):
    """Remembers every change below a folder.

    Args:
        root: the folder; what is in it now is on the disk for good.

    Attributes:
        root: its path.
        initial: path below ``root`` to its bytes, None for a folder.
        initial_numbers: path below ``root`` to the number of the file.
        operations: what was done, in order.
        marks: (how many operations were done before, what was noted).
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__()
        self.root = os.path.abspath(os.fspath(root))
        self.initial = tree(self.root)
        self.initial_numbers = {
            path: self.number_of(os.path.join(self.root, path))
            for path, data in self.initial.items()
            if data is not None
        }
        self.operations: list[Operation] = []
        self.marks: list[tuple[int, Any]] = []

    def after(self, operation: Operation) -> None:
        """Remember a change."""
        self.operations.append(operation)

    def mark(self, what: Any) -> None:
        """Note something that is true from here on, for those who look at the states of a crash.

        What was flushed, for example: in all states of crashes after this it must be there.
        """
        self.marks.append((len(self.operations), what))


class FailingFileSystem(WatchedFileSystem):
    """Fails once, or from then on.

    Args:
        fail_at: number of the change that fails, from 0; None: none does.
        error: number of the error, EIO or ENOSPC; or "short": half of a write is done, then
            ENOSPC (another change than a write fails with EIO then).
        stays: whether all later changes fail too.
        only: which changes count; default: all.

    Attributes:
        count: how many changes were asked for.
        failed: the change that failed first; None if none did.
    """

    def __init__(
        self,
        fail_at: int | None = None,
        error: int | Literal["short"] = errno.EIO,
        *,
        stays: bool = False,
        only: Callable[[Operation], bool] | None = None,
    ) -> None:
        super().__init__()
        self.count = 0
        self.failed: Operation | None = None
        self._fail_at = fail_at
        self._error = error
        self._stays = stays
        self._only = only

    def before(self, operation: Operation) -> bool:
        """Fail, if it is time to."""
        if self._only is not None and not self._only(operation):
            return False
        number = self.count
        self.count += 1
        if self._fail_at is None or number < self._fail_at:
            return False
        if number > self._fail_at and not self._stays:
            return False
        self.failed = self.failed or operation
        if self._error == "short" and operation.kind == "write":
            return True
        error = errno.EIO if self._error == "short" else self._error
        raise OSError(error, os.strerror(error), operation.path)


def tree(root: str) -> dict[str, bytes | None]:
    """Return what is in a folder: path below it to bytes, None for a folder; parents first."""
    found: dict[str, bytes | None] = {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), root)] = None
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found
