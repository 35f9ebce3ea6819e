"""Open a path that names an archive, or leads into one."""

import os
from typing import Final

from workbench.file_system.archives.unpacking import ENDINGS
from workbench.file_system.mounts import files_at, mount, mounted_at

_VERSIONS: Final[dict[str, tuple[int, ...]]] = {}  # archive → what tells its versions apart


def opened_archive(path: str) -> str:
    """Return a path that can be read; one of an archive, or into one, is mounted first.

    If an archive holds one folder and nothing else, as `tar -czf logs.tgz kafka-logs` makes it,
    that folder is meant.

    Raises:
        LogDirectoryError: it cannot be read as an archive, or exceeds a limit.
        OSError: it cannot be read.
    """
    archive = _archive_of(path)
    if archive is None:
        return path
    found = os.stat(archive)
    version = (found.st_ino, found.st_size, found.st_mtime_ns)
    if mounted_at(archive) is None or _VERSIONS.get(archive) != version:
        from workbench.file_system.archives.archive_files import ArchiveFiles

        mount(archive, ArchiveFiles(archive))
        _VERSIONS[archive] = version
    whole = os.path.abspath(path)
    return _only_folder(archive) if whole == archive else whole


def _archive_of(path: str) -> str | None:
    """Return the absolute path of the archive that a path names or leads into."""
    at = os.path.abspath(path)
    if not any(ending in at for ending in ENDINGS):
        return None
    while not at.endswith(ENDINGS) or not os.path.isfile(at):
        above = os.path.dirname(at)
        if above == at or os.path.isdir(at):
            return None
        at = above
    return at


def _only_folder(path: str) -> str:
    """Return the folder that holds everything: ``path``, or one that is alone in it."""
    files = files_at(path)
    assert files is not None
    while True:
        there = [each for each in files.entries(path) if each.refusal is None]
        name = there[0].name if len(there) == 1 and there[0].is_folder else None
        if name is None or name.rpartition("-")[2].isdecimal():  # a partition directory
            return path
        path = f"{path}/{name}"
