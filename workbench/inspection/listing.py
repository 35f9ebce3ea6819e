"""List one or more log directories by names and sizes alone: no file of a log is opened.

A path may be a log directory (an entry of `log.dirs`), a single partition directory, or a single
file. Partition directories are listed when they are first asked for, so ten thousand of them open
at once.

Kafka: LogManager.loadLog, LocalLog.parseTopicPartitionName (4.2)
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from workbench.config.internal_topics import METADATA_LOG, METADATA_TOPIC
from workbench.errors import LogDirectoryError
from workbench.file_system.source import THIS_MACHINE, Files, absolute, is_uri, kind_of_mode
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.meta_properties import MetaProperties
from workbench.files.names import DirectoryName, TopicPartition
from workbench.files.redpanda_segment import (
    WHAT as REDPANDA,
)
from workbench.files.redpanda_segment import (
    is_redpanda_segment,
    redpanda_segment_below,
)
from workbench.inspection.entries import (
    FileEntry,
    FolderContents,
    Unread,
    list_folder,
    list_named,
    without_unreadable,
)
from workbench.inspection.partition import DiskPartition
from workbench.runtime.several import several
from workbench.runtime.words import did_you_mean

IGNORED_FOLDERS: Final = frozenset({names.REMOTE_INDEX_CACHE})
"""Folders in a log directory that are not partitions and that a broker skips."""

_OF_A_NEW_DISK: Final = frozenset({"lost+found"})
_READ_FILES: Final = names.ROOT_FILES - {names.LOCK}
_FEW: Final = 2  # partitions that are listed one by one, each when it is asked for
_COMPARED: Final = 20_000  # names that a mistyped one is compared with
_INSIDE: Final = 20  # log directories inside a folder that a message names
_NAMED: Final = 5  # unknown files and folders that a message names

StrPath = str | os.PathLike[str]
MakePartition = Callable[..., DiskPartition]


@dataclass(frozen=True)
class Root:
    """One log directory, or the directory of a partition or file that was opened alone.

    Attributes:
        path: as it was given.
        files: its plain files; empty when only a partition or a file was opened.
        partitions: its partition directories, sorted by topic and number.
        unknown: plain files with names that no broker uses.
        unknown_folders: folders whose names keep a broker from starting.
        unread: entries that are neither file nor folder, and links that are not followed.
        is_log_directory: False when only a partition or a file was opened.
        beside: of a partition or file that was opened alone, the broker's own files in the log
            directory that holds it.
        metadata_log: the cluster's metadata log in the log directory; None if it is not there.
        is_tier: whether it is a remote tier that was opened alone, without log directories.
        fs: what reads it.
    """

    path: str
    files: tuple[FileEntry, ...]
    partitions: tuple[DiskPartition, ...]
    unknown: tuple[FileEntry, ...] = ()
    unknown_folders: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    is_log_directory: bool = True
    beside: tuple[FileEntry, ...] = ()
    metadata_log: DiskPartition | None = None
    is_tier: bool = False
    fs: Files = THIS_MACHINE

    @property
    def log_directory(self) -> str:
        """Path of the log directory; of a partition that none holds, its own path."""
        return self.path if self.is_log_directory else self.partitions[0].root or self.path

    def file(self, name: str) -> FileEntry | None:
        """Return a plain file of the log directory by name."""
        return next((file for file in (*self.files, *self.beside) if file.name == name), None)

    def has_name(self, name: str) -> bool:
        """Return whether anything has a name here, even if it is not read."""
        others = (*self.unknown_folders, *(each.name for each in self.unread))
        return self.file(name) is not None or name in others

    @property
    def nothing_here(self) -> str | None:
        """Why there is nothing to check, if no file or folder has a name that Kafka uses."""
        if self.is_log_directory:
            unread = [each.name for each in self.unread]
            is_kafkas = any(map(_is_name_of_kafka, unread))
            if self.partitions or is_kafkas or len(self.files) > len(self.unknown):
                return None
            found = [*(file.name for file in self.unknown), *self.unknown_folders, *unread]
        else:
            (partition,) = self.partitions
            if partition.only is not None:
                alone = os.path.join(partition.path, partition.only)
                if is_redpanda_segment(alone):
                    return f"it is {REDPANDA}"
            found = [file.name for file in partition.unknown if not _is_root_file(file.name)]
            if partition.only is None or not found:
                return None
        if (segment := redpanda_segment_below(self.path)) is not None:
            return f"{os.path.relpath(segment, self.path)} is {REDPANDA}"
        named = ", ".join(map(repr, found[:_NAMED])) + (", …" if len(found) > _NAMED else "")
        said = f"nothing here looks like Kafka's: {f'found {named}' if found else 'it is empty'}"
        return self.directories_inside or said

    @property
    def directories_inside(self) -> str | None:
        """What to say of a folder above log directories; None: none is inside, or this is one."""
        is_one = bool(self.partitions) or len(self.files) > len(self.unknown)
        if not self.is_log_directory or is_one or self.fs.at(self.path) is not None:
            return None
        folders = self.unknown_folders[:_COMPARED]
        inside = [name for name in folders if _looks_like_kafka(os.path.join(self.path, name))]
        named = ", ".join(inside[:_INSIDE]) + (", …" if len(inside) > _INSIDE else "")
        return f"no log directory, but these inside are: {named}" if inside else None

    def checkpoint(self, name: str) -> OffsetCheckpoint | None:
        """Return an offset checkpoint with its problems; None when there is no such file."""
        entry = self.file(name)
        with suppress(FileNotFoundError):  # a broker deleted it since it was listed
            return entry.read(OffsetCheckpoint) if entry else None
        return None

    @property
    def meta_properties(self) -> MetaProperties | None:
        """`meta.properties` with its problems; None when there is no such file."""
        entry = self.file(names.META_PROPERTIES)
        with suppress(FileNotFoundError):
            return entry.read(MetaProperties) if entry else None
        return None


@dataclass(frozen=True)
class Listing:
    """Everything that was opened together.

    Attributes:
        roots: in the order given.
        partitions: by name, sorted by topic and number. If two roots hold one name, the later one
            is under its path.
    """

    roots: tuple[Root, ...]
    partitions: dict[str, DiskPartition]

    @property
    def fs(self) -> Files:
        """What reads all of it."""
        return self.roots[0].fs if self.roots else THIS_MACHINE

    @property
    def occupied(self) -> int:
        """Bytes that the disk holds of all files, without the holes of preallocated ones."""
        return self.occupied_by_others + sum(
            file.occupied
            for root in self.roots
            for partition in root.partitions
            for file in partition.files
        )

    @property
    def occupied_by_others(self) -> int:
        """Bytes that the disk holds of files that are in no partition directory."""
        return sum(file.occupied for root in self.roots for file in root.files)

    @property
    def metadata_log(self) -> DiskPartition | None:
        """The cluster's metadata log: opened, or beside a partition that was opened alone."""
        opened = self.partitions.get(METADATA_LOG)
        beside = (root.metadata_log for root in self.roots if root.metadata_log is not None)
        return next(beside, None) if opened is None else opened

    def root_of(self, partition: DiskPartition) -> Root | None:
        """Return the root that a partition was opened with."""
        return next((root for root in self.roots if partition in root.partitions), None)

    def listed_again(self) -> "Listing":
        """Return the same partitions, to list the directory of each again."""
        beside = [root.metadata_log for root in self.roots if root.metadata_log is not None]
        every = [*beside, *(each for root in self.roots for each in root.partitions)]
        anew = {each.path: each.listed_again() for each in every}
        roots = tuple(
            replace(
                root,
                partitions=tuple(anew[each.path] for each in root.partitions),
                metadata_log=root.metadata_log and anew[root.metadata_log.path],
            )
            for root in self.roots
        )
        return Listing(roots, {name: anew[each.path] for name, each in self.partitions.items()})

    @property
    def log_directories(self) -> tuple[str, ...]:
        """Absolute paths of the log directories that were opened, or that hold what was opened.

        Raises:
            LogDirectoryError: a single file was opened, a remote tier alone, or a directory twice.
        """
        paths: list[str] = []
        whole = set()
        for root in self.roots:
            path = absolute(root.path)
            if root.is_tier:
                raise LogDirectoryError(
                    path,
                    "a remote tier without log directories: no broker starts there (ls, dump, "
                    "search, export, sql, offset and to-table read it)",
                )
            if not root.is_log_directory and root.partitions[0].only is not None:
                raise LogDirectoryError(path, "not a directory (found a file)")
            if path in whole:  # a broker does not start with one twice in log.dirs
                raise LogDirectoryError(path, "named more than once")
            if root.is_log_directory:
                whole.add(path)
            paths.append(path if root.is_log_directory else os.path.dirname(path))
        return tuple(dict.fromkeys(paths))


def _order(partition: DiskPartition) -> tuple[str, int, str]:
    return partition.topic, partition.partition, partition.name


def _list_root(path: str, make: MakePartition, fs: Files, *, whole: bool) -> Root:
    """List a log directory; ``whole``: outside this machine, its partitions' files with it."""
    files, folders, unread = without_unreadable(list_folder(path, fs=fs), _READ_FILES)
    # A link with the name of a partition directory is a partition that cannot be read.
    links = [
        each.name
        for each in unread
        if each.kind == "link-not-followed" and names.parse_directory_name(each.name) is not None
    ]
    starts = _log_starts(files)
    found = [name for name in (*folders, *links) if names.parse_directory_name(name) is not None]
    remote = fs.at(path) if whole and len(found) > _FEW else None
    tree = {} if remote is None else remote.tree(path)
    partitions: list[DiskPartition] = []
    unknown_folders: list[str] = []
    for name in (*folders, *links):
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
                checkpoint_start=_start_of(parsed, starts, folders),
                entries=tree.get(f"{path}/{name}"),
                fs=fs,
            )
        )
    unknown = tuple(file for file in files if not _is_root_file(file.name))
    return Root(
        path,
        tuple(files),
        tuple(sorted(partitions, key=_order)),
        unknown,
        tuple(unknown_folders),
        tuple(each for each in unread if each.name not in links),
        metadata_log=next((each for each in partitions if each.name == METADATA_LOG), None),
        fs=fs,
    )


def _log_starts(files: Iterable[FileEntry]) -> dict[TopicPartition, int]:
    """Return the log start offsets in the checkpoint among some files."""
    for file in files:
        if file.name == names.LOG_START_OFFSETS:
            with suppress(OSError):  # `verify` says so where it cannot be read
                return file.read(OffsetCheckpoint).offsets
    return {}


def _start_of(
    parsed: DirectoryName, starts: Mapping[TopicPartition, int], folders: Collection[str]
) -> int | None:
    """Return the checkpointed log start offset of a partition directory.

    Beside the log in use, an entry is not about the directory that is marked for deletion or stray:
    a topic of that name was created since.
    """
    name = TopicPartition(parsed.topic, parsed.partition)
    is_old = parsed.kind in {"delete", "stray"} and str(name) in folders
    return None if is_old else starts.get(name)


def _is_root_file(name: str) -> bool:
    """Return whether a broker writes a plain file of this name into a log directory."""
    return name.removesuffix(names.TEMPORARY) in names.ROOT_FILES


def _alone(folder: str, only: str | None, make: MakePartition, fs: Files) -> Root:
    """List a partition directory, or one file in it, that was opened alone.

    It belongs to the log directory that holds it, so that the answers are those for the whole
    directory: its checkpoints, how its broker stopped, and the cluster's metadata count.
    """
    whole = absolute(folder)
    name = os.path.basename(whole)
    parsed = names.parse_directory_name(name)
    parent = None if parsed is None else _parent_of(folder, fs)
    files, folders, unread = FolderContents([], [], [])
    start = metadata = root = None
    if parsed is not None and parent is not None:
        files, folders, unread = _own_contents(parent, parsed, fs)
        root = parent if files or unread else None
        if only is None or _is_in_use(only):
            start = _start_of(parsed, _log_starts(files), folders)
        if METADATA_LOG in folders and name != METADATA_LOG:
            metadata = make(
                METADATA_LOG,
                os.path.join(parent, METADATA_LOG),
                root=parent,
                topic=METADATA_TOPIC,
                partition=0,
                fs=fs,
            )
    partition = make(
        name,
        folder,
        root=root,
        topic=parsed.topic if parsed else name,
        partition=parsed.partition if parsed else 0,
        kind=parsed.kind if parsed else "log",
        only=only,
        checkpoint_start=start,
        is_alone=True,
        fs=fs,
    )
    return Root(
        folder,
        (),
        (partition,),
        unread=tuple(unread),
        is_log_directory=False,
        beside=tuple(files),
        metadata_log=metadata,
        fs=fs,
    )


def _parent_of(path: str, fs: Files) -> str | None:
    """Return the directory that holds a partition directory; None at the root of what is read.

    A relative path that names the directory has a relative parent.
    """
    given, whole = path.rstrip("/"), absolute(path)
    parent = os.path.dirname(whole)
    if is_uri(whole) != is_uri(parent) or (fs.at(whole) is None) != (fs.at(parent) is None):
        return None
    if is_uri(whole) or os.path.basename(given) != os.path.basename(whole):  # such as "."
        return parent
    return os.path.dirname(given) or "."


def _own_contents(directory: str, parsed: DirectoryName, fs: Files) -> FolderContents:
    """Return what of a log directory concerns one of its partitions: a broker's own files."""
    in_use = str(TopicPartition(parsed.topic, parsed.partition))
    try:
        found = list_named(directory, {*names.ROOT_FILES, METADATA_LOG, in_use}, fs)
    except OSError as error:
        return FolderContents([], [], [Unread.of_error("", directory, error)])
    files, folders, unread = without_unreadable(found, _READ_FILES)
    own = [file for file in files if file.name in names.ROOT_FILES]
    return FolderContents(own, folders, [each for each in unread if each.name in names.ROOT_FILES])


def _is_in_use(name: str) -> bool:
    """Return whether a file is a segment's, and not marked for deletion or left by a crash."""
    parsed = names.parse_file_name(name)
    return parsed is not None and not parsed.suffix


def _holds_segments(path: str, fs: Files) -> bool:
    """Return whether a folder is a partition directory: it has a file named like a segment's."""
    remote = fs.at(path)
    if remote is not None:
        return any(_is_segment_file(entry.name) for entry in remote.entries(path))
    with os.scandir(path) as entries:
        return any(_is_segment_file(entry.name) for entry in entries)


def _is_name_of_kafka(name: str) -> bool:
    """Return whether a broker names something so in a log directory; empty: it is that itself."""
    return not name or name in names.ROOT_FILES or names.parse_directory_name(name) is not None


def _looks_like_kafka(folder: str) -> bool:
    """Return whether a folder of this machine has a file of a log directory, or a partition."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, _COMPARED):
            if entry.name in names.ROOT_FILES:
                return True
            if names.parse_directory_name(entry.name) and entry.is_dir(follow_symlinks=False):
                return _holds_segments(entry.path, THIS_MACHINE)
    return False


def _is_segment_file(name: str) -> bool:
    parsed = names.parse_file_name(name)
    return parsed is not None and parsed.kind in {"log", "index"}


def _kind_of(path: str, fs: Files) -> Literal["file", "folder", "nothing"]:
    remote = fs.at(path)
    if remote is None:
        try:
            mode = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "nothing"
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return "file" if stat.S_ISREG(mode) else "folder"
        expected = "a folder or a regular file"
        raise LogDirectoryError(
            path, f"not opened (found {kind_of_mode(mode)}, expected {expected})"
        )
    entry = remote.entry(path)
    return "nothing" if entry is None else "folder" if entry.is_folder else "file"


def _near(path: str) -> str:
    """Return ``; did you mean orders-0?`` if the folder that should hold a path has such a name."""
    if is_uri(path):
        return ""
    folder, name = os.path.split(absolute(path))
    with suppress(OSError), os.scandir(folder) as entries:
        return did_you_mean(name, [entry.name for entry in islice(entries, _COMPARED)])
    return ""


def _name_among(path: str, given: Sequence[str]) -> str | None:
    """Return what to say if a path that is not there is the name of a log in another one."""
    if path not in given or "/" in path or os.path.lexists(path):
        return None
    for other in given:
        with suppress(OSError), os.scandir(other) as entries:
            names = {entry.name for entry in islice(entries, _COMPARED)}
            if path in names:
                return f"there is no such path; did you mean {os.path.join(other, path)}?"
            if any(re.fullmatch(rf"{re.escape(path)}-\d+", name) for name in names):
                choice = f"-t {path}, in Python topics={path!r}"
                return f"there is no such path; to choose the topic {path} of {other}: {choice}"
    return None


def _list_path(path: str, make: MakePartition, fs: Files, *, whole: bool) -> Root:
    try:
        return _list_any(path, make, fs, whole=whole)
    except LogDirectoryError:
        raise
    except OSError as error:
        if not is_uri(path):
            raise
        raise LogDirectoryError(path, f"cannot be listed: {error.strerror}") from error


def _list_any(path: str, make: MakePartition, fs: Files, *, whole: bool) -> Root:
    kind = _kind_of(path, fs)
    if kind == "file":
        return _alone(os.path.dirname(path) or ".", os.path.basename(path), make, fs)
    if kind == "nothing":
        raise LogDirectoryError(path, f"there is no such file or directory{_near(path)}")
    if _holds_segments(path, fs):
        return _alone(path, None, make, fs)
    return _list_root(path, make, fs, whole=whole)


def is_empty(root: Root) -> bool:
    """Return whether a log directory has nothing but what a new file system has."""
    has_files = root.files or root.partitions or root.unread
    return root.is_log_directory and not has_files and {*root.unknown_folders} <= _OF_A_NEW_DISK


def require_logs(listing: Listing, *, of_a_start: bool = False) -> None:
    """Reject paths where nothing looks like Kafka's, because no check could fail there.

    A directory that a broker has formatted is fine without a log: it holds `meta.properties`.

    Args:
        listing: the paths.
        of_a_start: whether a start is asked about: a directory may be empty, as a new disk is, or
            one that is not mounted.

    Raises:
        LogDirectoryError: there is nothing to check.
    """
    for root in listing.roots:
        if of_a_start and is_empty(root):
            continue
        if (reason := root.nothing_here) is not None:
            partition = None if root.is_log_directory else root.partitions[0]
            name = partition.only if partition else None
            raise LogDirectoryError(os.path.join(root.path, name) if name else root.path, reason)


def list_log_directories(
    paths: StrPath | Iterable[StrPath],
    make: MakePartition = DiskPartition,
    *,
    whole: bool = True,
    fs: Files = THIS_MACHINE,
) -> Listing:
    """List one path, or several that belong together (the `log.dirs` of one broker).

    Args:
        paths: at least one.
        make: creates the partitions, with the arguments of `DiskPartition`.
        whole: outside this machine, list the files of all partitions now, in few requests;
            otherwise each partition is a request, when it is first asked for.
        fs: what reads the paths.

    Raises:
        LogDirectoryError: a path does not exist, or none was given.
        OSError: a folder cannot be listed.
    """
    given: Sequence[StrPath] = several(paths)
    if not given:
        raise LogDirectoryError("open_log_directory", "no path was given")
    try:
        roots = tuple(_list_path(os.fspath(path), make, fs, whole=whole) for path in given)
    except LogDirectoryError as error:
        if (hint := _name_among(error.path, [os.fspath(each) for each in given])) is None:
            raise
        raise LogDirectoryError(error.path, hint) from None
    partitions: dict[str, DiskPartition] = {}
    for partition in sorted((p for root in roots for p in root.partitions), key=_order):
        key = partition.name if partition.name not in partitions else partition.path
        partitions[key] = partition
    return Listing(roots, partitions)


def roots_listed_anew(roots: Iterable[Root]) -> tuple[Root, ...]:
    """List opened paths again, as they are now; a directory that has gone is left out.

    Partitions are without their segments in a remote tier.
    """
    found: list[Root] = []
    for root in roots:
        with suppress(OSError, LogDirectoryError):
            found += list_log_directories(_opened_path(root), fs=root.fs).roots
    return tuple(found)


def opened_paths(listing: Listing) -> list[str]:
    """Return the paths that were opened: of log directories, partitions, or single files."""
    return [*map(_opened_path, listing.roots)]


def _opened_path(root: Root) -> str:
    if root.is_log_directory or root.partitions[0].only is None:
        return root.path
    return os.path.join(root.path, root.partitions[0].only)
