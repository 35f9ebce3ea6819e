"""What a caller has in hand: a directory, topic, partition, segment or path, as paths to open.

What was opened knows where it lies, what reads it, and the remote tier that it was opened with.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from workbench.errors import LogDirectoryError
from workbench.file_system.source import THIS_MACHINE, Files
from workbench.inspection.listing import StrPath, opened_paths
from workbench.inspection.segment import Segment
from workbench.loaders.directory import ListedDirectory
from workbench.loaders.partition import Partition
from workbench.loaders.topic import Topic
from workbench.runtime.several import several


class Place(NamedTuple):
    """Where something lies.

    Attributes:
        paths: its log directories, or its partition directories.
        fs: what reads them.
        tier: the arguments of `open_log_directory` that name its remote tier.
    """

    paths: tuple[str, ...]
    fs: Files = THIS_MACHINE
    tier: Mapping[str, Any] = {}


InHand = ListedDirectory | Topic | Partition | Segment | StrPath
"""What `workbench.open_log_directory` opens. A segment stands for its partition."""


def surroundings_of(given: Any) -> tuple[Any, list[str] | None]:
    """Return the directories of what a caller has in hand, and its partitions; None: all.

    Names of groups and producers are in logs beside a partition: what is opened by itself lacks
    them. A path stays what it is.
    """
    chosen = given.partitions if isinstance(given, Topic) else [given]
    first = chosen[0] if chosen else None
    if not isinstance(first, Partition) or not first.log_directories:
        return given, None
    place = Place(first.log_directories, first.fs, first.tier)
    return place, [each.name for each in chosen if isinstance(each, Partition)]


def place_of(given: InHand | Iterable[InHand]) -> Place:
    """Return where one thing lies, or several of one broker.

    Raises:
        LogDirectoryError: they are of several archives, of which one is opened at a time.
    """
    found = list(_places(given))
    paths = tuple(dict.fromkeys(path for each in found for path in each.paths))
    readers = {id(each.fs): each.fs for each in found if each.fs is not THIS_MACHINE}
    if len(readers) > 1:
        raise LogDirectoryError(paths[-1], "was opened by itself; open the paths in one call")
    fs = next(iter(readers.values()), THIS_MACHINE)
    return Place(paths, fs, next((each.tier for each in found if each.tier), {}))


def _places(given: Any) -> Iterator[Place]:
    if isinstance(given, Place):
        yield given
    elif isinstance(given, ListedDirectory):
        tier: Mapping[str, Any] = getattr(given, "tier", {})
        yield Place(tuple(opened_paths(given.listing)), given.listing.fs, tier)
    elif isinstance(given, Topic):
        for partition in given.partitions:
            yield from _places(partition)
    elif isinstance(given, Partition):
        path = given.path if given.only is None else os.path.join(given.path, given.only)
        yield Place((path,), given.fs, given.tier)
    elif isinstance(given, Segment):
        yield Place((os.path.dirname(given.path) or ".",), given.files["log"].fs)
    elif isinstance(given, str | bytes | os.PathLike):
        yield Place((os.fsdecode(given),))
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        for each in several(given):
            yield from _places(each)
    else:
        raise LogDirectoryError(
            type(given).__name__,
            "cannot be opened (expected a path, or a log directory, topic, partition or segment)",
        )


def one_path(given: InHand, verb: str) -> tuple[str, Files]:
    """Return the path of the one directory that is changed or copied, and what reads it.

    Args:
        given: what a caller has in hand.
        verb: what is done with it, as the message says it.

    Raises:
        LogDirectoryError: it is several directories.
    """
    place = place_of(given)
    if len(place.paths) != 1:
        named = ", ".join(place.paths[:_NAMED]) + (", …" if len(place.paths) > _NAMED else "")
        raise LogDirectoryError(
            verb, f"expected one directory (found {len(place.paths)}: {named or 'none'})"
        )
    return place.paths[0], place.fs


_NAMED = 5  # paths that a message names
