"""Read the state of a cluster at an offset or a time, and its changes, from a metadata log.

A state begins with the newest snapshot below it that is sound, and continues with the records of
the log. What cannot be known is a finding: damage, records that are missing, record types of a
newer Kafka.

Kafka: MetadataLoader, KafkaMetadataLog, RecordsSnapshotReader (4.2)
"""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from workbench.decoders.cluster_metadata import decode_value
from workbench.errors import StateUnknownError
from workbench.files import names
from workbench.inspection.cluster.fold import Changed, ClusterFold
from workbench.inspection.cluster.image import QuorumLeader, StoredCluster
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding, finding_of
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment, is_preallocated
from workbench.layout import problems
from workbench.record.reading.reader import KEYS, VALUES, Chunk
from workbench.runtime.times import Time, milliseconds, time_text

At = Time
"""An offset or a time, see `offset_or_time`."""

FITTING: Final = "a record that fits those before it"
MOST_ROWS: Final = 2_000_000
"""Rows of a state; a cluster has some hundred thousand partitions at most."""
MOST_BYTES: Final = 1 << 27
"""Bytes of the records that a state is made of; as Python values they are several times larger."""

_LONGEST_VALUE: Final = 1 << 20  # bytes; a batch of a metadata log has 8 MiB at most
_LONG_VALUE: Final = 1 << 12
_FIRST_MS: Final = 100_000_000_000  # a smaller number is an offset; as ms it is in 1973
_MOST_FINDINGS: Final = 100
_REFUSED: Final = "No node accepts the record; records before it are missing or damaged."
_IGNORED: Final = "A node that does not know the record does not start; this state lacks it."


class SnapshotFile(NamedTuple):
    """A `.checkpoint` file of a metadata log.

    Attributes:
        offset: the first offset that it does not cover.
        entry: the file.
    """

    offset: int
    entry: FileEntry


@dataclass(frozen=True, slots=True)
class ClusterAt:
    """The state of a cluster at some offset.

    Attributes:
        cluster: the state.
        end: the first offset that is not in the state.
        timestamp: when its last record was written, ms; None without any.
        snapshot: path of the snapshot that it begins with; None: it begins at offset 0.
        findings: what could not be read, or is missing: the state may be wrong there.
    """

    cluster: StoredCluster
    end: int
    timestamp: int | None
    snapshot: str | None
    findings: tuple[Finding, ...]


def offset_or_time(at: At) -> tuple[int | None, int | None]:
    """Return an offset, or a time in ms; the other is None.

    Args:
        at: a number below 10^11 is an offset, another one is ms since the epoch; texts and
            datetimes are times as `runtime.times.milliseconds` takes them, ``-1h`` or ISO 8601.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(at, str) and re.fullmatch(r"\s*\d+\s*", at):
        at = int(at)
    if isinstance(at, int) and not isinstance(at, bool):
        if at < 0:
            raise ValueError(f"{at} is neither an offset nor a time (expected 0 or more)")
        return (at, None) if at < _FIRST_MS else (None, at)
    if isinstance(at, str | dt.datetime):
        return None, milliseconds(at)
    raise ValueError(f"{at!r} is neither an offset nor a time")


def stored_cluster(listing: Listing) -> StoredCluster:
    """Return what the metadata log among opened directories says; nothing if there is none.

    Raises:
        OSError: a file cannot be read.
    """
    metadata = listing.metadata_log
    return StoredCluster() if metadata is None else read_stored_cluster(metadata)


def read_stored_cluster(
    partition: DiskPartition, until: int | None = None, *, from_snapshot: bool = True
) -> StoredCluster:
    """Return the state that a node reads from a metadata log: newest snapshot, records after it.

    All records are used, even those that the quorum has perhaps not committed yet. A snapshot that
    ends early is read as far as it goes, as a node does. The result is shared: do not change it.

    Args:
        partition: the metadata log.
        until: the first offset that is not read; None reads to the end.
        from_snapshot: whether the state begins with the newest snapshot; otherwise with the log.

    Raises:
        OSError: a file cannot be read.

    Kafka: MetadataLoader, KafkaMetadataLog (4.2)
    """
    size = _size_now(partition)
    known = partition.state if isinstance(partition.state, _WholeState) else None
    is_known = known is not None and known.size == size and from_snapshot
    if known is not None and is_known and (until is None or known.end <= until):
        return known.cluster
    reading = StateReading(names.MAX_OFFSET if until is None else until)
    found = snapshot_files(partition) if from_snapshot else []
    if found:
        reading.snapshot(found[-1])
    reading.log(partition)
    if until is None and size is not None and from_snapshot:
        partition.state = _WholeState(reading.fold.cluster, reading.next_offset, size)
    return reading.fold.cluster


class _WholeState(NamedTuple):
    """What a whole metadata log says: kept with the partition, because many ask for it.

    Attributes:
        cluster: the state; never changed.
        end: the offset after the last record.
        size: bytes of the last segment when it was read: a running node appends to it.
    """

    cluster: StoredCluster
    end: int
    size: int


def _size_now(partition: DiskPartition) -> int | None:
    """Return the size of the last segment, in bytes; None if that is unknown."""
    try:
        return partition.segments[-1].files["log"].size_now
    except (IndexError, OSError):
        return None


def cluster_at(partition: DiskPartition, at: At | None = None) -> ClusterAt:
    """Return the state of a cluster at an offset or a time, as far as the files show it.

    At an offset: after the record there. At a time: before the first record that is later.

    Args:
        partition: the metadata log.
        at: see `offset_or_time`; None: the end of the log.

    Raises:
        OSError: a file cannot be read.
        StateUnknownError: all that is there is later, or the offset is after the log end.
        ValueError: ``at`` is neither an offset nor a time.
    """
    end = end_of(partition, at)
    findings: list[Finding] = []
    candidates = [each for each in reversed(snapshot_files(partition)) if each.offset <= end]
    start = partition.segments[0].base_offset if partition.segments else names.MAX_OFFSET
    for each in candidates:
        reading = StateReading(end)
        if reading.snapshot(each):
            break
        findings.append(_unsound(each, reading))
    else:
        reading = StateReading(end)
        if start > 0:
            if candidates:
                reading.snapshot(candidates[0])
            else:
                findings.append(_missing(partition, start))
                reading.next_offset = start
    reading.log(partition)
    cluster = reading.fold.cluster
    cluster.leader = cluster.leader or _last_leader(partition, reading.next_offset)
    every = (*findings, *reading.findings)
    return ClusterAt(cluster, reading.next_offset, reading.timestamp, reading.snapshot_path, every)


def snapshot_files(partition: DiskPartition) -> list[SnapshotFile]:
    """Return the snapshots of a metadata log, ascending."""
    return [
        SnapshotFile(name.offset, entry)
        for entry in partition.metadata_snapshots
        if (name := names.parse_file_name(entry.name)) is not None
    ]


def end_of_log(partition: DiskPartition) -> int:
    """Return the offset after the last record of a metadata log, or of its newest snapshot.

    `DiskPartition.log_end_offset` may be older than what was read of the log since.

    Raises:
        OSError: a file cannot be read.
    """
    ends = [segment.next_offset for segment in partition.segments[-1:]]
    return max([0, *ends, *(each.offset for each in snapshot_files(partition))])


def _last_leader(partition: DiskPartition, end: int) -> QuorumLeader | None:
    """Return the leader that the last LeaderChangeMessage before an offset names."""
    for segment in reversed(partition.segments):
        if segment.base_offset >= end:
            continue
        control: list[tuple[int, int]] = []
        for table in segment.batch_parts():
            rows = table.rows[table.rows["is_control"] & (table.rows["base_offset"] < end)]
            control += rows[["position", "size"]].tolist()
        for position, size in reversed(control):
            fold = ClusterFold()
            for chunk in segment.read(position, position + size, options=KEYS | VALUES):
                for key, value, _, row in _records(chunk):
                    fold.epoch = int(chunk.rows["partition_leader_epoch"][row])
                    if value is not None:
                        fold.take(decode_value(key, value))
            if fold.cluster.leader is not None:
                return fold.cluster.leader
    return None


def snapshot_time(snapshot: SnapshotFile) -> int | None:
    """Return when the last record before a snapshot was written, ms; None if it does not say.

    Raises:
        OSError: the file cannot be read.

    Kafka: SnapshotHeaderRecord.lastContainedLogTimestamp (4.2)
    """
    segment = Segment(0, {"log": snapshot.entry}, is_active=False)
    for chunk in segment.read(options=KEYS | VALUES):
        for key, value, *_ in _records(chunk):
            return _header_time(decode_value(key, value))
    return None


def _header_time(value: Any) -> int | None:
    """Return the time in a snapshot's header; None if the record is not one."""
    data = value.get("data") if isinstance(value, dict) else None
    found = data.get("lastContainedLogTimestamp") if isinstance(data, dict) else None
    return found if isinstance(found, int) and found >= 0 else None


def end_of(partition: DiskPartition, at: At | None) -> int:
    """Return the first offset that is not in the state at an offset or a time."""
    if at is None:
        return names.MAX_OFFSET
    offset, time = offset_or_time(at)
    snapshots = snapshot_files(partition)
    start = partition.segments[0].base_offset if partition.segments else None
    # A snapshot has the state after the offset before its own.
    ends = [each.offset - 1 for each in snapshots]
    first = start if start == 0 or not ends else max(min(ends), 0)
    if offset is not None:
        end = end_of_log(partition) - 1
        if first is None or not first <= offset <= end:
            found = "none" if first is None else f"{first:,} to {end:,}"
            raise StateUnknownError(
                partition.path, f"the state at offset {offset:,} is not there (found {found})"
            )
        return offset + 1
    assert time is not None
    later = _first_later(partition, time)
    if later is None:
        return names.MAX_OFFSET
    if later != start and (first is None or later > first):
        return later
    written = [(snapshot_time(each), each.offset) for each in snapshots]
    known = sorted((at, end) for at, end in written if at is not None)
    earlier = [end for at, end in known if at <= time and end <= later]
    if earlier:
        return earlier[-1]
    oldest = known[0][0] if known else _first_time(partition)
    raise StateUnknownError(
        partition.path,
        f"the state at {time_text(time)} is not there (found the oldest of "
        f"{'an unknown time' if oldest is None else time_text(oldest)})",
    )


def _first_later(partition: DiskPartition, time: int) -> int | None:
    """Return the base offset of the first batch that is later than a time; None without one."""
    for segment in partition.segments:
        for table in segment.batch_parts():
            later = (table.rows["max_timestamp"] > time).nonzero()[0]
            if len(later):
                return int(table.rows["base_offset"][later[0]])
    return None


def _first_time(partition: DiskPartition) -> int | None:
    for segment in partition.segments:
        for table in segment.batch_parts():
            for row in table.rows[:1]:
                return int(row["max_timestamp"])
    return None


def _unsound(snapshot: SnapshotFile, reading: "StateReading") -> Finding:
    found = str(reading.findings[0].found) if reading.findings else "no SnapshotFooterRecord"
    return Finding(
        "metadata-snapshot-damaged", "warning", snapshot.entry.path, None, None, found,
        "whole batches up to a SnapshotFooterRecord",
        "The state here begins with an older snapshot, or with the log.",
    )  # fmt: skip


def _missing(partition: DiskPartition, start: int) -> Finding:
    return Finding(
        "metadata-snapshot-missing", "error", partition.path, None, start,
        f"the log begins at offset {start:,}, and no snapshot reaches it",
        f"a snapshot up to {start:,} or later",
        "The state here lacks everything that was written before.",
    )  # fmt: skip


class StateReading:
    """One state that is being read.

    Args:
        end: the first offset that is not read.
        changed: receives each change.

    Attributes:
        fold: the state.
        next_offset: the offset after the last one that was read, or is missing.
        timestamp: when the last record was written, ms; None without any.
        moment: offset and time of the record that is being applied.
        snapshot_path: the snapshot that the state begins with.
        findings: what could not be read, the first hundred.
        is_broken: whether anything could not be read.
        known: findings that were there before; they are not found again.
    """

    def __init__(self, end: int, changed: Changed | None = None) -> None:
        self.fold = ClusterFold(changed)
        self.next_offset = 0
        self.timestamp: int | None = None
        self.moment: tuple[int, int | None] = (-1, None)
        self.snapshot_path: str | None = None
        self.findings: list[Finding] = []
        self.is_broken = False
        self.known: set[Finding] = set()
        self._end = end
        self._size = 0  # about how many bytes of records the state is made of

    def snapshot(self, snapshot: SnapshotFile) -> bool:
        """Read a snapshot; return whether it is whole.

        Raises:
            OSError: the file cannot be read.
        """
        before, ends = len(self.findings), self.fold.ends
        segment = Segment(0, {"log": snapshot.entry}, is_active=False)
        for chunk in segment.read(options=KEYS | VALUES):
            self._find_problems(chunk, segment)
            for key, value, *_ in _records(chunk):
                decoded = self._take(key, value, segment, None)
                self.timestamp = _header_time(decoded) or self.timestamp
            if self._is_full(segment):
                break
        self.next_offset = snapshot.offset
        self.snapshot_path = snapshot.entry.path
        self.moment = (snapshot.offset - 1, self.timestamp)
        return len(self.findings) == before and self.fold.ends > ends

    def log(self, partition: DiskPartition) -> None:
        """Read the records of the log from ``next_offset``.

        Raises:
            OSError: a file cannot be read.
        """
        for _ in self.log_parts(partition):
            pass

    def log_parts(self, partition: DiskPartition) -> Iterator[None]:
        """Read as `log` does; yield after each part."""
        segments = partition.segments
        for at, segment in enumerate(segments):
            later = segments[at + 1].base_offset if at + 1 < len(segments) else None
            if later is not None and later <= self.next_offset:
                continue
            if segment.base_offset >= self._end:
                break
            for chunk in segment.read(options=KEYS | VALUES):
                if len(chunk.rows) and self._gap(segment, int(chunk.rows["base_offset"][0])):
                    yield  # before the gap
                self._chunk(segment, chunk)
                yield
                if self.next_offset >= self._end or self._is_full(segment):
                    return

    def _chunk(self, segment: Segment, chunk: Chunk) -> None:
        start, rows = self.next_offset, chunk.rows
        self._find_problems(chunk, segment)
        for base, last in zip(
            rows["base_offset"].tolist(), rows["last_offset"].tolist(), strict=True
        ):
            self._gap(segment, base)
            self.next_offset = max(self.next_offset, min(last + 1, self._end))
        for key, value, offset, row in _records(chunk):
            if start <= offset < self._end:
                self.fold.epoch = int(rows["partition_leader_epoch"][row])
                self.timestamp = int(rows["max_timestamp"][row])
                self.moment = (offset, self.timestamp)
                self._take(key, value, segment, offset)

    def _take(
        self, key: bytes | None, value: bytes | None, segment: Segment, offset: int | None
    ) -> Any:
        """Apply one record and return it decoded."""
        if value is None:  # says nothing
            return None
        if len(value) > _LONGEST_VALUE:
            found = f"a record of {len(value):,} bytes"
            self._add(segment, offset, found, f"{_LONGEST_VALUE:,} bytes at most", _IGNORED)
            return None
        decoded = decode_value(key, value)
        problem = decoded.get("error")
        if problem is None and "bytes" in decoded:
            problem = f"type {decoded['type']}, version {decoded.get('version', 0)}"
        if problem is not None:
            self._add(segment, offset, problem, "a record that Kafka 4.4 knows", _IGNORED)
            return decoded
        rows, contradiction = self.fold.rows, self.fold.cluster.contradiction
        self.fold.take(decoded)
        if not contradiction and self.fold.cluster.contradiction:
            found = self.fold.cluster.contradiction
            self._add(segment, offset, found, FITTING, _REFUSED)
        if self.fold.rows > rows or len(value) > _LONG_VALUE:
            self._size += len(value)
        elif self.fold.rows < rows:
            self._size = self._size * self.fold.rows // rows
        return decoded

    def _is_full(self, segment: Segment) -> bool:
        """Return whether the state has reached its limits, and say so."""
        if self.fold.rows <= MOST_ROWS and self._size <= MOST_BYTES:
            return False
        found = f"{self.fold.rows:,} rows of {self._size:,} bytes"
        wanted = f"{MOST_ROWS:,} rows of {MOST_BYTES:,} bytes at most"
        self._add(segment, self.moment[0], found, wanted, "The state here ends at this record.")
        return True

    def _find_problems(self, chunk: Chunk, segment: Segment) -> None:
        for problem in chunk.problems:
            is_tail = problem.code == problems.UNFINISHED and segment.is_active
            if is_tail:  # a running broker is writing it
                continue
            with segment.open() as source:
                if is_preallocated(problem, source, segment):
                    continue
            self._keep(finding_of(problem, segment.path))

    def _gap(self, segment: Segment, base: int) -> bool:
        """Report the records that are missing before an offset; return whether any are."""
        if not self.next_offset < base < self._end:
            return False
        found = f"offsets {self.next_offset:,} to {base - 1:,} are not there"
        kind, broker = "missing-offsets", "What these records changed is not known."
        wanted = f"offset {self.next_offset:,}"
        self._keep(Finding(kind, "error", segment.path, None, base, found, wanted, broker))
        return True

    def _add(
        self, segment: Segment, offset: int | None, found: str, wanted: str, broker: str
    ) -> None:
        kind = "metadata-record"
        self._keep(Finding(kind, "error", segment.path, None, offset, found, wanted, broker))

    def _keep(self, finding: Finding) -> None:
        if finding in self.known:
            return
        self.is_broken = True
        if len(self.findings) < _MOST_FINDINGS:
            self.findings.append(finding)
            self.known.add(finding)


def _records(chunk: Chunk) -> Iterator[tuple[bytes | None, bytes | None, int, int]]:
    """Return key, value, offset and row of the batch of each record."""
    columns = chunk.columns
    keys, values = columns.keys, columns.values
    assert keys is not None
    assert values is not None
    offsets, batches = columns.offsets.tolist(), columns.batch.tolist()
    return zip(keys.items(), values.items(), offsets, batches, strict=True)
