"""The `.snapshot` files of one partition: write, read, and remove unused ones.

Kafka: SnapshotFile, and the part of ProducerStateManager that keeps the files (4.2)
"""

import os
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final

from workbench.errors import CorruptSnapshotError
from workbench.file_system.local import FileSystem, FolderEntry
from workbench.files.names import DELETED, file_name, parse_file_name
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.producers.producer import ProducerStateEntry
from workbench.runtime.steps import Observer, Reporter

FIRST_BUCKETS: Final = 16
"""Buckets of a new java.util.HashMap; they double when entries exceed buckets times this:"""

LOAD_FACTOR: Final = 0.75

_ENDING: Final = ".snapshot"  # checked before the whole name: most files have others
_HARMLESS: Final = "left over bytes"  # covered by the CRC like all others; a broker ignores them


class SnapshotFiles(Reporter):
    """The existing snapshots, by the offset each reaches up to (exclusive).

    Two threads may remove snapshots at the same time; nothing else is thread-safe.

    Args:
        directory: path of the partition directory; need not exist yet.
        fs: the file system that is written through.
        observer: receives a step for each file written, refused or removed.

    Raises:
        OSError: the directory cannot be listed.
    """

    def __init__(self, directory: str, fs: FileSystem, observer: Observer | None = None) -> None:
        self._directory = directory
        self._fs = fs
        self.observer = observer
        self._offsets: list[int] = []  # ascending
        self._changing = threading.Lock()  # held while these are changed, or looked up
        self.reload()

    def reload(self) -> None:
        """List the directory again.

        Kafka: ProducerStateManager.loadSnapshots (4.2)
        """
        entries: list[FolderEntry] = []
        with suppress(FileNotFoundError):
            entries = self._fs.list(self._directory)
        names = [
            parse_file_name(entry.name)
            for entry in entries
            if entry.name.endswith(_ENDING) and not entry.is_directory
        ]
        found = {
            name.offset
            for name in names
            if name is not None and name.kind == "snapshot" and not name.suffix
        }
        with self._changing:
            self._offsets = sorted(found)

    def update_directory(self, directory: str) -> None:
        """Follow the partition directory to its new path.

        Kafka: SnapshotFile.updateParentDir (4.2)
        """
        self._directory = directory

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets that the snapshots reach up to, ascending."""
        with self._changing:
            return tuple(self._offsets)

    @property
    def oldest(self) -> int | None:
        """The smallest offset; None if there is no snapshot."""
        with self._changing:
            return self._offsets[0] if self._offsets else None

    @property
    def latest(self) -> int | None:
        """The largest offset; None if there is no snapshot."""
        with self._changing:
            return self._offsets[-1] if self._offsets else None

    def path(self, offset: int) -> str:
        """Return the path of an offset's snapshot, which need not exist."""
        return os.path.join(self._directory, file_name("snapshot", offset))

    def __contains__(self, offset: int) -> bool:
        with self._changing:
            at = bisect_left(self._offsets, offset)
            return self._offsets[at : at + 1] == [offset]

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        """Write a snapshot and return its path.

        Args:
            offset: offset that it reaches up to (exclusive).
            entries: the entries in their order in the file.
            sync: whether to wait until it is on the disk.

        Kafka: ProducerStateManager.writeSnapshot (4.2)
        """
        snapshot = ProducerSnapshot(tuple(entries))
        data = snapshot.encode()
        path = self.path(offset)
        file = self._fs.create(path)
        try:
            file.truncate(0)  # perhaps left by a crash; a broker keeps extra bytes
            file.write(data, 0)
            if sync:
                file.sync()
        finally:
            file.close()
        self._add(offset)
        self.tell("producer snapshot written", path, offset=offset, count=len(snapshot.entries))
        return path

    def flush(self, path: str) -> None:
        """Return when the file of a snapshot is on the disk; do nothing if it does not exist.

        Kafka: Utils.flushFileIfExists (4.2)
        """
        file = self._fs.open(path)
        try:
            with suppress(FileNotFoundError):
                file.sync()
        finally:
            file.close()

    def read(self, offset: int) -> Sequence[ProducerEntry]:
        """Return the entries of a snapshot.

        Raises:
            CorruptSnapshotError: it is damaged, or has a version unknown to a broker.

        Kafka: ProducerStateManager.readSnapshot (4.2)
        """
        path = self.path(offset)
        snapshot = ProducerSnapshot.decode(
            self._fs.read(path, ProducerSnapshot.size_limit + 1), strict=False
        )
        for problem in snapshot.problems:
            if problem.kind != _HARMLESS:
                raise CorruptSnapshotError(path, problem.position, str(problem))
        return snapshot.entries

    def remove(self, offset: int, reason: str) -> None:
        """Forget a snapshot and remove its file, if it exists.

        Kafka: ProducerStateManager.removeAndDeleteSnapshot (4.2)
        """
        if not self._forget(offset):
            return
        path = self.path(offset)
        with suppress(FileNotFoundError):
            self._fs.remove(path)
        self.tell("producer snapshot removed", path, reason, offset=offset)

    def remove_outside(self, first: int, last: int, reason: str, *, sync: bool = False) -> None:
        """Remove the snapshots whose offsets are outside [first, last].

        Args:
            first, last: the offsets to keep; none if the last is below the first.
            reason: why, for the observer.
            sync: whether to wait until no crash can restore them: other batches get their offsets.
        """
        doomed = self._outside(first, last)
        for offset in doomed:
            self.remove(offset, reason)
        if doomed and sync:
            self._fs.sync_directory(self._directory)

    def remove_strays(self, base_offsets: Collection[int]) -> None:
        """Remove the snapshots that no segment begins at, except the newest of them.

        That one is kept if no segment begins after it: a clean shutdown wrote it at the log end
        offset. The directory is listed again.

        Kafka: ProducerStateManager.removeStraySnapshots (4.2)
        """
        self.reload()
        bases = set(base_offsets)
        strays = [offset for offset in self.offsets if offset not in bases]
        if strays and bases and strays[-1] < max(bases):
            kept = None
        else:
            kept = strays[-1] if strays else None
        for offset in strays:
            if offset != kept:
                self.remove(offset, f"no segment begins at {offset}")

    def mark_for_deletion(self, offset: int) -> str | None:
        """Forget a snapshot and append `.deleted` to its file's name.

        Returns:
            The file's new path; None if there was no such snapshot, or its file is missing.

        Kafka: ProducerStateManager.removeAndMarkSnapshotForDeletion (4.2)
        """
        if not self._forget(offset):
            return None
        path = self.path(offset)
        try:
            self._fs.rename(path, path + DELETED)
        except FileNotFoundError:
            return None
        return path + DELETED

    def _add(self, offset: int) -> None:
        with self._changing:
            at = bisect_left(self._offsets, offset)
            if self._offsets[at : at + 1] != [offset]:
                self._offsets.insert(at, offset)

    def _forget(self, offset: int) -> bool:
        """Return whether the offset was known; it is not from now on."""
        with self._changing:
            at = bisect_left(self._offsets, offset)
            is_known = self._offsets[at : at + 1] == [offset]
            if is_known:
                del self._offsets[at]
            return is_known

    def _outside(self, first: int, last: int) -> list[int]:
        with self._changing:
            below = bisect_left(self._offsets, first)
            above = bisect_right(self._offsets, last, lo=below)
            return self._offsets[:below] + self._offsets[above:]


def in_hash_order(entries: Iterable[ProducerStateEntry], buckets: int) -> list[ProducerStateEntry]:
    """Return entries in the order of a `java.util.HashMap` by producer id: a snapshot's order.

    By bucket, then by insertion. The order in buckets of eight or more entries, which Java turns
    into trees, is not reproduced.

    Args:
        entries: the entries in the order they were added.
        buckets: the most buckets that the map ever needed; a power of two.
    """

    def bucket(entry: ProducerStateEntry) -> int:
        number = entry.producer_id
        hashed = (number ^ number >> 32) & 0xFFFFFFFF
        return (hashed ^ hashed >> 16) & (buckets - 1)

    return sorted(entries, key=bucket)
