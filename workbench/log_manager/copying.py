"""Copy a log directory as it lies on the disk: with the times of its files and with their holes.

Retention goes by the times of files. Indexes that a broker did not close are 10 MiB each, nearly
all of it holes: a copy without them would fill the disk.
"""

import errno
import os
import shutil
from pathlib import Path
from typing import Final

from workbench.errors import LogDirectoryError
from workbench.files.names import LOCK, parse_directory_name

_BLOCK: Final = 512  # bytes that st_blocks counts in
_CHUNK: Final = 1 << 20


def copy_log_directory(source: str, target: str) -> str:
    """Copy a log directory, or one partition's folder into a new log directory.

    Args:
        source: of a broker that does not run.
        target: not there yet, or empty. A partition's folder becomes a folder in it.

    Returns:
        The path of the new log directory.

    Raises:
        LogDirectoryError: ``source`` is no folder, or ``target`` holds something, or one lies in
            the other.
        OSError: reading or writing failed; what was copied by then stays.
    """
    source, target = os.path.abspath(source), os.path.abspath(target)
    if not os.path.isdir(source):
        raise LogDirectoryError(source, "no such directory")
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise LogDirectoryError(target, "is there already, and not an empty directory")
    inner, outer = sorted([os.path.realpath(source), os.path.realpath(target)], key=len)[::-1]
    if os.path.commonpath([inner, outer]) == outer:
        raise LogDirectoryError(target, f"lies in {source}, or the other way round")
    os.makedirs(target, exist_ok=True)
    into = os.path.join(target, os.path.basename(source)) if is_partition(source) else target
    _copy_folder(Path(source), Path(into))
    return target


def is_partition(path: str) -> bool:
    """Return whether a folder is a partition's: its name says so, and it holds segments."""
    if parse_directory_name(os.path.basename(path)) is None:
        return False
    return any(name.endswith((".log", ".log.swap")) for name in os.listdir(path))


def _copy_folder(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            _copy_folder(entry, target / entry.name)
        elif entry.is_file() and entry.name != LOCK:
            _copy_file(entry, target / entry.name)
    shutil.copystat(source, target)


def _copy_file(source: Path, target: Path) -> None:
    found = source.stat()
    if found.st_blocks * _BLOCK >= found.st_size or not _copy_with_holes(source, target):
        shutil.copyfile(source, target)
    shutil.copystat(source, target)


def _copy_with_holes(source: Path, target: Path) -> bool:
    """Copy what is no hole; return whether the file system tells where those are."""
    with source.open("rb") as reading, target.open("wb") as writing:
        size = os.fstat(reading.fileno()).st_size
        start = end = 0
        while end < size:
            try:
                start = os.lseek(reading.fileno(), end, os.SEEK_DATA)
                end = os.lseek(reading.fileno(), start, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole behind
                    break
                return False
            for position in range(start, end, _CHUNK):
                data = os.pread(reading.fileno(), min(_CHUNK, end - position), position)
                os.pwrite(writing.fileno(), data, position)
        writing.truncate(size)
    return True
