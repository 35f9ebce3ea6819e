"""The offset where each leader epoch began, in memory and in `leader-epoch-checkpoint`.

A new epoch is on the disk before its first record is; the scheduler writes the file later after a
truncation. So after a crash the file may have epochs of removed records, but never lacks one:
loading a log truncates the cache again.

Kafka: LeaderEpochFileCache, LeaderEpochCheckpointFile (4.2)
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from workbench.files.leader_epochs import (
    EpochEntry,
    LeaderEpochs,
    cut_end,
    cut_start,
    with_entry,
)
from workbench.files.names import LEADER_EPOCHS
from workbench.log.context import LogContext

_MENDED: Final = "wrong order"  # assigning the entries one after the other repairs that


class LeaderEpochCache:
    """The leader epochs of one partition and the offsets they begin at, both ascending.

    Threads may share it: readers see the entries between two changes.

    The file is in the context's directory, even after that has been renamed.

    Args:
        context: the log's context; its scheduler writes the file after a truncation.

    Attributes:
        entries: all epochs, ascending; a change replaces them.

    Raises:
        StorageError: the file cannot be read or created, or is damaged: the directory is offline.

    Kafka: LeaderEpochFileCache (4.2)
    """

    def __init__(self, context: LogContext) -> None:
        self._context = context
        self._lock = threading.RLock()
        self.entries: tuple[EpochEntry, ...] = ()
        for entry in self._read():
            self._take(entry)

    @property
    def path(self) -> str:
        """Path of the checkpoint."""
        return self._context.path(LEADER_EPOCHS)

    # Reading.

    @property
    def non_empty(self) -> bool:
        """Whether there is any epoch."""
        return bool(self.entries)

    @property
    def earliest(self) -> EpochEntry | None:
        """The oldest epoch; None if there is none."""
        entries = self.entries
        return entries[0] if entries else None

    @property
    def latest(self) -> EpochEntry | None:
        """The newest epoch; None if there is none."""
        entries = self.entries
        return entries[-1] if entries else None

    @property
    def latest_epoch(self) -> int | None:
        """Number of the newest epoch; None if there is none."""
        entries = self.entries
        return entries[-1].epoch if entries else None

    def entry(self, epoch: int) -> EpochEntry | None:
        """Return the entry of exactly this epoch; None if there is none.

        Kafka: LeaderEpochFileCache.epochEntry (4.2)
        """
        entries = self.entries
        slot = bisect_left(entries, epoch, key=_epoch)
        return entries[slot] if slot < len(entries) and entries[slot].epoch == epoch else None

    def previous_entry(self, epoch: int) -> EpochEntry | None:
        """Return the last epoch before ``epoch``; None if there is none."""
        entries = self.entries
        slot = bisect_left(entries, epoch, key=_epoch)
        return entries[slot - 1] if slot else None

    def previous_epoch(self, epoch: int | None = None) -> int | None:
        """Return the number of the epoch before ``epoch``, or before the newest; None without one.

        Kafka: LeaderEpochFileCache.previousEpoch (4.2)
        """
        if epoch is None:
            epoch = self.latest_epoch
        before = None if epoch is None else self.previous_entry(epoch)
        return None if before is None else before.epoch

    def next_epoch(self, epoch: int) -> int | None:
        """Return the number of the first epoch after ``epoch``; None if there is none."""
        return LeaderEpochs(self.entries).next_epoch(epoch)

    def epoch_for_offset(self, offset: int) -> int | None:
        """Return the epoch in which ``offset`` was or would be written; None before the first."""
        return LeaderEpochs(self.entries).epoch_for_offset(offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int] | None:
        """Return the largest epoch up to ``epoch`` and where it ends (exclusive).

        None if the epoch is unknown; see `LeaderEpochs.end_offset_for`.
        """
        return LeaderEpochs(self.entries).end_offset_for(epoch, log_end_offset)

    def entries_in_range(self, start_offset: int, end_offset: int) -> tuple[EpochEntry, ...]:
        """Return the epochs of the offsets [start, end); the first begins at ``start_offset``.

        A negative start means from the first entry; a negative end means to the last.

        Kafka: LeaderEpochFileCache.epochEntriesInRange (4.2)
        """
        entries = self.entries
        if start_offset >= 0:
            entries = cut_start(entries, start_offset)
        return cut_end(entries, end_offset)

    # Changes.

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Add an epoch that begins at an offset, and write the file.

        Nothing happens if it is already the newest epoch and begins there or before. Later epochs,
        and those that begin at or after the offset, are removed: they were never committed.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: the epoch or offset is negative.
            OSError: the process has no memory or descriptors, for now; nothing has changed.
            StorageError: the file cannot be written.
        """
        with self._lock:
            before = self.entries
            is_changed = self._take(EpochEntry(epoch, start_offset))
            if is_changed:
                self._write(before)
        return is_changed

    def truncate_from_end_async_flush(self, end_offset: int) -> None:
        """Remove the epochs that begin at or after ``end_offset``; the file is written later."""
        with self._lock:
            self._truncate(cut_end(self.entries, end_offset), f"the log end offset is {end_offset}")

    def truncate_from_start_async_flush(self, start_offset: int) -> None:
        """Remove the epochs that end at or before ``start_offset``; the file is written later.

        The epoch that contains ``start_offset`` then begins there.
        """
        with self._lock:
            kept = cut_start(self.entries, start_offset)
            self._truncate(kept, f"the log start offset is {start_offset}")

    def clear(self) -> None:
        """Remove all epochs in memory; the file does not change."""
        with self._lock:
            self.entries = ()

    def clear_and_flush(self) -> None:
        """Remove all epochs, and write the file; for errors see `assign`."""
        with self._lock:
            before, self.entries = self.entries, ()
            self._write(before)

    def _take(self, entry: EpochEntry) -> bool:
        """Add an entry in memory; return whether it was needed."""
        if entry.epoch < 0 or entry.start_offset < 0:
            where = self._context.topic_partition
            raise ValueError(
                f"{where}: epoch {entry.epoch} at offset {entry.start_offset}, expected 0 or more"
            )
        entries = self.entries
        changed = with_entry(entries, entry)
        if changed is entries:
            return False
        self.entries = changed
        if self._context.observer is not None:
            removed = entries[len(changed) - 1 :]
            reason = (
                f"the new epoch replaces epochs {', '.join(map(_words, removed))}"
                if removed
                else ""
            )
            self._context.tell("leader epoch assigned", reason=reason, **entry._asdict())
        return True

    def _truncate(self, kept: tuple[EpochEntry, ...], reason: str) -> None:
        before = self.entries
        if kept is before:
            return
        self.entries = kept
        # Not now: the caller holds the log's lock, and a slow disk would hold up all appends.
        name = f"leader-epoch-cache-flush-{self._context.topic_partition}"
        self._context.scheduler.schedule(name, self._write_later)
        if self._context.observer is not None and kept != before:
            removed = [entry for entry in before if entry not in kept]
            self._context.tell(
                "leader epochs truncated", reason=reason, removed=removed, kept=len(kept)
            )

    def _read(self) -> Iterable[EpochEntry]:
        with self._context.guard("read the leader epochs of", changes_nothing=True):
            self._context.fs.create(self.path).close()
            found = LeaderEpochs.decode(
                self._context.fs.read(self.path, LeaderEpochs.size_limit + 1), strict=False
            )
            for problem in found.problems:
                if problem.kind != _MENDED:
                    raise OSError(f"{self.path}: {problem}")
        return found.entries

    def _write(self, before: tuple[EpochEntry, ...]) -> None:
        """Write the file; if it cannot be written, the entries are those before again."""
        with self._context.guard("write the leader epochs of", changes_nothing=True):
            data = LeaderEpochs(self.entries).encode()
            try:
                self._context.fs.write_atomically(self.path, data)
            except OSError:
                self.entries = before
                raise

    def _write_later(self) -> None:
        """Kafka: CheckpointFileWithFailureHandler.writeIfDirExists (4.2)."""
        with self._lock, self._context.guard("write the leader epochs of"):
            data = LeaderEpochs(self.entries).encode()
            with suppress(FileNotFoundError):  # the directory was renamed or deleted meanwhile
                self._context.fs.write_atomically(self.path, data)


def _epoch(entry: EpochEntry) -> int:
    return entry.epoch


def _words(entry: EpochEntry) -> str:
    return f"{entry.epoch} at {entry.start_offset}"
