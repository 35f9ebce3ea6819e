"""See what a broker does to log directories, by the names, sizes and times of their files.

A look costs a stat of each directory and of each active segment. What changed is listed again, the
rest is kept as it was read.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from widgets.live.directory_changes import DirectoryChanges
from workbench.inspection.listing import Listing, Root, opened_paths
from workbench.inspection.partition import DiskPartition
from workbench.inspection.remote_tier.metadata_topic import TOPIC as REMOTE_METADATA
from workbench.inspection.segment import Segment, take_over
from workbench.log_directory import LogDirectory
from workbench.runtime.clock import since_change_ns

LOOK_EVERY_S: Final = 1.0
"""Seconds between two looks; more if looking takes longer than a twentieth of that."""

MOST_LOOKED_AT: Final = 2000
"""Partitions that one look stats; of more, each look takes the next ones."""

WRITTEN_WITHIN_S: Final = 60.0
"""A log whose active segment changed no longer ago is being written."""

_LEAST_PAUSES: Final = 20  # times what a look took
_LONGEST_PAUSE_S: Final = 30.0
_UNSETTLED_NS: Final = 50_000_000
"""A directory written so short ago may change again without another time: a clock tick of the file
system is up to 10 ms."""

Stamp = tuple[int, int, int]
"""Inode, size in bytes and time of the last change in ns; zeros if nothing is there."""

_NOTHING: Final[Stamp] = (0, 0, 0)


def is_written(listing: Listing) -> bool:
    """Return whether a log of the directories changed within `WRITTEN_WITHIN_S`.

    Cost: a stat of the active segment of at most `MOST_LOOKED_AT` partitions.
    """
    least = WRITTEN_WITHIN_S * 1e9
    return any(
        0 <= since_change_ns(_stamp(partition.segments[-1].path)[2]) < least
        for partition in islice(listing.partitions.values(), MOST_LOOKED_AT)
        if partition.segments
    )


@dataclass
class Changes:
    """What one look saw.

    Attributes:
        listing: everything as it is now; what did not change is as it was read.
        changed: names of partitions with other files, or more in them.
        added: names of new partitions.
        removed: names of partitions that are gone.
        new_from: name of a partition → base offset → the first new byte of that segment. A segment
            that is new, or that took another's place, is new from byte 0.
        replaced: name → base offsets of segments that are other files than before.
        rewritten: names of partitions of which known records may be gone, or elsewhere.
        has_other_files: whether files or folders beside the partitions came or went.
        has_other_contents: whether files beside the partitions were written: checkpoints.
        has_other_tier: whether the remote tier may have changed: a segment was copied, or a local
            one is gone.
    """

    listing: Listing
    changed: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    new_from: dict[str, dict[int, int]] = field(default_factory=dict)
    replaced: dict[str, set[int]] = field(default_factory=dict)
    rewritten: set[str] = field(default_factory=set)
    has_other_files: bool = False
    has_other_tier: bool = False
    has_other_contents: bool = False

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(
            self.changed
            or self.added
            or self.removed
            or self.has_other_files
            or self.has_other_contents
        )

    @property
    def written(self) -> DirectoryChanges:
        """What views must read again."""
        return DirectoryChanges(
            frozenset(self.changed | self.added | self.removed),
            frozenset(self.rewritten | self.removed | set(self.replaced)),
        )


class Follower:
    """Looks at log directories again and again, in a thread.

    Args:
        listing: the directories as they were listed; they must be local.
        tell: called in the thread with each look that saw something; the next look waits for it.
            It returns whether to call it after the next look, too, even if that sees nothing.
        first: returns the name of a partition that every look includes.

    Raises:
        ValueError: a path is not a local folder.
    """

    def __init__(
        self,
        listing: Listing,
        tell: Callable[[Changes], bool],
        first: Callable[[], str | None] = lambda: None,
    ) -> None:
        for path in opened_paths(listing):
            if not os.path.isdir(path):
                raise ValueError(f"{path} cannot be followed: it is not a local directory")
        self._tell = tell
        self._first = first
        self._end = threading.Event()
        self._looking = threading.Lock()
        self._turn = 0
        self._thread: threading.Thread | None = None
        self._know(listing)

    def _know(self, listing: Listing) -> None:
        """Note what was listed; the first look lists everything again and compares."""
        self.listing = listing
        directories = (root.log_directory for root in listing.roots)
        self._roots = dict.fromkeys([*opened_paths(listing), *directories], _NOTHING)
        self._contents: list[list[tuple[str, int, int]]] = []  # of the last look
        self._folders: dict[str, Stamp] = {}
        self._logs: dict[str, dict[int, Stamp]] = {}
        for name, partition in listing.partitions.items():
            if len(self._logs) < MOST_LOOKED_AT:
                self._enter(name, partition)

    def _enter(self, name: str, partition: DiskPartition) -> None:
        self._folders[name] = _NOTHING
        self._logs[name] = {each.base_offset: _listed(each) for each in partition.segments}

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the look that is under way."""
        self._end.set()

    def _run(self) -> None:
        pause, is_owed = LOOK_EVERY_S, False
        while not self._end.wait(pause):
            begin = time.perf_counter()
            with suppress(OSError):  # a directory that cannot be listed now may be later
                changes = self.look()
                if (changes or is_owed) and not self._end.is_set():
                    is_owed = self._tell(changes)
            took = time.perf_counter() - begin
            pause = min(max(LOOK_EVERY_S, _LEAST_PAUSES * took), _LONGEST_PAUSE_S)

    def look(self) -> Changes:
        """Look once and return what changed since the last look."""
        with self._looking:
            seen = Changes(self.listing)
            self._look_at_roots(seen)
            partitions = dict(seen.listing.partitions)
            for name in list(self._due(partitions)):
                anew = self._look_at(name, partitions[name], seen)
                if anew is not None:
                    partitions[name] = anew
            seen.listing = _with(seen.listing, partitions)
            self.listing = seen.listing
            return seen

    def _due(self, partitions: dict[str, DiskPartition]) -> Iterator[str]:
        """Yield the partitions of this look."""
        names = list(partitions)
        if len(names) > MOST_LOOKED_AT:
            start = self._turn % len(names)
            self._turn = start + MOST_LOOKED_AT
            names = (names + names)[start : start + MOST_LOOKED_AT]
            first = self._first()
            if first in partitions and first not in names:
                names.append(first)
        yield from names

    def _look_at_roots(self, seen: Changes) -> None:
        """List directories again whose entries changed, and keep the partitions that are known."""
        now = {path: _stamp(path) for path in self._roots}
        if all(_is_settled(now[path], self._roots[path]) for path in now):
            return
        self._roots = now
        fresh = LogDirectory(self.listing).listed_again().listing
        known = self.listing.partitions
        seen.added = set(fresh.partitions) - set(known)
        seen.removed = set(known) - set(fresh.partitions)
        for name in seen.removed:
            self._folders.pop(name, None)
            self._logs.pop(name, None)
        kept = {}
        for name, each in fresh.partitions.items():
            was = known.get(name)
            if was is None or was.path != each.path:
                kept[name] = each
            elif was.checkpoint_start == each.checkpoint_start:
                kept[name] = was
            else:
                kept[name] = _taking_over(each, was)
                seen.changed.add(name)
                seen.has_other_tier = True
                seen.rewritten.add(name)
        before = [(root.files, root.unknown_folders) for root in self.listing.roots]
        after = [(root.files, root.unknown_folders) for root in fresh.roots]
        seen.has_other_files = [_entries(each) for each in before] != [
            _entries(each) for each in after
        ]
        contents = [_contents(each) for each in fresh.roots]
        seen.has_other_contents = contents != self._contents
        self._contents = contents
        for name in seen.added:
            self._enter(name, kept[name])
            seen.new_from[name] = {each.base_offset: 0 for each in kept[name].segments}
            seen.has_other_tier = True
        seen.listing = _with(fresh, kept)

    def _look_at(self, name: str, partition: DiskPartition, seen: Changes) -> DiskPartition | None:
        """Compare one partition with what is known of it; return it listed again if it changed."""
        known = self._logs.get(name)
        if known is None:  # of very many: this is the first look
            self._enter(name, partition)
            return None
        folder = _stamp(partition.path)
        active = partition.segments[-1] if partition.segments else None
        is_same = _is_settled(folder, self._folders[name]) and (
            active is None or _stamp(active.path) == known.get(active.base_offset)
        )
        if is_same:
            return None
        anew = partition.listed_again()
        now = {each.base_offset: _listed(each) for each in anew.segments}
        names = {file.name for file in anew.files}
        if now == known and names == {file.name for file in partition.files}:
            self._folders[name] = folder
            return None
        old = {each.base_offset: each for each in partition.segments}
        for segment in anew.segments:
            before, stamp = known.get(segment.base_offset), now[segment.base_offset]
            if before is None or before[0] != stamp[0] or stamp[1] < before[1]:
                seen.new_from.setdefault(name, {})[segment.base_offset] = 0
                if before is not None:
                    seen.replaced.setdefault(name, set()).add(segment.base_offset)
                continue
            take_over(segment, old[segment.base_offset])
            if stamp != before:
                seen.new_from.setdefault(name, {})[segment.base_offset] = before[1]
        is_shorter = any(base not in now for base in known)
        seen.has_other_tier |= is_shorter or partition.topic == REMOTE_METADATA
        self._folders[name], self._logs[name] = folder, now
        seen.changed.add(name)
        if known.keys() - now.keys():
            seen.rewritten.add(name)
        return anew


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return _NOTHING
    return found.st_ino, found.st_size, found.st_mtime_ns


def _listed(segment: Segment) -> Stamp:
    """Return the stamp of a segment, with the size that it was listed with: no byte is skipped."""
    inode, _, modified = _stamp(segment.path)
    return inode, segment.size, modified


def _is_settled(now: Stamp, known: Stamp) -> bool:
    """Return whether a directory did not change, and not so short ago that it could be missed."""
    return now == known and since_change_ns(now[2]) > _UNSETTLED_NS


def _taking_over(partition: DiskPartition, earlier: DiskPartition) -> DiskPartition:
    """Return a partition with the batch tables that were read of it before."""
    old = {each.base_offset: each for each in earlier.segments}
    partition.remote = earlier.remote
    for segment in partition.segments:
        if segment.base_offset in old:
            take_over(segment, old[segment.base_offset])
    return partition


def _entries(found: tuple[tuple[object, ...], tuple[str, ...]]) -> tuple[list[str], list[str]]:
    files, folders = found
    return [str(getattr(each, "name", each)) for each in files], list(folders)


def _contents(root: Root) -> list[tuple[str, int, int]]:
    return [(each.name, each.size, each.modified_ms) for each in root.files]


def _with(listing: Listing, partitions: dict[str, DiskPartition]) -> Listing:
    """Return a listing with other objects for its partitions."""
    by_path = {each.path: each for each in partitions.values()}

    def put(root: Root) -> Root:
        return replace(root, partitions=tuple(by_path[each.path] for each in root.partitions))

    return Listing(tuple(map(put, listing.roots)), partitions)
