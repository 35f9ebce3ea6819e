"""A tree of files as it is at a moment, to see that nothing in it changes."""

from pathlib import Path


def snapshot(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return time and bytes of every file below a folder, and of the folders their time."""
    return {
        str(each): (each.stat().st_mtime_ns, each.read_bytes() if each.is_file() else b"")
        for each in [path, *sorted(path.rglob("*"))]
    }


def changes(path: Path) -> dict[str, tuple[int, int, int]]:
    """Return size, modification time and change time of everything below a folder.

    Cheaper than `snapshot`: no write leaves all of them as they are.
    """
    found = {}
    for each in [path, *path.rglob("*")]:
        status = each.lstat()
        found[str(each)] = status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return found
