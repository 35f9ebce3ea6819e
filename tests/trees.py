"""A tree of files as it is at a moment, to see that nothing in it changes."""

from pathlib import Path


def snapshot(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return time and bytes of every file below a folder, and of the folders their time."""
    return {
        str(each): (each.stat().st_mtime_ns, each.read_bytes() if each.is_file() else b"")
        for each in [path, *sorted(path.rglob("*"))]
    }
