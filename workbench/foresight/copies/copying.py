"""Copy a log directory with the times of its files and with their holes.

Retention depends on the times of files. Indexes that a broker did not close have 10 MiB each, most
of it holes: a copy without holes would fill the disk. Only files and directories are copied: a link
may lead anywhere, even back, and a FIFO has no end.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import BinaryIO, Final, NamedTuple

from workbench.errors import LogDirectoryError
from workbench.file_system.outputs import create_new, new_folder
from workbench.file_system.source import (
    READ_ONLY,
    THIS_MACHINE,
    Files,
    FileSource,
    absolute,
    link_text,
    open_regular,
)
from workbench.files.names import LOCK, TopicPartition, parse_directory_name

_CHUNK: Final = 1 << 20
_NANOSECONDS: Final = 1_000_000  # in a ms
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class SkippedFile(NamedTuple):
    """An entry of the directory that was not copied.

    Attributes:
        path: the entry's path.
        what: its kind: ``a link to /etc``, ``a FIFO``.
    """

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: not copied: {self.what}"


def copy_log_directory(
    source: str,
    target: str,
    fs: Files = THIS_MACHINE,
    only: Collection[TopicPartition] | None = None,
) -> list[SkippedFile]:
    """Copy a log directory, or one partition directory into a new log directory.

    The copy appears under its name when it is complete; after an error no copy exists.

    Args:
        source: the log directory of a broker that does not run, or a partition directory.
        target: the copy, missing or empty; a partition directory becomes an entry of it
        fs: what reads the log directory.
        only: the partitions whose directories are copied; None: all.

    Returns:
        What was not copied, sorted by path.

    Raises:
        LogDirectoryError: ``source`` is not a directory.
        OutputError: ``target`` holds something, or one path contains the other.
        OSError: reading or writing failed.
    """
    source = absolute(source)
    files = fs.at(source)
    entry = None if files is None else files.entry(source)
    if not os.path.isdir(source) if files is None else entry is None or not entry.is_folder:
        raise LogDirectoryError(source, "no such directory")
    with new_folder(target, [source]) as unfinished:
        into = unfinished
        if is_partition(source, fs):
            into = os.path.join(unfinished, os.path.basename(source))
            os.mkdir(into)
        wanted = partial(_is_wanted, only)
        if files is not None:
            return sorted(_copy_mounted(fs, source, into, wanted))
        return sorted(copy_folder_into(source, into, wanted))


def _is_wanted(only: Collection[TopicPartition] | None, name: str) -> bool:
    """Return whether a directory in a log directory is copied; those of no partition are."""
    parsed = parse_directory_name(name)
    return only is None or parsed is None or TopicPartition(*parsed[:2]) in only


def is_partition(path: str, fs: Files = THIS_MACHINE) -> bool:
    """Return whether a directory is a partition's, by its name and by the segments in it."""
    if parse_directory_name(os.path.basename(path)) is None:
        return False
    files = fs.at(path)
    found = os.listdir(path) if files is None else [each.name for each in files.entries(path)]
    return any(name.endswith((".log", ".log.swap")) for name in found)


def _copy_mounted(
    fs: Files, source: str, target: str, wanted: Callable[[str], bool]
) -> Iterator[SkippedFile]:
    """Copy what is in a mounted directory into an existing one; yield what is left out."""
    files = fs.at(source)
    assert files is not None
    tree = files.tree(source)
    for folder in sorted(tree):
        first = folder.removeprefix(source).strip("/").partition("/")[0]
        if not wanted(first):
            continue
        to = target + folder.removeprefix(source)
        os.makedirs(to, exist_ok=True)
        for entry in sorted(tree[folder], key=lambda each: each.name):
            path, copy = f"{folder}/{entry.name}", os.path.join(to, entry.name)
            if entry.refusal is not None:
                yield SkippedFile(path, entry.refusal)
            elif not entry.is_folder and entry.name != LOCK:
                _copy_mounted_file(path, copy, fs)
                os.utime(copy, ns=(entry.modified_ms * _NANOSECONDS,) * 2)


def _copy_mounted_file(source: str, target: str, fs: Files) -> None:
    with FileSource(source, fs) as reading, create_new(target) as writing:
        size = reading.size
        for start in range(0, size, _CHUNK):
            data = reading.read(start, _CHUNK)
            if data.any():  # zeros remain a hole
                writing.seek(start)
                writing.write(data.data)
        writing.truncate(size)


def copy_folder_into(
    source: str, target: str, wanted: Callable[[str], bool] = lambda _: True
) -> Iterator[SkippedFile]:
    """Copy a directory's entries into an existing one; yield what is left out.

    Args:
        source, target: the directories.
        wanted: whether a directory in ``source`` is copied, by its name.
    """
    folders = [(source, target)]
    for from_, to in folders:  # grows during the loop
        with os.scandir(from_) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                copy = os.path.join(to, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    if from_ == source and not wanted(entry.name):
                        continue
                    os.mkdir(copy)
                    folders.append((entry.path, copy))
                elif not entry.is_file(follow_symlinks=False):
                    yield SkippedFile(entry.path, _kind_of(entry.path))
                elif entry.name != LOCK:
                    _copy_file(entry.path, copy)
    for from_, to in reversed(folders):  # creating an entry changes its directory's time
        shutil.copystat(from_, to)


def _kind_of(path: str) -> str:
    kind = stat.S_IFMT(os.lstat(path).st_mode)
    return link_text(path) if kind == stat.S_IFLNK else _KINDS.get(kind, "not a file")


def _copy_file(source: str, target: str) -> None:
    flags = READ_ONLY | _NO_LINK
    with os.fdopen(open_regular(source, flags), "rb") as reading, create_new(target) as writing:
        size = os.fstat(reading.fileno()).st_size
        for start, end in _runs(reading.fileno(), size):
            _copy_run(reading, writing, start, end)
        writing.truncate(size)
    shutil.copystat(source, target, follow_symlinks=False)


def _runs(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of each run of data; the whole file if the system reports no holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: only a hole follows
                yield end, size
            return
        yield start, min(end, size)


def _copy_run(reading: BinaryIO, writing: BinaryIO, start: int, end: int) -> None:
    reading.seek(start)
    writing.seek(start)
    while start < end and (data := reading.read(min(_CHUNK, end - start))):
        writing.write(data)
        start += len(data)
