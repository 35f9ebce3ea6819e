"""What became of every offset of a log: runs of offsets with one fate, which leave none out.

The records are those that a scan gives. What is between them is explained by what is left on the
disk: batch headers, the log start offset, the cleaner's checkpoint, bytes that cannot be read.

Kafka: UnifiedLog.read, LogCleaner, RecordBatch.lastOffset (4.2)
"""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.config.internal_topics import COMPACTED_TOPICS
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transaction_markers import batch_rows
from workbench.inspection.transactions import ABORTED, OPEN, Transactions, read_transactions
from workbench.inspection.unreadable import if_readable
from workbench.layout import problems
from workbench.loaders.queries.ranges import HIGHEST
from workbench.loaders.scan.not_searched import RESCUED
from workbench.loaders.scan.plan import SegmentRead
from workbench.loaders.scan.segment_chunks import Prepared, RecordChoice, keep_mask, read_prepared
from workbench.record.buffers import BufferPool
from workbench.runtime.words import plural

Rows = npt.NDArray[Any]

Fate = Literal[
    "record", "open", "aborted", "control", "compacted", "deleted", "damaged", "missing", "remote",
    "unread", "end", "beyond",
]  # fmt: skip

FATES: Final[dict[Fate, str]] = {
    "record": "a record",
    "open": "a record of a transaction that has not ended",
    "aborted": "a record of an aborted transaction",
    "control": "a control record, which no consumer gets",
    "compacted": "compacted away",
    "deleted": "deleted: below the log start offset",
    "damaged": "lost in bytes that cannot be read",
    "missing": "in no batch, and no compaction explains it",
    "remote": "below the first local segment",
    "unread": "in a file that could not be opened",
    "end": "not written yet: the next record gets it",
    "beyond": "past the log end offset: never written",
}
"""Fate of an offset → what it means."""

IN_BATCHES: Final = frozenset({"record", "open", "aborted", "control"})
"""The fates of offsets that sound batches hold; all others make a gap."""

_CODES: Final[tuple[Fate, ...]] = ("record", "open", "aborted", "control")
_LAST: Final = HIGHEST  # a byte position after all others


class OffsetRun(NamedTuple):
    """Offsets that follow each other and have one fate.

    Attributes:
        first, last: the offsets, both included.
        fate: one of `FATES`.
        why: what shows it.
        path, position: where it is, or where the damage is: file and byte; None: nowhere.
        records: of a damaged range: how many records its headers count; None: they do not say.
        cuts: of a damaged range: whether the way from batch to batch ends there, so that a broker
            finds later offsets only by an entry of the offset index.
        stops: of a damaged range: whether consumers fail there, and do not pass it.
        rescuable_at: of a damaged range: positions in the file of batches that may give records.
    """

    first: int
    last: int
    fate: Fate
    why: str = ""
    path: str | None = None
    position: int | None = None
    records: int | None = None
    cuts: bool = False
    stops: bool = False
    rescuable_at: tuple[int, ...] = ()

    @property
    def offsets(self) -> int:
        """How many offsets there are."""
        return self.last - self.first + 1


class _Place(NamedTuple):
    """A byte of a log: number of the segment that is read, and position in its file."""

    segment: int
    position: int


class _Damage(NamedTuple):
    """Bytes that could not be read.

    Attributes:
        at: where.
        finding: what is wrong.
        first, last: the offsets that the batch's header names; -1: unknown.
        records: how many records it counts; -1: unknown.
    """

    at: _Place
    finding: Finding
    first: int = -1
    last: int = -1
    records: int = -1


def offset_runs(
    partition: DiskPartition,
    low: int = 0,
    transactions: Transactions | None = None,
    *,
    passed: bool = False,
) -> Iterator[OffsetRun]:
    """Yield the runs of a log, ascending and without a hole, up to the log end offset.

    Reads lazily, one segment after the other, and decodes no keys or values.

    Args:
        partition: the partition.
        low: an offset; the first run holds it, or is at the log start, or there is none.
        transactions: those of the partition, if they are known.
        passed: whether to begin with what a lookup of ``low`` passes after the index entry.

    Raises:
        OSError: the log end offset cannot be read.
    """
    start = partition.log_start_offset
    yield from (run for run in _before_start(partition, start) if run.last >= low)
    known = read_transactions(partition) if transactions is None else transactions
    for run in _Walk(partition, known, max(low, start)).runs():
        if passed or run.last >= low:
            yield run


def start_in_tier(partition: DiskPartition) -> int | None:
    """Return the log start offset if only a remote tier that was not opened can have it.

    None if a local segment or the opened tier has it.
    """
    checkpoint, segments = partition.checkpoint_start, partition.segments
    local = segments[0].base_offset if segments else partition.log_start_offset
    if partition.remote is not None or checkpoint is None or checkpoint >= local:
        return None
    return checkpoint


def _before_start(partition: DiskPartition, start: int) -> Iterator[OffsetRun]:
    """Yield the runs below the log start offset."""
    local = partition.segments[0].base_offset if partition.segments else start
    checkpoint = start_in_tier(partition)
    end = start if checkpoint is None else checkpoint
    if min(end, local) > 0:
        why = (
            f"no segment has it: the first is {local}. Retention deletes whole segments, and "
            "DeleteRecords moves the log start offset"
        )
        if local == start:
            why += "; the disk does not show which of them it was"
        elif local < start:
            why += f", as it did here, to {start}"
        yield OffsetRun(0, min(end, local) - 1, "deleted", why)
    if local < start:
        why = (
            f"the log start offset is {start}, by DeleteRecords: {names.LOG_START_OFFSETS} says "
            "so. The bytes are still in the segment"
        )
        path = partition.segments[0].path if partition.segments else None
        yield OffsetRun(local, start - 1, "deleted", why, path)
    if end < start:
        why = (
            f"{names.LOG_START_OFFSETS} has the log start offset {checkpoint}, and the first local "
            f"segment is {local}: the remote tier has it if the topic has one (--remote opens "
            "it); otherwise retention deleted it, and the checkpoint is old"
        )
        yield OffsetRun(end, start - 1, "remote", why)


class _Walk:
    """Reads a log from an offset on."""

    def __init__(self, partition: DiskPartition, transactions: Transactions, low: int) -> None:
        self._partition = partition
        self._transactions = transactions
        self._start = partition.log_start_offset
        self._parts = partition.parts
        self._reads = list(self._plan(low))
        self._expected: int | None = None  # the offset after those that were explained
        self._at = _Place(0, -1)  # of the last record
        self._damages: list[_Damage] = []
        self._held: OffsetRun | None = None  # may still grow

    def _plan(self, low: int) -> Iterator[SegmentRead]:
        for part in self._parts:
            if part.segment is None or part.high <= low:
                continue
            floor = max(self._start, part.low) if part.is_remote else self._start
            position = part.segment.position_of(low) if low > part.segment.base_offset else 0
            yield SegmentRead(
                self._partition, part.segment, position, floor, part.high, part.following, None,
                is_remote=part.is_remote,
            )  # fmt: skip

    def runs(self) -> Iterator[OffsetRun]:
        """Yield the runs from the batch of the offset on."""
        choice = RecordChoice(options=0, include_control=True)
        pool = BufferPool()
        if self._reads and self._reads[0].start == 0:
            self._expected = self._before(self._reads[0])
        number, read = 0, None  # of the files, which a cleaning may replace meanwhile
        found = read_prepared(self._reads, choice, keep_mask, pool, skips_removed=True)
        with closing(found):
            for prepared in found:
                if prepared.read is not read:
                    number, read = number + 1, prepared.read
                yield from self._take(number, prepared)
        end = self._partition.log_end_offset
        if self._expected is None:
            self._expected = self._start
        if self._expected < end:
            yield from self._put(self._gap(end - 1, _Place(number + 1, _LAST)))
        if self._held is not None:
            yield self._held

    def _before(self, read: SegmentRead) -> int:
        """Return the first offset that is not of the segments before the first one to read."""
        earlier = [p for p in self._parts if p.segment is not None and p.low < _low(read)]
        if not earlier:
            return self._start
        before = earlier[-1]
        end = before.high
        if not before.is_remote and before.segment is not None:
            segment = before.segment
            end = if_readable(lambda: segment.next_offset) or before.low
        return max(self._start, min(end, read.segment.base_offset))

    def _take(self, number: int, prepared: Prepared[Any]) -> Iterator[OffsetRun]:
        """Take some batches of a segment."""
        rows, columns, keep = prepared.chunk.rows, prepared.chunk.columns, prepared.value
        self._damages += [_damage(each, rows, number) for each in prepared.findings]
        if self._expected is None and len(rows):
            base = int(rows["base_offset"][0])
            first = int(columns.offsets[0]) if base < 0 and len(columns) else base
            self._expected = max(self._start, first)
            self._at = _Place(number, int(rows["position"][0]) - 1)
        offsets = columns.offsets[keep]
        if not len(offsets):
            return
        batch = columns.batch[keep]
        codes, positions = self._codes(rows)[batch], rows["position"][batch]
        breaks = np.flatnonzero((np.diff(offsets) != 1) | (np.diff(codes) != 0)) + 1
        starts, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(offsets)]
        for start, end in zip(starts, ends, strict=True):
            first, last = int(offsets[start]), int(offsets[end - 1])
            here = _Place(number, int(positions[start]))
            if self._expected is not None and first > self._expected:
                yield from self._put(self._gap(first - 1, here))
            fate = _CODES[int(codes[start])]
            run = OffsetRun(first, last, fate, "", prepared.read.segment.path, here.position)
            yield from self._put([run])
            self._expected = last + 1
            self._at = _Place(number, int(positions[end - 1]))

    def _codes(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: the fate of the records of each batch, a place in `_CODES`."""
        fates = self._transactions.fates(rows)
        codes = np.zeros(len(rows), np.int8)
        codes[fates == OPEN] = _CODES.index("open")
        codes[fates == ABORTED] = _CODES.index("aborted")
        codes[rows["is_control"]] = _CODES.index("control")
        return codes

    def _put(self, runs: "Iterator[OffsetRun] | list[OffsetRun]") -> Iterator[OffsetRun]:
        """Join runs of one fate; yield those that are complete."""
        for run in runs:
            held = self._held
            is_same = held is not None and held.fate == run.fate and held.why == run.why
            if (
                held is not None
                and is_same
                and held.last + 1 == run.first
                and run.fate != "damaged"
            ):
                self._held = held._replace(last=run.last)
                continue
            if held is not None:
                yield held
            self._held = run

    def _gap(self, last: int, until: _Place) -> Iterator[OffsetRun]:
        """Yield the runs of the expected offset up to ``last``, before the record at a place."""
        assert self._expected is not None
        first = self._expected
        inside = [each for each in self._damages if self._at <= each.at < until]
        self._damages = [each for each in self._damages if each.at >= until]
        if not inside:
            yield from self._plain(first, last)
            return
        named = sorted((max(d.first, first), min(d.last, last), d) for d in inside if d.first >= 0)
        is_sure = len(named) == len(inside) and all(low <= high for low, high, _ in named)
        if not is_sure or not self.is_compacted:
            # Nothing else takes offsets from this log, or the bytes do not say which they were.
            yield _damaged(first, last, inside)
            return
        for low, high, damage in named:
            if low > first:
                yield from self._plain(first, low - 1)
            if high >= first:
                yield _damaged(max(low, first), high, [damage])
                first = high + 1
        if first <= last:
            yield from self._plain(first, last)

    def _plain(self, first: int, last: int) -> Iterator[OffsetRun]:
        """Yield the runs of a gap without damage."""
        for part in self._parts:
            low, high = max(part.low, first), min(part.high - 1, last)
            if part.segment is None and low <= high:
                if first < low:
                    yield self._explained(first, low - 1)
                yield OffsetRun(low, high, "remote", "the remote tier lacks its segment")
                first = high + 1
        if first <= last:
            yield self._explained(first, last)

    def _explained(self, first: int, last: int) -> OffsetRun:
        for each in self._partition.unread:
            name = names.parse_file_name(each.name)
            if name is not None and name.kind == "log" and first <= name.offset <= last:
                return OffsetRun(first, last, "unread", f"{each.path}: {each.found}", each.path)
        if self.is_compacted:
            return OffsetRun(first, last, "compacted", self.is_compacted)
        for entry in self._partition.leftovers:
            name = names.parse_file_name(entry.name)
            is_swap = name is not None and (name.kind, name.suffix) == ("log", names.SWAP)
            if name is not None and is_swap and first <= name.offset <= last:
                why = f"a cleaning was interrupted: a broker that starts takes {entry.name}"
                return OffsetRun(first, last, "missing", why, entry.path)
        why = (
            "no batch has it, nothing there is damaged, and nothing shows that the log was ever "
            "compacted: a segment was removed, or a follower truncated the log inside of a batch"
        )
        return OffsetRun(first, last, "missing", why)

    @cached_property
    def is_compacted(self) -> str:
        """What shows that the log was compacted; empty if nothing does."""
        partition = self._partition
        if partition.topic in COMPACTED_TOPICS:
            return f"{partition.topic} is always compacted"
        if partition.root is not None:
            path = os.path.join(partition.root, names.CLEANER_OFFSETS)
            with suppress(OSError):
                offsets = OffsetCheckpoint.read(path, strict=False, fs=partition.fs).offsets
                if TopicPartition(partition.topic, partition.partition) in offsets:
                    return f"{names.CLEANER_OFFSETS} names the partition: its log was compacted"
        for segment in partition.segments_of_log:
            if not segment.is_active and not segment.size and not _has_entries(segment):
                return f"segment {segment.base_offset} is empty: only a cleaning leaves one"
            for rows in batch_rows(segment):
                holes = np.flatnonzero(has_holes(rows))
                if len(holes):
                    return (
                        f"the batch at offset {int(rows['base_offset'][holes[0]])} has fewer "
                        "records than offsets: the log was compacted"
                    )
        return ""


def has_holes(rows: Rows) -> npt.NDArray[np.bool_]:
    """Return bool[m]: the sound batches with fewer records than offsets: they were compacted."""
    is_known = (rows["magic"] == 2) & (rows["problem"] == problems.OK)
    is_known &= rows["record_count"] >= 0
    found = is_known & (rows["record_count"] < rows["last_offset"] - rows["base_offset"] + 1)
    return np.asarray(found, np.bool_)


def _has_entries(segment: Segment) -> bool:
    """Return whether the offset index has entries: of an empty segment, its batches are lost."""
    return bool(if_readable(lambda: segment.offset_index))


def _low(read: SegmentRead) -> int:
    return read.low if read.is_remote else read.segment.base_offset


def _damage(finding: Finding, rows: Rows, number: int) -> _Damage:
    """Return a finding with what the header of its batch says."""
    if finding.position is None:
        return _Damage(_Place(number, _LAST - 1), finding)
    at = _Place(number, finding.position)
    row = rows[rows["position"] == finding.position]
    if not len(row) or finding.kind in _NOT_ONE_BATCH:
        return _Damage(at, finding)
    last, count = int(row["last_offset"][0]), int(row["record_count"][0])
    first = int(row["base_offset"][0])
    if first < 0:  # a wrapper of magic 0 or 1
        return _Damage(at, finding)
    return _Damage(at, finding, first, last, count if 0 <= count <= last - first + 1 else -1)


_NOT_ONE_BATCH: Final = frozenset({"batch-size", "torn-tail", "offset-order", "offset-range"})
_CUTTING: Final = frozenset({"batch-size"})
_PASSED: Final = frozenset({"torn-tail", "offset-order", "offset-range"})  # as a consumer reads


def _damaged(first: int, last: int, damages: list[_Damage]) -> OffsetRun:
    """Return the run of a damaged range."""
    finding = damages[0].finding
    known = all(each.records >= 0 for each in damages)
    count = min(sum(each.records for each in damages), last - first + 1) if known else None
    more = f", and {plural(len(damages) - 1, 'more damaged place')}" if len(damages) > 1 else ""
    at = "" if finding.position is None else f" at byte {finding.position:,}"
    why = f"{finding.kind}{at}: {finding.found}{more}"
    is_unread = finding.kind in {"unreadable", "not-a-file", "link-not-followed"}
    return OffsetRun(
        first,
        last,
        "unread" if is_unread else "damaged",
        why,
        finding.path,
        finding.position,
        count,
        any(each.finding.kind in _CUTTING for each in damages),
        any(each.finding.kind not in _PASSED for each in damages),
        tuple(each.at.position for each in damages if each.finding.kind in RESCUED),
    )
