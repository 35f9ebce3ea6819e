"""What one broker's disk says of one partition: offsets, leader epochs, damage, what a start does.

Kafka: UnifiedLog, LogLoader.load (4.2)
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from workbench.comparison.batches import OFFSET_ORDER, ComparedBatches, Rows, crc_problem, parts_of
from workbench.comparison.disks import BrokerDisks
from workbench.comparison.truncation import TruncatableLog
from workbench.files import names
from workbench.files.leader_epochs import (
    UNKNOWN_EPOCH,
    EpochEntry,
    cut_end,
    cut_start,
    with_entry,
)
from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.unreadable import findings_about_records, if_readable, unreadable
from workbench.inspection.verify.shutdown_state import Stop
from workbench.layout import problems
from workbench.record.reading.reader import Problem

_MOST_DAMAGE: Final = 100  # findings of one replica; more say nothing new
_MOST_EPOCHS: Final = 10_000  # of a log; damaged batches could have millions
_RECOVERED: Final = frozenset({problems.BAD_SIZE, problems.SHORT_BATCH, problems.CRC_MISMATCH})
"""Damage at which the recovery of a log truncates it."""
_REORDERED: Final = "wrong order"  # a broker accepts the entries of a leader epoch file so


@dataclass(frozen=True, slots=True)
class Replica:
    """One broker's copy of a partition.

    Attributes:
        broker: the name that the caller gave the broker.
        path: the partition directory.
        topic_id: 22 characters; None if it is not known.
        stop: how the broker stopped, for this directory: clean, unclean, running or unknown.
        log_start_offset: first offset that a client can read.
        log_end_offset: the offset after the last batch.
        last_epoch: leader epoch of the last batch; None without any, or before magic 2.
        batch_epochs: the epochs of the batches, each with the first offset that is still there.
        stored_epochs: the entries of `leader-epoch-checkpoint`; None without a readable one.
        high_watermark: as in `replication-offset-checkpoint`; None if it is not there.
        cleaner_offset: up to where the cleaner has read the log; None if it has not.
        recovered_end_offset: the log end offset after the broker has started: lower than
            `log_end_offset` if it was killed and recovery truncates the log at damage.
        epochs: the leader epoch cache after the start.
        has_high_watermarks: whether the log directory has a readable checkpoint of high watermarks.
        damage: findings about what cannot be read, at most 100.
        damage_count: how many there would be.
        lost: ranges [start, end) of offsets that cannot be read, ascending.
        epochs_fall: offset of the first batch whose epoch is below that of a batch before it; None.
        partition: the log itself.
    """

    broker: str
    path: str
    topic_id: str | None
    stop: Stop
    log_start_offset: int
    log_end_offset: int
    last_epoch: int | None
    batch_epochs: tuple[EpochEntry, ...]
    stored_epochs: tuple[EpochEntry, ...] | None
    high_watermark: int | None
    cleaner_offset: int | None
    recovered_end_offset: int
    epochs: tuple[EpochEntry, ...]
    has_high_watermarks: bool
    damage: tuple[Finding, ...]
    damage_count: int
    lost: tuple[tuple[int, int], ...]
    epochs_fall: int | None
    partition: DiskPartition = field(repr=False)

    @property
    def restart_high_watermark(self) -> int:
        """The high watermark after a start, before any fetch; 0 counts if none is checkpointed.

        Kafka: Partition.createLog, UnifiedLog.updateHighWatermark (4.2)
        """
        low, high = self.log_start_offset, self.recovered_end_offset
        return max(low, min(self.high_watermark or 0, high))

    @property
    def known_committed(self) -> int:
        """The end (exclusive) of the offsets of this log that were committed for certain."""
        return min(self.high_watermark or 0, self.log_end_offset)

    @property
    def rank(self) -> tuple[int, int]:
        """Last epoch and log end offset: the replica with the largest is ahead, epoch first."""
        return (-1 if self.last_epoch is None else self.last_epoch), self.log_end_offset

    @property
    def state(self) -> TruncatableLog:
        """The log after a start, as the rules of truncation see it."""
        end = max(self.recovered_end_offset, self.log_start_offset)
        return TruncatableLog(self.epochs, self.log_start_offset, end, self.restart_high_watermark)

    def has_lost(self, offsets: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return bool[n]: which offsets are in a range that cannot be read."""
        starts = np.array([start for start, _ in self.lost], np.int64)
        ends = np.array([end for _, end in self.lost], np.int64)
        at = np.searchsorted(starts, offsets, "right") - 1
        if not len(starts):
            return np.zeros(len(offsets), np.bool_)
        found: np.ndarray[Any, Any] = (at >= 0) & (offsets < ends[np.maximum(at, 0)])
        return found


def read_replica(
    disks: BrokerDisks,
    partition: DiskPartition,
    *,
    deep: bool = True,
    advance: Callable[[int], None] = lambda _size: None,
) -> Replica:
    """Read one broker's copy of a partition.

    Args:
        disks: the broker's.
        partition: one of `BrokerDisks.logs`.
        deep: whether to check the CRC of every batch; otherwise only headers are read.
        advance: called with the bytes that were walked; raises to stop.
    """
    situation = disks.situation(partition)
    is_recovered = situation.stop == "unclean"
    reading = _Reading(partition, situation.recovery_point if is_recovered else None)
    found = list(findings_about_records(partition))
    try:
        for part in parts_of(partition, check_crc=deep):
            reading.add(part)
            advance(int(part.rows["size"].sum()))
    except OSError as error:
        found += unreadable(partition.path, error)
    reading.finish()
    file = None
    with suppress(OSError):
        file = partition.leader_epochs
    stored = None
    if file is not None and all(problem.kind == _REORDERED for problem in file.problems):
        stored = file.entries
    start = partition.log_start_offset
    recovered_end = reading.recovered_end
    end = max(reading.end, start)
    return Replica(
        broker=disks.broker,
        path=partition.path,
        topic_id=partition.topic_id,
        stop=situation.stop,
        log_start_offset=start,
        log_end_offset=end,
        last_epoch=reading.epochs[-1].epoch if reading.epochs else None,
        batch_epochs=tuple(reading.epochs),
        stored_epochs=stored,
        high_watermark=disks.high_watermark(partition),
        cleaner_offset=disks.cleaner_offset(partition),
        recovered_end_offset=min(end, max(recovered_end, start)),
        epochs=_epochs_after_start(stored or (), reading, start),
        has_high_watermarks=disks.has_high_watermarks(partition),
        damage=(*found, *reading.damage),
        damage_count=len(found) + reading.damage_count,
        lost=tuple(reading.lost),
        epochs_fall=reading.epochs_fall,
        partition=partition,
    )


def _epochs_after_start(
    stored: tuple[EpochEntry, ...], reading: "_Reading", start: int
) -> tuple[EpochEntry, ...]:
    """Return the leader epoch cache of a broker that has loaded the log.

    Kafka: LogLoader.load, LogSegment.recover (4.2)
    """
    entries: tuple[EpochEntry, ...] = ()
    for entry in stored:  # one after the other repairs a wrong order
        if entry.epoch >= 0 and entry.start_offset >= 0:
            entries = with_entry(entries, entry)
    for entry in reading.recovered_epochs:
        if not entries or entry.epoch > entries[-1].epoch:
            entries = with_entry(entries, entry)
    return cut_start(cut_end(entries, reading.recovered_end), start)


class _Reading:
    """Gathers what a pass over the batches of one log finds; it does not grow with the log.

    Args:
        partition: the log.
        recovery_point: where recovery begins; None if the broker does not recover the log.
    """

    def __init__(self, partition: DiskPartition, recovery_point: int | None) -> None:
        self._segments = partition.segments
        self._recovery_point = recovery_point
        self._next_bases = {
            one.base_offset: other.base_offset
            for one, other in zip(self._segments, self._segments[1:], strict=False)
        }
        self._gap: int | None = None  # offset where bytes that are not a batch begin
        self._is_cut = False
        self._recovered: tuple[Segment, int] | None = None  # and where its last batch ends
        self.epochs: list[EpochEntry] = []
        self.recovered_epochs: list[EpochEntry] = []
        self.damage: list[Finding] = []
        self.damage_count = 0
        self.lost: list[tuple[int, int]] = []
        self.epochs_fall: int | None = None
        self.end = self._segments[0].base_offset if self._segments else 0
        self.recovered_end = self.end

    def add(self, part: ComparedBatches) -> None:
        """Take the next part of the log."""
        segment, rows, sound, found = part
        next_base = self._next_bases.get(segment.base_offset)
        is_recovered = self._recovery_point is not None and (
            next_base is None or next_base > self._recovery_point
        )
        self._end_segment(segment)
        if is_recovered:
            whole = [each.position + each.size for each in found if each.code not in _RECOVERED]
            whole.append(self._recovered[1] if self._recovered else 0)
            if len(rows):
                whole.append(int(rows["position"][-1] + rows["size"][-1]))
            self._recovered = segment, max(whole)
        self.end = max(self.end, segment.base_offset)
        wrong = list(found)
        if not sound.all():
            wrong += [crc_problem(row) for row in rows[~sound]]
        tail = [each for each in wrong if segment.is_active and _reaches_end(each, segment.size)]
        wrong = sorted((each for each in wrong if each not in tail), key=lambda each: each.position)
        if wrong:
            self._note(segment.path, rows, wrong, is_recovered=is_recovered)
        elif self._gap is not None and len(rows):
            self._lose(self._gap, int(rows["base_offset"][0]))
            self._gap = None
        if len(rows):
            self._take_epochs(rows, is_recovered=is_recovered)
            self.end = int(rows["last_offset"][-1]) + 1
        if not self._is_cut:
            self.recovered_end = self.end

    def _end_segment(self, following: Segment) -> None:
        """Let recovery truncate the log at bytes after the last batch of a segment.

        Kafka: LogLoader.recoverLog (4.2)
        """
        if self._recovered is None or self._recovered[0] is following:
            return
        segment, behind = self._recovered
        self._recovered = None
        if behind < segment.size and not self._is_cut:
            self._is_cut, self.recovered_end = True, self.end

    def finish(self) -> None:
        """Take note that there is nothing more."""
        if self._segments:
            self.end = max(self.end, self._segments[-1].base_offset)
        if not self._is_cut:
            self.recovered_end = self.end
        if self._gap is not None:
            self._lose(self._gap, max(self.end, self._gap))

    def _note(self, path: str, rows: Rows, wrong: list[Problem], *, is_recovered: bool) -> None:
        """Keep what cannot be read, and which offsets that leaves out."""
        positions = rows["position"]
        for each in wrong:
            self.damage_count += 1
            if len(self.damage) < _MOST_DAMAGE:
                self.damage.append(_finding(each, path))
            slot = int(np.searchsorted(positions, each.position))
            before = int(rows["last_offset"][slot - 1]) + 1 if slot else self.end
            if is_recovered and not self._is_cut and each.code in _RECOVERED:
                self._is_cut, self.recovered_end = True, before
            if slot < len(rows) and positions[slot] == each.position:
                start, end = int(rows["base_offset"][slot]), int(rows["last_offset"][slot]) + 1
                self._lose(start, end)
            elif slot < len(rows):
                gap = before if self._gap is None else min(before, self._gap)
                self._lose(gap, int(rows["base_offset"][slot]))
                self._gap = None
            elif self._gap is None:
                self._gap = before

    def _lose(self, start: int, end: int) -> None:
        if end <= start:
            return
        if self.lost and (start <= self.lost[-1][1] or len(self.lost) >= _MOST_DAMAGE):
            self.lost[-1] = (min(start, self.lost[-1][0]), max(end, self.lost[-1][1]))
        else:
            self.lost.append((start, end))

    def _take_epochs(self, rows: Rows, *, is_recovered: bool) -> None:
        epochs = np.where(rows["magic"] < 2, UNKNOWN_EPOCH, rows["partition_leader_epoch"])
        changes = np.flatnonzero(np.concatenate([[True], epochs[1:] != epochs[:-1]]))
        for at in changes.tolist():
            epoch, offset = int(epochs[at]), int(rows["base_offset"][at])
            latest = self.epochs[-1].epoch if self.epochs else UNKNOWN_EPOCH
            if epoch < latest and self.epochs_fall is None and epoch != UNKNOWN_EPOCH:
                self.epochs_fall = offset
            if epoch > latest and len(self.epochs) < _MOST_EPOCHS:
                self.epochs.append(EpochEntry(epoch, offset))
            if is_recovered and (not self._is_cut or offset < self.recovered_end):
                recovered = self.recovered_epochs
                if epoch > (recovered[-1].epoch if recovered else UNKNOWN_EPOCH):
                    recovered.append(EpochEntry(epoch, offset))


def _reaches_end(problem: Problem, size: int) -> bool:
    """Return whether a problem is what follows the last batch of the file: perhaps a torn write."""
    return problem.code == problems.BAD_SIZE and problem.position + problem.size >= size


def _finding(problem: Problem, path: str) -> Finding:
    if problem.code != OFFSET_ORDER:
        return finding_of(problem, path)
    return Finding(
        "offset-order", "error", path, problem.position, problem.offset, problem.found,
        "offsets after those of the batch before, and in the range of the segment",
        "A broker does not check the order; consumers and followers skip the batch, or fail.",
    )  # fmt: skip


def epoch_problems(replica: Replica) -> Iterator[Finding]:
    """Yield where the epochs of a log contradict themselves, or the leader epoch file.

    Kafka: LeaderEpochFileCache (4.2)
    """
    if replica.epochs_fall is not None:
        yield Finding(
            "batch-epoch", "error", replica.path, None, replica.epochs_fall,
            "a leader epoch below that of an earlier batch", "leader epochs that never fall",
            "No leader writes that. Followers of this log may keep wrong records.",
        )  # fmt: skip
    if not replica.stored_epochs or replica.cleaner_offset is not None:
        return
    # Epochs up to the first one stored are removed when records are deleted; a killed broker may
    # not have written the log start offset yet.
    earliest = replica.stored_epochs[0].epoch
    entry = if_readable(lambda: replica.partition.file(names.LEADER_EPOCHS))
    path = entry.path if entry else replica.path
    stored = {each.epoch: each.start_offset for each in replica.stored_epochs}
    ends = (*(each.start_offset for each in replica.batch_epochs[1:]), replica.log_end_offset)
    for (epoch, first), end in zip(replica.batch_epochs, ends, strict=False):
        if end <= replica.log_start_offset or epoch <= earliest:
            continue
        offset = max(first, replica.log_start_offset)
        start = stored.get(epoch)
        if start is None or start > offset:
            found = "no such epoch" if start is None else f"epoch {epoch} starts at offset {start}"
            yield Finding(
                "leader-epochs-mismatch", "warning", path, None, offset, found,
                f"epoch {epoch} from offset {offset}, as in the batches",
                "A broker trusts the file after a clean shutdown: the replicas may truncate at the "
                "wrong offset.",
            )  # fmt: skip
            return
