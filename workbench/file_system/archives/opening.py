"""Open a path that names an archive, or leads into one."""

import os

from workbench.file_system.archives.unpacking import ENDINGS
from workbench.file_system.source import Files, is_uri, mounts_of, with_mount


def opened_archive(path: str, fs: Files) -> tuple[str, Files]:
    """Return a path that can be read, and what reads it; an archive that it leads into is opened.

    If an archive holds one folder and nothing else, as `tar -czf logs.tgz kafka-logs` makes it,
    that folder is meant.

    Args:
        path: a path of this machine.
        fs: what was opened before; an archive in it is opened again only if it has changed.

    Raises:
        LogDirectoryError: it cannot be read as an archive, or exceeds a limit.
        OSError: it cannot be read.
    """
    archive = archive_of(path)
    if archive is None:
        return path, fs
    from workbench.file_system.archives.archive_files import ArchiveFiles, version_of

    before = mounts_of(fs).get(archive)
    if not isinstance(before, ArchiveFiles) or before.version != version_of(os.stat(archive)):
        fs = with_mount(fs, archive, ArchiveFiles(archive))
    whole = os.path.abspath(path)
    return _only_folder(archive, fs) if whole == archive else whole, fs


def is_here(path: str) -> bool:
    """Return whether a path is a file's or folder's of this machine: no URI, not in an archive."""
    return not is_uri(path) and archive_of(path) is None


def archive_of(path: str) -> str | None:
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


def _only_folder(path: str, fs: Files) -> str:
    """Return the folder that holds everything: ``path``, or one that is alone in it."""
    files = fs.at(path)
    assert files is not None
    while True:
        there = [each for each in files.entries(path) if each.refusal is None]
        name = there[0].name if len(there) == 1 and there[0].is_folder else None
        if name is None or name.rpartition("-")[2].isdecimal():  # a partition directory
            return path
        path = f"{path}/{name}"
