"""The `.snapshot` files of one partition: write, read, and remove those that are of no use.

Kafka: SnapshotFile, and the part of ProducerStateManager that keeps the files (4.2)
"""

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, Final

from workbench.errors import CorruptSnapshotError
from workbench.file_system.local import FileSystem
from workbench.files.names import DELETED, file_name, parse_file_name
from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.producer_entry import ProducerStateEntry
from workbench.log.steps import Observer, Step

FIRST_BUCKETS: Final = 16
"""Of a new java.util.HashMap; they are doubled when there are more entries than this by them:"""

LOAD_FACTOR: Final = 0.75

_ENDING: Final = ".snapshot"  # told apart before the whole name is: folders hold mostly others
_HARMLESS: Final = "left over bytes"  # under the CRC like all others; a broker does not miss them


class SnapshotFiles:
    """The snapshots that there are, by the offset each reaches up to (exclusive).

    Removing is safe beside another thread that does the same; nothing else is.

    Args:
        directory: path of the partition's folder; need not be there yet.
        fs: what is written through.
        observer: is told of each file written, refused or removed.

    Raises:
        OSError: the folder cannot be listed.
    """

    def __init__(self, directory: str, fs: FileSystem, observer: Observer | None = None) -> None:
        self._directory = directory
        self._fs = fs
        self._observer = observer
        self._offsets: set[int] = set()
        self.reload()

    def reload(self) -> None:
        """Look again at what is in the folder.

        Kafka: ProducerStateManager.loadSnapshots (4.2)
        """
        entries = self._fs.list(self._directory) if self._fs.exists(self._directory) else []
        names = [
            parse_file_name(entry.name)
            for entry in entries
            if entry.name.endswith(_ENDING) and not entry.is_directory
        ]
        self._offsets = {
            name.offset
            for name in names
            if name is not None and name.kind == "snapshot" and not name.suffix
        }

    def update_directory(self, directory: str) -> None:
        """Follow the partition's folder to its new path.

        Kafka: SnapshotFile.updateParentDir (4.2)
        """
        self._directory = directory

    @property
    def offsets(self) -> tuple[int, ...]:
        """What each reaches up to, ascending."""
        return tuple(sorted(self._offsets))

    @property
    def oldest(self) -> int | None:
        """The smallest offset; None if there is no snapshot."""
        return min(self._offsets, default=None)

    @property
    def latest(self) -> int | None:
        """The largest offset; None if there is no snapshot."""
        return max(self._offsets, default=None)

    def path(self, offset: int) -> str:
        """Return where the snapshot of an offset is, or would be."""
        return os.path.join(self._directory, file_name("snapshot", offset))

    def __contains__(self, offset: int) -> bool:
        return offset in self._offsets

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        """Write a snapshot and return its path.

        Args:
            offset: what it reaches up to (exclusive).
            entries: in the order that they are to stand in.
            sync: whether to wait until it is on the disk.

        Kafka: ProducerStateManager.writeSnapshot (4.2)
        """
        snapshot = ProducerSnapshot(tuple(entries))
        data = snapshot.encode()
        path = self.path(offset)
        file = self._fs.create(path)
        try:
            file.truncate(0)  # of a crash before, perhaps; a broker leaves what is longer
            file.write(data, 0)
            if sync:
                file.sync()
        finally:
            file.close()
        self._offsets.add(offset)
        self._tell("producer snapshot written", path, offset=offset, count=len(snapshot.entries))
        return path

    def flush(self, path: str) -> None:
        """Return when the file of a snapshot is on the disk; nothing happens if it is gone.

        Kafka: Utils.flushFileIfExists (4.2)
        """
        file = self._fs.open(path)
        try:
            with suppress(FileNotFoundError):
                file.sync()
        finally:
            file.close()

    def read(self, offset: int) -> tuple[ProducerEntry, ...]:
        """Return the entries of a snapshot.

        Raises:
            CorruptSnapshotError: it is damaged, or of a version that a broker does not know.

        Kafka: ProducerStateManager.readSnapshot (4.2)
        """
        path = self.path(offset)
        snapshot = ProducerSnapshot.decode(self._fs.read(path), strict=False)
        for problem in snapshot.problems:
            if problem.kind != _HARMLESS:
                raise CorruptSnapshotError(path, problem.position, str(problem))
        return snapshot.entries

    def remove(self, offset: int, reason: str) -> None:
        """Forget a snapshot and remove its file, if it is there.

        Kafka: ProducerStateManager.removeAndDeleteSnapshot (4.2)
        """
        if offset not in self._offsets:
            return
        self._offsets.discard(offset)
        path = self.path(offset)
        with suppress(FileNotFoundError):
            self._fs.remove(path)
        self._tell("producer snapshot removed", path, reason, offset=offset)

    def remove_where(
        self, is_removed: Callable[[int], bool], reason: str, *, sync: bool = False
    ) -> None:
        """Remove the snapshots whose offsets ``is_removed`` says yes to.

        Args:
            is_removed: says so.
            reason: for the observer.
            sync: whether to wait until none can come back: other batches get their offsets.
        """
        doomed = [offset for offset in self.offsets if is_removed(offset)]
        for offset in doomed:
            self.remove(offset, reason)
        if doomed and sync:
            self._fs.sync_directory(self._directory)

    def remove_strays(self, base_offsets: Collection[int]) -> None:
        """Remove the snapshots that no segment begins at, but for the newest of them.

        That one stays if no segment begins behind it: a clean shutdown wrote it at the log's end.
        What is in the folder is looked at anew.

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
        """Forget a snapshot and put `.deleted` behind its file's name.

        Returns:
            The file's new path; None if there was no such snapshot, or its file has gone.

        Kafka: ProducerStateManager.removeAndMarkSnapshotForDeletion (4.2)
        """
        if offset not in self._offsets:
            return None
        self._offsets.discard(offset)
        path = self.path(offset)
        try:
            self._fs.rename(path, path + DELETED)
        except FileNotFoundError:
            return None
        return path + DELETED

    def _tell(self, kind: str, path: str, reason: str = "", **numbers: Any) -> None:
        if self._observer is not None:
            self._observer(Step(kind, path, reason, numbers))


def in_hash_order(entries: Iterable[ProducerStateEntry], buckets: int) -> list[ProducerStateEntry]:
    """Return entries as a `java.util.HashMap` by producer id gives them: a snapshot's order.

    By bucket; in one bucket in the order they came. Buckets of eight and more entries, which Java
    turns into trees, are not followed.

    Args:
        entries: in the order they were added.
        buckets: as many as the map ever needed; a power of two.
    """

    def bucket(entry: ProducerStateEntry) -> int:
        number = entry.producer_id
        hashed = (number ^ number >> 32) & 0xFFFFFFFF
        return (hashed ^ hashed >> 16) & (buckets - 1)

    return sorted(entries, key=bucket)
