"""The states of a disk that a crash may leave, made from what was done before it.

What a file system promises, and no more: written bytes are on the disk once their file was synced;
until then each write may be there or not, and the last may be there in part, in any sectors or to
any byte. Names that were made, changed and removed are there once their folder was synced; until
then the last of them may be missing, in each folder for itself, but not one and a later one there.
A rename in one folder happens or does not. A file whose name is there may still have no bytes.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from tests.engine.file_systems import Operation, RecordingFileSystem

SECTOR: Final = 512  # bytes that a disk writes whole

Tree = dict[str, bytes | None]


class CrashState(NamedTuple):
    """What a crash left.

    Attributes:
        at: how many operations had been done.
        choice: what of the unsynced ones is there, as text.
        tree: path below the root to bytes, None for a folder; parents first.
        marks: what had been noted before, in order.
    """

    at: int
    choice: str
    tree: Tree
    marks: list[Any]

    def write_to(self, directory: str | os.PathLike[str]) -> None:
        """Make the files and folders below a folder, which must be empty or not there."""
        root = Path(directory)
        root.mkdir(parents=True, exist_ok=True)
        for path, data in self.tree.items():
            if data is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(data)


class _NameChange(NamedTuple):
    """Names that one operation unlinked and linked: (folder, name) and (folder, name, what)."""

    unlinked: tuple[int, str] | None
    linked: tuple[int, str, "_Node"] | None

    def folders(self) -> set[int]:
        """Return the folders whose names it changes."""
        return {change[0] for change in (self.unlinked, self.linked) if change is not None}

    def makes_folder(self, number: int) -> bool:
        """Return whether it made this folder."""
        folder = _Node(is_folder=True, number=number)
        return self.unlinked is None and self.linked is not None and self.linked[2] == folder


class _Node(NamedTuple):
    """A file by its number, or a folder by its own."""

    is_folder: bool
    number: int


_Folders = dict[int, dict[str, _Node]]
_ROOT: Final = _Node(is_folder=True, number=0)


@dataclass
class _File:
    """What is on the disk of a file, and what was asked for since it was synced."""

    synced: bytes = b""
    pending: list[Operation] = field(default_factory=list)

    def bytes(self, count: int, torn: bytes | None = None) -> bytes:
        """Return the bytes with the first ``count`` pending operations.

        Args:
            count: of operations.
            torn: what is on the disk of the next write; None: nothing.
        """
        data = bytearray(self.synced)
        for operation in self.pending[:count]:
            _apply(data, operation, operation.data)
        if torn is not None:
            _apply(data, self.pending[count], torn)
        return bytes(data)


def _apply(data: bytearray, operation: Operation, written: bytes) -> None:
    if operation.kind == "write" and not written:
        return
    end = operation.number + len(written)
    if operation.kind == "truncate":
        del data[end:]
    data.extend(bytes(max(0, end - len(data))))
    if operation.kind == "write":
        data[operation.number : end] = written


class _Disk:
    """Replays operations, and knows of each whether it is on the disk for good."""

    def __init__(self, recording: RecordingFileSystem) -> None:
        self._root = recording.root
        self._next_folder = 1
        self.files: dict[int, _File] = {}
        self.folders: _Folders = {0: {}}  # as they would be if all were on the disk
        for path, data in recording.initial.items():
            if data is None:
                node = self._new_folder()
            else:
                node = _Node(is_folder=False, number=recording.initial_numbers[path])
                self.files[node.number] = _File(data)
            folder, name = self._place(os.path.join(self._root, path))
            self.folders[folder][name] = node
        self.synced_folders = {number: dict(names) for number, names in self.folders.items()}
        self.pending: list[_NameChange] = []

    def do(self, operation: Operation) -> None:
        """Replay one operation."""
        kind = operation.kind
        if kind in {"write", "truncate"}:
            self.files[operation.file].pending.append(operation)
        elif kind == "sync":
            file = self.files[operation.file]
            file.synced = file.bytes(len(file.pending))
            file.pending.clear()
        elif kind == "sync_directory":
            self._sync_folder(self._find(operation.path).number)
        elif kind != "set_modified":
            change = self._name_change(operation)
            _rename(self.folders, change)
            self.pending.append(change)

    def tree(self, files: dict[int, bytes], names: dict[int, int] | None = None) -> Tree:
        """Return the files and folders below the root.

        Args:
            files: number of a file to its bytes; for others those that are synced.
            names: number of a folder to how many of the pending changes of names concern it and
                are on the disk; for others all are. None: none at all are.
        """
        folders = {number: dict(held) for number, held in self.synced_folders.items()}
        left = {} if names is None else dict(names)
        blocked: set[int] = set()
        for change in self.pending if names is not None else []:
            for folder in change.folders():
                if folder in left:
                    left[folder] -= 1
                    if left[folder] < 0:
                        blocked.add(folder)
            if not change.folders() & blocked:
                _rename(folders, change)
        found: Tree = {}
        self._collect(folders, _ROOT, "", files, found)
        return found

    def _collect(
        self, folders: _Folders, node: _Node, path: str, files: dict[int, bytes], found: Tree
    ) -> None:
        for name, inner in sorted(folders.get(node.number, {}).items()):
            where = os.path.join(path, name)
            if inner.is_folder:
                found[where] = None
                self._collect(folders, inner, where, files, found)
            else:
                found[where] = files.get(inner.number, self.files[inner.number].synced)

    def unsynced(self) -> dict[int, _File]:
        """Return the files with operations that a crash may lose."""
        return {number: file for number, file in self.files.items() if file.pending}

    def _sync_folder(self, number: int) -> None:
        """Put the changes of names in a folder on the disk, and the folder's own name."""
        kept = []
        for change in self.pending:
            if number in change.folders() or change.makes_folder(number):
                _rename(self.synced_folders, change)
            else:
                kept.append(change)
        self.pending = kept

    def _new_folder(self) -> _Node:
        node = _Node(is_folder=True, number=self._next_folder)
        self._next_folder += 1
        self.folders[node.number] = {}
        return node

    def _find(self, path: str) -> _Node:
        node = _ROOT
        relative = os.path.relpath(os.path.abspath(path), self._root)
        for name in [] if relative == "." else relative.split(os.sep):
            node = self.folders[node.number][name]
        return node

    def _place(self, path: str) -> tuple[int, str]:
        head, name = os.path.split(path)
        return self._find(head).number, name

    def _name_change(self, operation: Operation) -> _NameChange:
        place = self._place(operation.path)
        if operation.kind == "rename":
            node = self.folders[place[0]][place[1]]
            return _NameChange(place, (*self._place(operation.target), node))
        if operation.kind == "create":
            self.files[operation.file] = _File()
            return _NameChange(None, (*place, _Node(is_folder=False, number=operation.file)))
        if operation.kind == "make_directory":
            return _NameChange(None, (*place, self._new_folder()))
        return _NameChange(place, None)


def _rename(folders: _Folders, change: _NameChange) -> None:
    if change.unlinked is not None:
        folder, name = change.unlinked
        folders.setdefault(folder, {}).pop(name, None)
    if change.linked is not None:
        folder, name, node = change.linked
        folders.setdefault(folder, {})[name] = node


def crash_states(
    recording: RecordingFileSystem, *, seed: int = 0, extra: int = 2
) -> Iterator[CrashState]:
    """Yield the states that crashes after each operation may leave, each different from the last.

    Args:
        recording: what was done.
        seed: that of the random choices.
        extra: how many states by chance there are after each operation.
    """
    disk = _Disk(recording)
    rng = Random(seed)
    seen: set[int] = set()
    for at in range(len(recording.operations) + 1):
        operation = recording.operations[at - 1] if at else None
        if operation is not None:
            disk.do(operation)
        marks = [what for done, what in recording.marks if done <= at]
        marks_before = [what for done, what in recording.marks if done < at]
        for choice, tree in _choices(disk, operation, rng, extra):
            digest = hash((tuple(tree.items()), len(marks)))
            if digest not in seen:
                seen.add(digest)
                known = marks_before if choice.startswith("torn") else marks
                yield CrashState(at, choice, tree, known)


def _choices(
    disk: _Disk, last: Operation | None, rng: Random, extra: int
) -> Iterator[tuple[str, Tree]]:
    """Yield states that may be on the disk now, with what makes them different."""
    unsynced = disk.unsynced()
    everything = {number: file.bytes(len(file.pending)) for number, file in unsynced.items()}
    yield "all is there", disk.tree(everything, {})
    yield "what was not synced is missing", disk.tree({})
    yield "names without bytes", disk.tree({}, {})
    yield "bytes without names", disk.tree(everything)
    if last is not None and last.kind == "write" and last.file in unsynced:
        file = unsynced[last.file]
        for torn in _torn(last, rng):
            data = file.bytes(len(file.pending) - 1, torn)
            words = f"torn: {len(torn)} of {len(last.data)} bytes of the last write"
            yield words, disk.tree({**everything, last.file: data}, {})
    for _ in range(extra):
        files = {number: _by_chance(file, rng) for number, file in unsynced.items()}
        changed = Counter(folder for change in disk.pending for folder in change.folders())
        names = {folder: rng.randrange(count + 1) for folder, count in changed.items()}
        yield "by chance", disk.tree(files, names)


def _torn(write: Operation, rng: Random) -> Iterator[bytes]:
    """Yield what may be on the disk of a write: to a sector's or any byte, or with sectors lost."""
    data = write.data
    if len(data) < 2:
        return
    yield data[:1]
    yield data[: rng.randrange(1, len(data))]
    # Sectors are those of the file, not of the write.
    borders = range(SECTOR - write.number % SECTOR, len(data), SECTOR)
    if borders:
        yield data[: rng.choice(borders)]
    yield bytes(len(data))
    lost = bytearray(data)
    for start, end in zip([0, *borders], [*borders, len(data)], strict=True):
        if rng.random() < 0.5:
            lost[start:end] = bytes(end - start)
    yield bytes(lost)


def _by_chance(file: _File, rng: Random) -> bytes:
    """Return bytes of a file with some of what was asked for."""
    count = rng.randrange(len(file.pending) + 1)
    torn = None
    if count < len(file.pending) and file.pending[count].kind == "write" and rng.random() < 0.5:
        data = file.pending[count].data
        torn = data[: rng.randrange(len(data) + 1)]
    if rng.random() < 0.7:
        return file.bytes(count, torn)
    # Unordered: any of them, whatever came before.
    chosen = [operation for operation in file.pending if rng.random() < 0.5]
    return _File(file.synced, chosen).bytes(len(chosen))
