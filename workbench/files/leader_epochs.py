"""`leader-epoch-checkpoint`: the first offset of each leader epoch.

A checkpoint (`files.text`) with one line per epoch and its first offset, both ascending. The end of
an epoch is the start of the next; the end of the latest is the log end offset.

Kafka: LeaderEpochCheckpointFile, LeaderEpochFileCache (4.0); since 0.11
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from workbench.errors import CorruptCheckpointError
from workbench.files import text
from workbench.files.reading import FileProblem, ProblemList, SmallFile
from workbench.layout.integers import INT32_MAX, INT64_MAX

UNKNOWN_EPOCH: Final = -1  # in batches that no leader has appended


class EpochEntry(NamedTuple):
    """A leader epoch and its first offset."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class LeaderEpochs(SmallFile):
    """The epochs of a partition, as in the file.

    Lookups assume that epochs and start offsets ascend; `problems` says if they do not.

    Attributes:
        entries: ascending.
        problems: see `reading`.
    """

    entries: tuple[EpochEntry, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = text.CHECKPOINT_LIMIT

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        entries: list[EpochEntry] = []
        for position, (epoch_text, start_text) in text.parse_checkpoint(data, 2, problems):
            epoch = text.parse_integer(epoch_text, INT32_MAX)
            start_offset = text.parse_integer(start_text, INT64_MAX)
            if epoch is None or start_offset is None:
                found = f"line {text.quote(f'{epoch_text} {start_text}')}"
                problems.add("malformed", position, found, "an epoch and an offset")
                continue
            _check_entry(EpochEntry(epoch, start_offset), entries, position, problems)
            entries.append(EpochEntry(epoch, start_offset))
        return cls(tuple(entries), problems.found())

    def encode(self) -> bytes:
        """Return the file's bytes."""
        return text.encode_checkpoint([f"{epoch} {start}" for epoch, start in self.entries])

    @property
    def latest(self) -> EpochEntry | None:
        """The newest epoch; None if there is none."""
        return self.entries[-1] if self.entries else None

    @property
    def earliest(self) -> EpochEntry | None:
        """The oldest epoch still in the log; None if there is none."""
        return self.entries[0] if self.entries else None

    def epoch_for_offset(self, offset: int) -> int | None:
        """Return the epoch in which ``offset`` was, or would be, written; None before the first.

        Kafka: LeaderEpochFileCache.epochForOffset (4.0)
        """
        slot = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[slot - 1].epoch if slot else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int] | None:
        """Return the largest epoch up to ``epoch`` and where it ends (exclusive).

        A follower that has records of ``epoch`` past that end must truncate its log there.

        Returns:
            None when the epoch is unknown: it is later than the latest, -1, or the file has no
            entries. The requested epoch itself, with the first entry's start as its end, when it
            is older than the first.

        Kafka: LeaderEpochFileCache.endOffsetFor (4.0)
        """
        if epoch == UNKNOWN_EPOCH or not self.entries:
            return None
        if epoch == self.entries[-1].epoch:
            return epoch, log_end_offset
        slot = self._slot_above(epoch)
        if slot == len(self.entries):
            return None
        end_offset = self.entries[slot].start_offset
        return (self.entries[slot - 1].epoch if slot else epoch), end_offset

    def next_epoch(self, epoch: int) -> int | None:
        """Return the first epoch later than ``epoch``; None if there is none."""
        slot = self._slot_above(epoch)
        return self.entries[slot].epoch if slot < len(self.entries) else None

    def previous_epoch(self, epoch: int) -> int | None:
        """Return the last epoch earlier than ``epoch``; None if there is none."""
        slot = self._slot_above(epoch - 1)
        return self.entries[slot - 1].epoch if slot else None

    def _slot_above(self, epoch: int) -> int:
        return bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)


def with_entry(entries: tuple[EpochEntry, ...], entry: EpochEntry) -> tuple[EpochEntry, ...]:
    """Return the entries with one more; the same object if it says nothing new.

    Later epochs, and those that begin at or after its offset, are removed.

    Kafka: LeaderEpochFileCache.assign (4.2)
    """
    if entries:
        latest = entries[-1]
        if entry.epoch == latest.epoch and entry.start_offset >= latest.start_offset:
            return entries
    kept = len(entries)
    while kept and (
        entries[kept - 1].epoch >= entry.epoch
        or entries[kept - 1].start_offset >= entry.start_offset
    ):
        kept -= 1
    return (*entries[:kept], entry)


def cut_end(entries: tuple[EpochEntry, ...], end_offset: int) -> tuple[EpochEntry, ...]:
    """Return the entries that begin before an offset; all for a negative offset.

    Kafka: LeaderEpochFileCache.truncateFromEnd (4.2)
    """
    if end_offset < 0:
        return entries
    kept = bisect_left(entries, end_offset, key=lambda entry: entry.start_offset)
    return entries[:kept] if kept < len(entries) else entries


def cut_start(entries: tuple[EpochEntry, ...], start_offset: int) -> tuple[EpochEntry, ...]:
    """Return the entries of an offset and later, the first of them beginning there or later.

    Kafka: LeaderEpochFileCache.truncateFromStart (4.2)
    """
    removed = bisect_right(entries, start_offset, key=lambda entry: entry.start_offset)
    if not removed:
        return entries
    return (EpochEntry(entries[removed - 1].epoch, start_offset), *entries[removed:])


def _check_entry(
    entry: EpochEntry, before: list[EpochEntry], position: int, problems: ProblemList
) -> None:
    if entry.epoch < 0 or entry.start_offset < 0:
        problems.add("bad value", position, f"{entry.epoch} {entry.start_offset}", "no negatives")
    if before and not (entry.epoch > before[-1].epoch and entry.start_offset > before[-1][1]):
        found = f"{entry.epoch} {entry.start_offset} after {before[-1].epoch} {before[-1][1]}"
        problems.add("wrong order", position, found, "epochs and offsets to ascend")
