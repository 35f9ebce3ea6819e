"""What lies in one or more log directories, by names and sizes alone: no file of a log is opened.

A path may be a log directory (an entry of `log.dirs`), a single partition's folder, or a single
file. Partition folders are listed when they are first asked for, so ten thousand of them open at
once.

Kafka: LogManager.loadLog, LocalLog.parseTopicPartitionName (4.2)
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from workbench.errors import LogDirectoryError
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.inspection.entries import FileEntry, list_folder
from workbench.inspection.partition import Partition
from workbench.record.remote import files_at

IGNORED_FOLDERS: Final = frozenset({"remote-log-index-cache"})
"""Folders in a log directory that are no partitions and that a broker passes over."""

StrPath = str | os.PathLike[str]
MakePartition = Callable[..., Partition]


@dataclass(frozen=True)
class Root:
    """One log directory, or the folder of a partition or file that was opened by itself.

    Attributes:
        path: as it was given.
        files: its plain files.
        partitions: its partition folders, sorted by topic and number.
        unknown: plain files that no broker names so.
        unknown_folders: folders whose names a broker refuses to start with.
        is_log_directory: False when a partition or a file was opened by itself.
    """

    path: str
    files: tuple[FileEntry, ...]
    partitions: tuple[Partition, ...]
    unknown: tuple[FileEntry, ...] = ()
    unknown_folders: tuple[str, ...] = ()
    is_log_directory: bool = True

    def file(self, name: str) -> FileEntry | None:
        """Return a plain file of the directory by name."""
        return next((file for file in self.files if file.name == name), None)

    def checkpoint(self, name: str) -> OffsetCheckpoint | None:
        """Return an offset checkpoint with its problems; None when there is no such file."""
        entry = self.file(name)
        return OffsetCheckpoint.read(entry.path, strict=False) if entry else None


@dataclass(frozen=True)
class Listing:
    """All that was opened together.

    Attributes:
        roots: in the order given.
        partitions: by name, sorted by topic and number. Where two roots hold one name, the later is
            named with its root's path.
    """

    roots: tuple[Root, ...]
    partitions: dict[str, Partition]

    @property
    def log_directories(self) -> tuple[str, ...]:
        """Absolute paths of the log directories that were opened, or that what was opened is in.

        Raises:
            LogDirectoryError: a file was opened by itself.
        """
        paths = []
        for root in self.roots:
            path = os.path.abspath(root.path)
            if not root.is_log_directory and root.partitions[0].only is not None:
                raise LogDirectoryError(path, "a file; a broker starts with directories")
            paths.append(path if root.is_log_directory else os.path.dirname(path))
        return tuple(dict.fromkeys(paths))


def _order(partition: Partition) -> tuple[str, int, str]:
    return partition.topic, partition.partition, partition.name


def _list_root(path: str, make: MakePartition) -> Root:
    """List a log directory."""
    files, folders = list_folder(path)
    start_entry = next((file for file in files if file.name == names.LOG_START_OFFSETS), None)
    starts: dict[TopicPartition, int] = {}
    if start_entry is not None:
        starts = OffsetCheckpoint.read(start_entry.path, strict=False).offsets
    partitions: list[Partition] = []
    unknown_folders: list[str] = []
    for name in folders:
        parsed = names.parse_directory_name(name)
        if parsed is None:
            if name not in IGNORED_FOLDERS:
                unknown_folders.append(name)
            continue
        partitions.append(
            make(
                name,
                os.path.join(path, name),
                root=path,
                topic=parsed.topic,
                partition=parsed.partition,
                kind=parsed.kind,
                checkpoint_start=starts.get(TopicPartition(parsed.topic, parsed.partition)),
            )
        )
    unknown = tuple(
        file for file in files if file.name.removesuffix(names.TEMPORARY) not in names.ROOT_FILES
    )
    return Root(
        path, tuple(files), tuple(sorted(partitions, key=_order)), unknown, tuple(unknown_folders)
    )


def _alone(folder: str, only: str | None, make: MakePartition) -> Root:
    """List a partition's folder, or one file in it, opened by itself."""
    name = os.path.basename(os.path.abspath(folder))
    parsed = names.parse_directory_name(name)
    partition = make(
        name,
        folder,
        root=None,
        topic=parsed.topic if parsed else name,
        partition=parsed.partition if parsed else 0,
        kind=parsed.kind if parsed else "log",
        only=only,
    )
    return Root(folder, (), (partition,), is_log_directory=False)


def _holds_segments(path: str) -> bool:
    """Return whether a folder is a partition's: it holds a file named like a segment's."""
    remote = files_at(path)
    if remote is not None:
        return any(_is_segment_file(entry.name) for entry in remote.entries(path))
    with os.scandir(path) as entries:
        return any(_is_segment_file(entry.name) for entry in entries)


def _is_segment_file(name: str) -> bool:
    parsed = names.parse_file_name(name)
    return parsed is not None and parsed.kind in {"log", "index"}


def _kind_of(path: str) -> Literal["file", "folder", "nothing"]:
    remote = files_at(path)
    if remote is None:
        return "file" if os.path.isfile(path) else "folder" if os.path.isdir(path) else "nothing"
    entry = remote.entry(path)
    return "nothing" if entry is None else "folder" if entry.is_folder else "file"


def _list_path(path: str, make: MakePartition) -> Root:
    kind = _kind_of(path)
    if kind == "file":
        return _alone(os.path.dirname(path) or ".", os.path.basename(path), make)
    if kind == "nothing":
        raise LogDirectoryError(path, "there is no such file or directory")
    return _alone(path, None, make) if _holds_segments(path) else _list_root(path, make)


def list_log_directories(
    paths: StrPath | Iterable[StrPath], make: MakePartition = Partition
) -> Listing:
    """List one path, or several that belong together (the `log.dirs` of one broker).

    Args:
        paths: at least one.
        make: makes the partitions, with the arguments of `Partition`.

    Raises:
        LogDirectoryError: a path does not exist, or none was given.
        OSError: a folder may not be listed.
    """
    given: Sequence[StrPath] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise LogDirectoryError("open_log_directory", "no path was given")
    roots = tuple(_list_path(os.fspath(path), make) for path in given)
    partitions: dict[str, Partition] = {}
    for partition in sorted((p for root in roots for p in root.partitions), key=_order):
        key = partition.name if partition.name not in partitions else partition.path
        partitions[key] = partition
    return Listing(roots, partitions)
