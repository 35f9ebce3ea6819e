"""Producer snapshots during recovery: a file that would not change is not rewritten.

The recovery of a segment starts from the producer state before it. Later snapshots are then
invalid, but most are soon made again with the same bytes. So their files are kept until then, or
until the recovery ends. A crash meanwhile leaves them to the next recovery.

Kafka removes them at once and writes all again.
"""

from collections.abc import Iterable
from contextlib import suppress

from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.context import LogContext
from workbench.log.producers.snapshots import SnapshotFiles


class RecoverySnapshots(SnapshotFiles):
    """The snapshots of a log that is being recovered."""

    def __init__(self, context: LogContext) -> None:
        self._stale: set[int] = set()
        super().__init__(context.directory, context.fs, context.observer)

    def remove_outside(self, first: int, last: int, reason: str, *, sync: bool = False) -> None:
        """Forget the snapshots whose offsets are outside [first, last]; their files are kept."""
        del sync  # nothing is removed yet
        stale = self._outside(first, last)
        self._stale.update(stale)
        for offset in stale:
            self._forget(offset)
            self.tell("producer snapshot forgotten", self.path(offset), reason, offset=offset)

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        """Write a snapshot and return its path; a file with the same bytes is only synced."""
        if offset not in self._stale:
            return super().write(offset, entries, sync=sync)
        self._stale.discard(offset)
        kept = tuple(entries)
        path = self.path(offset)
        encoded = ProducerSnapshot(kept).encode()
        if self._fs.read(path, len(encoded) + 1) != encoded:
            return super().write(offset, kept, sync=sync)
        if sync:
            self.flush(path)
        self._add(offset)
        self.tell(
            "producer snapshot kept", path, "the snapshot file has the same bytes", offset=offset
        )
        return path

    def remove_stale(self) -> None:
        """Remove the files of forgotten snapshots that were not written again.

        One after the log end offset must not come back: other batches will get its offset.
        """
        is_behind = bool(self._stale) and max(self._stale) > (self.latest or -1)
        for offset in sorted(self._stale):
            with suppress(FileNotFoundError):
                self._fs.remove(self.path(offset))
            self.tell("producer snapshot removed", self.path(offset), offset=offset)
        self._stale.clear()
        if is_behind:
            self._fs.sync_directory(self._directory)
