"""Producer snapshots while a log is recovered: what would come out the same is not written anew.

Recovering a segment goes back to the producer state before it. The snapshots behind that count for
nothing from then on, but most are soon made again with the same bytes. So their files stay until
then, or until the recovery has ended. A crash meanwhile leaves them, and a recovery before it.

Kafka removes them at once and writes all anew.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from workbench.files.producer_snapshot import ProducerEntry, ProducerSnapshot
from workbench.log.context import LogContext
from workbench.log.producer_snapshots import SnapshotFiles


class RecoverySnapshots(SnapshotFiles):
    """The snapshots of a log that is being recovered."""

    def __init__(self, context: LogContext) -> None:
        self._stale: set[int] = set()
        super().__init__(context.directory, context.fs, context.observer)

    def remove_where(
        self, is_removed: Callable[[int], bool], reason: str, *, sync: bool = False
    ) -> None:
        """Forget the snapshots whose offsets ``is_removed`` says yes to; their files stay."""
        del sync  # nothing is removed yet
        stale = {offset for offset in self._offsets if is_removed(offset)}
        self._offsets -= stale
        self._stale |= stale
        for offset in sorted(stale):
            self._tell("producer snapshot forgotten", self.path(offset), reason, offset=offset)

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        """Write a snapshot and return its path; a file with the same bytes is only synced."""
        if offset not in self._stale:
            return super().write(offset, entries, sync=sync)
        self._stale.discard(offset)
        kept = tuple(entries)
        path = self.path(offset)
        if self._fs.read(path) != ProducerSnapshot(kept).encode():
            return super().write(offset, kept, sync=sync)
        if sync:
            self.flush(path)
        self._offsets.add(offset)
        self._tell("producer snapshot kept", path, "it is as before", offset=offset)
        return path

    def remove_stale(self) -> None:
        """Remove the files that count for nothing and were not written again.

        One behind the log's end may not come back: other batches will get its offset.
        """
        is_behind = bool(self._stale) and max(self._stale) > (self.latest or -1)
        for offset in sorted(self._stale):
            with suppress(FileNotFoundError):
                self._fs.remove(self.path(offset))
            self._tell("producer snapshot removed", self.path(offset), offset=offset)
        self._stale.clear()
        if is_behind:
            self._fs.sync_directory(self._directory)
