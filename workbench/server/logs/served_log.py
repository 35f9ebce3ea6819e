"""One partition as clients see it: its offsets, batches, timestamps and aborted transactions.

Everything is read when it is first asked for. Nothing is written or locked. A broker may change the
directory meanwhile: a cleaning merges segments and gives one of them to another file; retention
deletes them. What was read of segments that are not there any more is read again, in the directory
as it is then.

Kafka: UnifiedLog.read, UnifiedLog.fetchOffsetByTimestamp,
RemoteLogManager.collectAbortedTransactions, ReplicaManager.readFromLog (4.2)
"""

import errno
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import Files, is_uri
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.producer_snapshot import ProducerEntry
from workbench.inspection.findings import Finding
from workbench.inspection.log_parts import LogPart
from workbench.inspection.lookups.time_lookup import OffsetAtTime, first_record_at
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import (
    AbortedTransaction,
    aborted_transactions,
    transactions_of,
)
from workbench.inspection.unreadable import missing_remote, unreadable
from workbench.record.buffers import thread_pool
from workbench.record.reading.resync import FAR
from workbench.server.logs.log_read import (
    DamagedBatchError,
    LogRead,
    Rows,
    StorageUnavailableError,
    sound_batches,
)
from workbench.server.logs.max_timestamp import max_timestamp
from workbench.server.logs.stored_producers import StoredProducers

# Of remote segments, a broker knows aborted transactions by the transaction indexes alone.
Offsets = npt.NDArray[np.int64]


class IndexedAborts(NamedTuple):
    """Aborted transactions by the transaction indexes, in the order of their markers.

    Attributes:
        entries: int64[3, n]: producer ids, first offsets, offsets of the markers.
        findings: indexes that cannot be read.
    """

    entries: Offsets
    findings: list[Finding]

    @classmethod
    def of(cls, segments: Iterable[Segment], below: int) -> "IndexedAborts":
        """Read those that begin below an offset from the indexes of segments, ascending."""
        entries = [np.zeros((3, 0), np.int64)]
        findings: list[Finding] = []
        for segment in segments:
            try:
                index = segment.transaction_index
            except OSError as error:
                findings += unreadable(segment.files["txnindex"].path, error)
                continue
            if index is not None and len(index):
                found = np.stack([index.producer_ids, index.first_offsets, index.last_offsets])
                entries.append(found[:, index.first_offsets < below])
        return cls(np.concatenate(entries, axis=1), findings)

    def within(self, first: int, end: int) -> Iterator[AbortedTransaction]:
        """Yield those that have records or their marker in [first, end)."""
        _, firsts, lasts = self.entries
        columns = self.entries[:, (lasts >= first) & (firsts < end)].tolist()
        return map(AbortedTransaction, *columns)


T = TypeVar("T")
Tell = Callable[[Finding | str], None]
"""Receives what was left out, and a sentence whenever a response differs from the stored bytes."""

NO_EPOCH: Final = -1
_MOST_HINTS: Final = 64
_TRIES: Final = 10
_MOST_FINDINGS: Final = 1000  # that are reported of one log


class Aborted(Protocol):
    """A transaction that aborted."""

    @property
    def producer_id(self) -> int:
        """Its producer."""

    @property
    def first_offset(self) -> int:
        """Its first offset."""


class FetchedRecords(NamedTuple):
    """What a fetch gets of a log.

    Attributes:
        parts: whole batches of magic 2.
        size: bytes.
        next_offset: where the next fetch continues; the fetched offset if there is nothing.
        cut: bytes of the next batch that still fit: a broker sends them, and they count.
        aborted: the transactions that a read_committed consumer must skip.
    """

    parts: list[bytes]
    size: int
    next_offset: int
    cut: int = 0
    aborted: Sequence[Aborted] = ()


class _Ends(NamedTuple):
    """Outcome of the transactions of local segments: the last stable offset, and those aborted.

    A broker copies no segment before its transactions have ended, so none is open in a remote one.
    """

    last_stable_offset: int
    aborted: list[AbortedTransaction]


class _Listed:
    """A partition as it was listed once. Threads may share it.

    Args:
        partition: the partition.
    """

    def __init__(self, partition: DiskPartition) -> None:
        self.partition = partition
        self._hints: OrderedDict[int, tuple[str, int]] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def parts(self) -> tuple[LogPart, ...]:
        """What a reader reads of each segment."""
        return self.partition.parts

    def hint(self, offset: int) -> tuple[str, int] | None:
        """Return the file, and the position in it, where an earlier read came to an offset."""
        with self._lock:
            return self._hints.get(offset)

    def keep_hint(self, offset: int, where: tuple[str, int]) -> None:
        """Keep where a read came to an offset, at which its reader continues."""
        with self._lock:
            self._hints[offset] = where
            self._hints.move_to_end(offset)
            while len(self._hints) > _MOST_HINTS:
                self._hints.popitem(last=False)


@dataclass(slots=True)
class _Attempt:
    """One attempt to read.

    Attributes:
        listed: the partition.
        segments: those that were read; None: all.
        findings: what was found in them.
    """

    listed: _Listed
    segments: list[Segment] | None = None
    findings: list[Finding] = field(default_factory=list)


class _ChangingPartition:
    """A partition, listed again when segments of it are not there. Threads may share it.

    Args:
        partition: the partition.
        note: receives what was found, once it is certain.
    """

    def __init__(self, partition: DiskPartition, note: Callable[[list[Finding]], None]) -> None:
        self._note = note
        self._lock = threading.Lock()
        self._is_local = partition.is_here and partition.only is None
        self.now = _Listed(partition)
        self._know(self.now)

    def _know(self, listed: _Listed) -> None:
        """Ask which files the segments are."""
        if self._is_local:
            for segment in listed.partition.segments:
                _ = segment.files["log"].inode

    def read(self, act: Callable[[_Attempt], T]) -> T:
        """Return what an act reads of segments that are still there afterwards.

        Args:
            act: reads; what it raises is raised.
        """
        tries = 0
        while True:
            tries += 1
            attempt = _Attempt(self.now)
            try:
                found = act(attempt)
            except Exception:
                if tries < _TRIES and self._list_if_changed(attempt):
                    continue
                self._note(attempt.findings)
                raise
            if tries == _TRIES or not self._list_if_changed(attempt):
                self._note(attempt.findings)
                return found

    def _list_if_changed(self, attempt: _Attempt) -> bool:
        """List the directory again if segments that were read are not there any more."""
        listed, segments = attempt.listed, attempt.segments
        if segments is None:
            segments = list(listed.partition.segments)
        if not self._is_local or all(map(_is_there, segments)):
            return False
        with self._lock:
            if self.now is listed:
                now = listed.partition.listed_again()
                if _is_unread(now):
                    return False
                again = _Listed(now)
                self._know(again)
                self.now = again
        return True


def _is_unread(partition: DiskPartition) -> bool:
    """Whether segments cannot be read now: those known before say why, and may be read later."""
    return any(not each.name or each.name.endswith(".log") for each in partition.unread)


def _is_there(segment: Segment) -> bool:
    return segment.files["log"].is_there


class ServedLog:
    """A partition that is served; threads may share it.

    Args:
        partition: the partition, or what returns it when it is first needed.
        tell: receives what was left out, each finding once for each log.
        leader_epoch: what returns the leader epoch; None: the newest of the partition.
        strict: whether a read ends at damage, instead of leaving it out.
    """

    def __init__(
        self,
        partition: DiskPartition | Callable[[], DiskPartition],
        tell: Tell,
        leader_epoch: Callable[[], int] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self._given = partition
        self._epoch = leader_epoch
        self._strict = strict
        self._tell = tell
        self._has_converted = False
        self._told: set[tuple[str, str, int | None]] = set()
        self._lock = threading.Lock()
        self._end_lock = threading.Lock()
        self._transactions_lock = threading.Lock()
        self._producers_lock = threading.Lock()

    @property
    def leader_epochs(self) -> LeaderEpochs:
        """The leader epoch checkpoint; without entries where there is none, or it is unreadable."""
        with suppress(OSError):
            return self._leader_epochs
        return LeaderEpochs()

    @cached_property
    def _leader_epochs(self) -> LeaderEpochs:
        return self.partition.leader_epochs or LeaderEpochs()

    @cached_property
    def _changing(self) -> _ChangingPartition:
        given = self._given if isinstance(self._given, DiskPartition) else self._given()
        return _ChangingPartition(given, self._note)

    @property
    def partition(self) -> DiskPartition:
        """The partition, as its directory is now."""
        return self._changing.now.partition

    @cached_property
    def leader_epoch(self) -> int:
        """The newest leader epoch; `NO_EPOCH` if unknown."""
        if self._epoch is not None:
            return self._epoch()
        latest = self.leader_epochs.latest
        return NO_EPOCH if latest is None else latest.epoch

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch of an offset; `NO_EPOCH` if unknown."""
        epoch = self.leader_epochs.epoch_for_offset(offset)
        return NO_EPOCH if epoch is None else epoch

    @property
    def directory(self) -> str:
        """Path of the log directory that holds the log; empty if it was opened alone."""
        return self.partition.root or ""

    @property
    def path(self) -> str:
        """Path of the log's own directory."""
        return self.partition.path

    @property
    def fs(self) -> Files:
        """What reads that directory."""
        return self.partition.fs

    @property
    def size(self) -> int:
        """Bytes of all batches in local segments, as a broker reports them."""
        return self.partition.size

    @property
    def log_start_offset(self) -> int:
        """First offset that is served."""
        return self.partition.log_start_offset

    @property
    def local_log_start_offset(self) -> int:
        """First offset that is served from a local segment."""
        return self.partition.local_log_start_offset

    @cached_property
    def highest_remote_offset(self) -> int | None:
        """The last offset that was copied to the remote tier; None if none is known to be."""
        return self.partition.highest_remote_offset

    @property
    def high_watermark(self) -> int:
        """The offset after the last sound batch.

        Nobody replicates a dead log, so all of it is served: as if this replica were the only one.
        Of a last segment that cannot be read nothing is served, until it can be.
        """
        with self._end_lock:
            try:
                return self._log_end_offset
            except OSError as error:
                last = self.partition.segments[-1:]
                self._note(unreadable(last[0].path if last else self.path, error))
                return max([self.log_start_offset, *(each.base_offset for each in last)])

    @cached_property
    def _log_end_offset(self) -> int:
        return self._changing.read(self._find_end)

    def _find_end(self, attempt: _Attempt) -> int:
        here = attempt.listed.partition
        segments, start = here.segments, here.log_start_offset
        if not segments:
            return max(here.log_end_offset, start)
        attempt.segments = [segments[-1]]
        last = segments[-1]
        end = last.base_offset
        position = last.position_of(max(last.next_offset - 1, last.base_offset))
        pool = thread_pool()
        for found in sound_batches(last, position, (0, last.base_offset + FAR), pool):
            attempt.findings += found.findings
            if len(found.rows):
                end = int(found.rows["last_offset"][-1]) + 1
        return max(end, start)

    @property
    def last_stable_offset(self) -> int:
        """First offset of the oldest open transaction; without one the log end offset."""
        with self._transactions_lock:
            return min(self._known_ends().last_stable_offset, self.high_watermark)

    def _known_ends(self) -> _Ends:
        """Return the outcome of the transactions; of those that cannot be read, none."""
        try:
            return self._ends
        except OSError as error:
            self._note(unreadable(self.partition.path, error))
            return _Ends(self.high_watermark, [])

    @cached_property
    def _ends(self) -> _Ends:
        with self._end_lock:
            end = self._log_end_offset  # if it cannot be read, this is not the time to remember

        def find(attempt: _Attempt) -> _Ends:
            segments = attempt.listed.partition.segments
            found = transactions_of(segments, end)
            return _Ends(found.last_stable_offset, aborted_transactions(segments, found))

        return self._changing.read(find)

    @cached_property
    def _remote_aborts(self) -> IndexedAborts:
        def find(attempt: _Attempt) -> IndexedAborts:
            here = attempt.listed.partition
            found = IndexedAborts.of(here.segments_of_log, here.local_log_start_offset)
            attempt.findings += found.findings
            return found

        return self._changing.read(find)

    def _aborted_in(self, first: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that have records or their end in [first, end).

        Those of remote segments are taken from the transaction indexes, as by a broker: their
        batches would all have to be fetched.

        Kafka: UnifiedLog.collectAbortedTransactions, RemoteLogManager.addAbortedTransactions (4.2)
        """
        is_remote = first < self.local_log_start_offset
        with self._transactions_lock:
            remote = list(self._remote_aborts.within(first, end)) if is_remote else []
            return remote + [
                each
                for each in self._known_ends().aborted
                if each.first_offset < end and each.last_offset >= first
            ]

    def producers(self) -> list[ProducerEntry]:
        """Return the producers that the log knows, in the order of a broker's map.

        Kafka: UnifiedLog.activeProducers (4.2)
        """
        with self._producers_lock:
            return self._producers

    @cached_property
    def _producers(self) -> list[ProducerEntry]:
        end = self.high_watermark

        def find(attempt: _Attempt) -> list[ProducerEntry]:
            found = StoredProducers(attempt.listed.partition, end)
            attempt.findings += found.findings
            return found.in_order()

        return self._changing.read(find)

    # records

    def read(
        self, offset: int, end: int, most: int, *, committed: bool, first: bool, zstd: bool
    ) -> FetchedRecords:
        """Return the batches from an offset on, of the first segment that has any.

        Args:
            offset: from the log start offset to the log end offset.
            end: no batch that begins here or later.
            most: bytes.
            committed: whether ``end`` is the last stable offset, and aborted transactions are
                wanted.
            first: take the first batch even if it is larger.
            zstd: whether the client knows zstd.

        Raises:
            UnsupportedCompressionError: the first batch is compressed with zstd, unknown to the
                client.
            DamagedBatchError: the log is strict, and what is there at the offset is damaged.
            StorageUnavailableError: what is there at the offset is on a server that fails.
        """

        def read(attempt: _Attempt) -> LogRead:
            reading = LogRead(offset, end, most, is_first=first, zstd=zstd)
            attempt.segments, parts = [], attempt.listed.parts
            at = max(bisect_right(parts, offset, key=lambda part: part.low) - 1, 0)
            for part in parts[at:]:
                if reading.is_done or reading.parts or part.low >= end:
                    break
                if part.high > reading.low:
                    self._read_part(part, reading, attempt)
            is_hole = not reading.is_done or (reading.is_at_end and end >= self.high_watermark)
            if offset < end and is_hole and not reading.parts:
                if self._strict:
                    raise DamagedBatchError
                reading.take_hole()
            return reading

        done = self._changing.read(read)
        aborted = self._aborted_in(offset, done.low) if committed and done.size else ()
        return FetchedRecords(done.parts, done.size, done.low, done.cut, aborted)

    def _read_part(self, part: LogPart, reading: LogRead, attempt: _Attempt) -> None:
        segment, findings = part.segment, attempt.findings
        if segment is None:
            findings += missing_remote(attempt.listed.partition)
            if self._strict:
                raise DamagedBatchError
            return
        if not part.is_remote and attempt.segments is not None:
            attempt.segments.append(segment)
        pool = thread_pool()
        try:
            start = _start(part, segment, reading.low, attempt.listed)
            offsets = reading.low, part.following
            for found in sound_batches(segment, start, offsets, pool, most=reading.left):
                findings += found.findings
                damage = reading.damage_in(found) if self._strict else None
                wanted = found if damage is None else found.before(damage)
                if damage is not None and not len(wanted.rows) and not reading.parts:
                    raise DamagedBatchError
                inside = wanted.below(part.high) if part.is_remote else wanted
                findings += reading.take(inside, segment, pool)
                reading.is_done |= damage is not None
                self._tell_of_conversion(inside.rows)
                if reading.is_done:
                    attempt.listed.keep_hint(reading.low, (segment.path, reading.position))
                    return
                if len(inside.rows) < len(wanted.rows):
                    return
        except OSError as error:
            findings += unreadable(segment.path, error)
            if not reading.parts:
                self._refuse(segment.path, error)

    def _refuse(self, path: str, error: OSError) -> None:
        """Raise the error for a file that cannot be read, unless clients continue after it."""
        if is_uri(path) and error.errno == errno.EIO:
            raise StorageUnavailableError from error
        if self._strict:
            raise DamagedBatchError from error

    def _tell_of_conversion(self, rows: Rows) -> None:
        if self._has_converted or not (rows["magic"] < 2).any():
            return
        self._has_converted = True
        self._tell(
            f"{self.partition.name}: messages of magic 0 or 1 are served as batches of magic 2"
        )

    # times

    def offset_for_timestamp(self, timestamp: int, end: int) -> OffsetAtTime | None:
        """Return the first record at or after a time and below ``end``; None without one.

        Kafka: UnifiedLog.fetchOffsetByTimestamp, Partition.fetchOffsetForTimestamp (4.2)
        """

        def find(attempt: _Attempt) -> OffsetAtTime | None:
            return first_record_at(
                attempt.listed.partition,
                timestamp,
                lambda segment, error: attempt.findings.extend(unreadable(segment.path, error)),
            )

        found = self._changing.read(find)
        return found if found is not None and found.offset < end else None

    def max_timestamp(self) -> OffsetAtTime | None:
        """Return the first record with the largest time; None without any.

        As in a broker, only local segments count.

        Kafka: UnifiedLog.fetchOffsetByTimestamp with MAX_TIMESTAMP (4.2)
        """
        end = self.high_watermark

        def find(attempt: _Attempt) -> OffsetAtTime | None:
            start = attempt.listed.partition.log_start_offset
            return max_timestamp(attempt.listed.parts, (start, end), attempt.findings)

        return self._changing.read(find)

    def _note(self, findings: list[Finding]) -> None:
        """Report findings that were not reported yet."""
        for finding in findings:
            key = (finding.kind, finding.path, finding.position or finding.offset)
            with self._lock:
                is_new = key not in self._told and len(self._told) < _MOST_FINDINGS
                if is_new:
                    self._told.add(key)
            if is_new:
                self._tell(finding)


def _start(part: LogPart, segment: Segment, offset: int, listed: _Listed) -> int:
    """Return the position in a segment where to read an offset, or the part's first."""
    known = listed.hint(offset)
    if known is not None and known[0] == segment.path:
        return known[1]
    offset = max(offset, part.low)
    return segment.position_of(offset) if offset > segment.base_offset else 0
