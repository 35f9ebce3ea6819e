"""Patterns in paths, as Spark's file sources take them: ``/disks/broker-*/{data1,data2}``.

``*``, ``?`` and ``[…]`` are those of Python's `fnmatch`, in each part of a path by itself; braces
hold alternatives. In a URI ``?`` begins the query. Only folders are found. A path that exists as it
is written is not a pattern.
"""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from workbench.errors import LogDirectoryError
from workbench.file_system.source import RemoteFiles, is_uri
from workbench.loaders.remote import opened

_MOST: Final = 10_000  # paths that braces may stand for


def expanded(path: str) -> list[str]:
    """Return the folders that a pattern means, sorted; a path without one as it is.

    Raises:
        LogDirectoryError: no folder matches, or a pattern stands for more than 10,000 paths.
        OSError: a folder cannot be listed.
    """
    if not _has_magic(path) or (not is_uri(path) and os.path.exists(path)):
        return [path]
    found: list[str] = []
    for each in _alternatives(path):
        if not _has_magic(each):
            found.append(each)
        elif is_uri(each):
            found += _found_at(each)
        else:
            found += [name for name in sorted(glob.glob(each)) if os.path.isdir(name)]
    if not found:
        raise LogDirectoryError(path, "no folder matches the pattern")
    return list(dict.fromkeys(found))


def _has_magic(path: str) -> bool:
    where = path.partition("?")[0] if is_uri(path) else path
    return re.search(r"[*\[{]" if is_uri(path) else r"[*?\[{]", where) is not None


def _alternatives(path: str) -> Sequence[str]:
    """Return the paths that braces stand for; an unpaired brace is a character."""
    done: list[str] = []
    waiting = [path]
    while waiting:
        each = waiting.pop(0)
        found = re.search(r"\{([^{}]*)\}", each)
        if found is None:
            done.append(each)
            continue
        start, end = found.span()
        waiting[:0] = [f"{each[:start]}{one}{each[end:]}" for one in found[1].split(",")]
        if len(done) + len(waiting) > _MOST:
            raise LogDirectoryError(path, f"the pattern stands for more than {_MOST:,} paths")
    return done


def _found_at(uri: str) -> list[str]:
    """Return the folders outside this machine that a pattern means, with the query of the URI."""
    place, mark, query = uri.partition("?")
    scheme, _, rest = place.partition("://")
    parts = rest.rstrip("/").split("/")
    first = next(at for at, part in enumerate(parts) if re.search(r"[*\[]", part))
    if first == 0:
        raise LogDirectoryError(place, "the name of a bucket or server cannot be a pattern")
    base = f"{scheme}://{'/'.join(parts[:first])}"
    folder, fs = opened(f"{base}{mark}{query}")
    files = fs.at(folder)
    assert files is not None
    found = sorted(_matching(files, folder, parts[first:]))
    return [f"{base}{each.removeprefix(folder)}{mark}{query}" for each in found]


def _matching(files: RemoteFiles, folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the folders below one whose names match the parts of a pattern."""
    for entry in files.entries(folder):
        if entry.is_folder and fnmatchcase(entry.name, parts[0]):
            here = f"{folder}/{entry.name}"
            if len(parts) > 1:
                yield from _matching(files, here, parts[1:])
            else:
                yield here
