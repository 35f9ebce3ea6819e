"""Plan a scan: its partitions, their segments, and the batches of those.

A scan prunes by folder and file names (topics, partitions, base offsets), by the offset index
(where to start in a segment) and by batch headers (offsets, largest timestamp, transactions), in
this order. An index entry is trusted only if it points to a batch with a valid CRC.
"""

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import ABORTED, read_transactions
from workbench.runtime.words import did_you_mean

Rows = npt.NDArray[Any]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
OffsetRange = tuple[int | None, int | None]
Time = int | str | dt.datetime
TimeRange = tuple[Time | None, Time | None]

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1


class Fates(Protocol):
    """What became of transactions."""

    def fates(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: what `Transactions.fates` returns for BATCH_ROW[m]."""


class LogEnd(NamedTuple):
    """Where a log ended when a job was planned.

    Attributes:
        base_offset: of the last segment.
        size: bytes of its `.log`.
    """

    base_offset: int
    size: int


class ByteRange(NamedTuple):
    """A range of a segment's bytes, as a job is planned; `splits.located` finds its batches.

    Attributes:
        begin: its first byte, a multiple of ``step``.
        step: bytes of every range of the segment; the last one is open.
    """

    begin: int
    step: int


@dataclass(frozen=True)
class SegmentRead:
    """One segment of a scan, or a piece of it.

    Attributes:
        partition, segment: the partition and segment to read.
        start: byte position to start at.
        low, high: offsets to keep, ``high`` excluded.
        next_base: base offset of the next segment, `HIGHEST` for the last: what a segment
            holds beyond that belongs to the next.
        transactions: the fates of batches for read_committed, otherwise None.
        stop: byte position after the last batch to read; None: the end of the file.
        floor: the piece's own offsets begin here: no batch before ``start`` has offsets from it on.
        span: the bytes of a planned piece; its other attributes are still those of the segment.
        log_end: the end of the log that a job planned with read_committed knows.
        is_remote: whether the segment is in the remote tier.
        before: the `.log` of the segment before, as it was when a job was planned.
    """

    partition: Partition
    segment: Segment
    start: int
    low: int
    high: int
    next_base: int
    transactions: Fates | None
    stop: int | None = None
    floor: int = LOWEST
    span: ByteRange | None = None
    log_end: LogEnd | None = None
    is_remote: bool = False
    before: FileEntry | None = None


def input_paths(partitions: Iterable[Partition]) -> Iterator[str]:
    """Yield the paths that reading partitions reads, where nothing must be written."""
    for partition in partitions:
        if partition.only is not None:
            yield os.path.join(partition.path, partition.only)
            continue
        yield partition.root or partition.path
        yield partition.path  # perhaps a link elsewhere, as its files may be
        yield from (segment.path for segment in partition.segments_of_log)


def choose_partitions(
    listing: Listing,
    topics: Iterable[str] | str | None,
    partitions: Iterable[int | str] | int | str | None,
) -> list[Partition]:
    """Return the partitions that a scan is about, sorted by topic and number.

    Args:
        topics: names of topics; None: all.
        partitions: numbers, or names as ``orders-0``; None: all.

    Raises:
        LookupError: a topic or partition does not exist; the message names the nearest.
    """
    given = {partitions} if isinstance(partitions, int | str) else set(partitions or ())
    numbers = {p for p in given if isinstance(p, int)}
    named = {str(p) for p in given if not isinstance(p, int)}
    # A directory that was opened alone, or is named, is wanted even if it is marked for deletion.
    chosen = [
        p
        for p in listing.partitions.values()
        if p.kind == "log" or p.root is None or p.name in named
    ]
    if topics is not None:
        wanted = {topics} if isinstance(topics, str) else set(topics)
        _require(wanted, {p.topic for p in chosen}, "topic")
        chosen = [p for p in chosen if p.topic in wanted]
    if partitions is not None:
        _require(named, {p.name for p in chosen}, "partition")
        _require(numbers, {p.partition for p in chosen}, "partition")
        chosen = [p for p in chosen if p.partition in numbers or p.name in named]
    return chosen


def _require(wanted: set[Any], there: set[Any], what: str) -> None:
    for name in sorted(wanted - there, key=str):
        hint = did_you_mean(str(name), sorted(map(str, there)))
        raise LookupError(f"unknown {what} {name}{hint}")


def offset_range(
    offsets: OffsetRange | Mapping[str, OffsetRange] | None, partition: Partition
) -> tuple[int, int]:
    """Return the offsets [low, high) wanted of a partition: its own range, or the one for all."""
    given = offsets.get(partition.name) if isinstance(offsets, Mapping) else offsets
    low, high = given or (None, None)
    return (
        max(partition.log_start_offset, LOWEST if low is None else low),
        HIGHEST if high is None else high,
    )


def plan_partition(
    partition: Partition, low: int, high: int, isolation_level: IsolationLevel
) -> list[SegmentRead]:
    """Return the segments of a partition that can hold offsets [low, high), ascending."""
    transactions = None
    if isolation_level == "read_committed":
        transactions = read_transactions(partition)
        high = min(high, transactions.last_stable_offset)
    return [
        replace(
            read,
            start=(
                read.segment.position_of(read.low) if read.low > read.segment.base_offset else 0
            ),
            transactions=transactions,
        )
        for read in segments_within(partition, low, high)
    ]


def segments_within(partition: Partition, low: int, high: int) -> list[SegmentRead]:
    """Return the segments that can hold offsets [low, high), ascending, by their names alone."""
    reads: list[SegmentRead] = []
    for part in partition.parts:
        if part.segment is None or not (low < high and part.low < high and part.high > low):
            continue
        bounds = (max(low, part.low), min(high, part.high)) if part.is_remote else (low, high)
        read = SegmentRead(partition, part.segment, 0, *bounds, part.following, None)
        reads.append(replace(read, is_remote=True) if part.is_remote else read)
    return reads


def batch_selector(
    read: SegmentRead, times: tuple[int, int], *, include_control: bool
) -> Callable[[Rows], npt.NDArray[np.bool_]]:
    """Return the filter by headers of the batches that can hold wanted records."""

    def select(rows: Rows) -> npt.NDArray[np.bool_]:
        # The base offset of a wrapper of magic 0 or 1 is not known (-1): it is never too high.
        wanted = (rows["last_offset"] >= read.low) & (rows["base_offset"] < read.high)
        if not include_control:
            wanted &= ~rows["is_control"]
        if times[0] > LOWEST:
            wanted &= rows["max_timestamp"] >= times[0]
        if read.transactions is not None:
            wanted &= read.transactions.fates(rows) != ABORTED
        return np.asarray(wanted, np.bool_)

    return select
