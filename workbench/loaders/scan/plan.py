"""Plan a scan: its partitions, their segments, and the batches of those.

A scan prunes by folder and file names (topics, partitions, base offsets), by the offset index
(where to start in a segment) and by batch headers (offsets, largest timestamp, transactions), in
this order. An index entry is trusted only if it points to a batch with a valid CRC.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.config.internal_topics import HIDDEN_TOPICS
from workbench.files.names import TopicPartition, parse_file_name
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import (
    ABORTED,
    IsolationLevel,
    Transactions,
    read_transactions,
)
from workbench.loaders.queries.ranges import HIGHEST, LOWEST
from workbench.runtime.several import Names, Partitions, several
from workbench.runtime.times import Time
from workbench.runtime.words import did_you_mean

Rows = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
OffsetRange = tuple[int | None, int | None]
"""[first, end); None: open; below 0: counted from the log end offset."""
TimeRange = tuple[Time | None, Time | None]


def offsets_of(given: str | int | OffsetRange) -> OffsetRange:
    """Return a range of offsets that a person wrote.

    Args:
        given: (first, end); one offset; or text: ``5``, ``100:200``, ``100:``, ``:200``, and
            ``-2:`` for the last two.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(given, int):
        return given, given + 1
    if not isinstance(given, str):
        low, high = given
        return low, high
    first, colon, end = given.partition(":")
    if not re.fullmatch(r"(-?\d+)?", first) or not re.fullmatch(r"(-?\d+)?", end) or given == "":
        raise ValueError(f"{given!r} is not a range of offsets such as 100:200")
    if not colon:
        if first.startswith("-"):
            raise ValueError(f"{given!r} is not an offset (expected {given}: for the last ones)")
        return int(first), int(first) + 1
    return int(first) if first else None, int(end) if end else None


_LISTINGS: Final = 10  # until all files that were listed are there


class Fates(Protocol):
    """What became of transactions."""

    def fates(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: what `Transactions.fates` returns for BATCH_ROW[m]."""


class FatesOnDemand:
    """The transactions of a partition, looked for when the first record of one is met.

    Args:
        partition: the partition.
    """

    def __init__(self, partition: DiskPartition) -> None:
        self._partition = partition

    @cached_property
    def _transactions(self) -> Transactions:
        return read_transactions(self._partition)

    def fates(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return int8[m]: what `Transactions.fates` returns for BATCH_ROW[m]."""
        return self._transactions.fates(rows)

    @property
    def last_stable_offset(self) -> int:
        """The offset at which a consumer with read_committed stops."""
        return self._transactions.last_stable_offset


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
        metadata: the `partition.metadata`, as it was when a stream was planned.
        fates: of all batches of the partition, for who reads uncommitted records and says so.
    """

    partition: DiskPartition
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
    metadata: FileEntry | None = None
    fates: FatesOnDemand | None = field(default=None, compare=False)

    @property
    def place(self) -> tuple[str, int, int, str]:
        """Topic, partition, base offset and file of the segment: columns of its records."""
        name = self.partition.topic, self.partition.partition
        return (*name, self.segment.base_offset, self.segment.path)


def input_paths(partitions: Iterable[DiskPartition]) -> Iterator[str]:
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
    topics: Names,
    partitions: Partitions,
    *,
    everything: bool = False,
) -> list[DiskPartition]:
    """Return the partitions that a scan is about, sorted by topic and number.

    Args:
        topics: names of topics; None: all.
        partitions: numbers, names as ``orders-0``, or paths of partition directories, which
            distinguish replicas; None: all.
        everything: whether folders that are marked for deletion, strays and future ones are meant,
            too; otherwise only those that are named in full, or were opened alone.

    Raises:
        LookupError: a topic or partition does not exist; the message names the nearest.
    """
    given = set(several(partitions) or ())
    numbers = {p for p in given if isinstance(p, int)}
    named = {str(p) for p in given if not isinstance(p, int)}
    # A directory that was opened alone, or is named, is wanted even if it is marked for deletion.
    chosen: list[DiskPartition] = []
    others: list[DiskPartition] = []
    for p in listing.partitions.values():
        is_meant = (
            everything or p.kind == "log" or p.is_alone or not named.isdisjoint((p.name, p.path))
        )
        (chosen if is_meant else others).append(p)
    if topics is not None:
        wanted = set(several(topics))
        _require(wanted, chosen, others, "topic", lambda p: (p.topic,))
        chosen = [p for p in chosen if p.topic in wanted]
    if partitions is not None:
        _require(named, chosen, others, "partition", _names_of)
        _require(numbers, chosen, others, "partition", lambda p: (p.partition,))
        chosen = [p for p in chosen if p.partition in numbers or not named.isdisjoint(_names_of(p))]
    return chosen


def chosen_names(
    listing: Listing,
    topics: Names,
    partitions: Partitions,
) -> frozenset[TopicPartition] | None:
    """Return the names of the partitions that `choose_partitions` returns; None: nothing is named.

    Raises:
        LookupError: a topic or partition does not exist; the message names the nearest.
    """
    if topics is None and partitions is None:
        return None
    chosen = choose_partitions(listing, topics, partitions)
    return frozenset(TopicPartition(each.topic, each.partition) for each in chosen)


def without_internal(chosen: Sequence[DiskPartition]) -> list[DiskPartition]:
    """Return partitions without those of Kafka's own topics; one that was opened alone is meant.

    Whoever reads the records of a directory means those of its users' topics.
    """
    return list(filter(is_of_users, chosen))


def is_of_users(partition: DiskPartition) -> bool:
    """Return whether a partition is none of Kafka's own topics, or was opened alone."""
    return partition.topic not in HIDDEN_TOPICS or partition.is_alone


def are_named(topics: Names, partitions: Partitions) -> bool:
    """Return whether Kafka's own topics are meant, too: topics or partitions have names."""
    return topics is not None or any(isinstance(p, str) for p in several(partitions or ()))


def _names_of(partition: DiskPartition) -> tuple[str, ...]:
    """Return the names of a partition: its directory's, the one that it has in use, its path."""
    return partition.name, f"{partition.topic}-{partition.partition}", partition.path


def _require(
    wanted: set[Any],
    chosen: list[DiskPartition],
    others: list[DiskPartition],
    what: str,
    names_of: Callable[[DiskPartition], Iterable[Any]],
) -> None:
    there = {name for partition in chosen for name in names_of(partition)}
    for name in sorted(wanted - there, key=str):
        folders = [partition.name for partition in others if name in names_of(partition)]
        if folders:
            raise LookupError(
                f"{what} {name} is not in use; its folder is {folders[0]}: name it, or ask for "
                "everything; kafka-workbench undelete brings it back in a copy"
            )
        hint = did_you_mean(str(name), sorted(map(str, there)))
        if what == "topic" and any(name in _names_of(partition) for partition in chosen):
            hint = f", which is a partition: partitions={name!r}, on the command line -p {name}"
        raise LookupError(f"unknown {what} {name}{hint}")


def offset_range(
    offsets: OffsetRange | Mapping[str, OffsetRange] | None,
    partition: DiskPartition,
    *,
    everything: bool = False,
) -> tuple[int, int]:
    """Return the offsets [low, high) wanted of a partition: its own range, or the one for all.

    With ``everything``, what is below the log start offset is meant, too.
    """
    given = offsets.get(partition.name) if isinstance(offsets, Mapping) else offsets
    low, high = given or (None, None)
    if (low is not None and low < 0) or (high is not None and high < 0):
        log_end = partition.log_end_offset
        low = low if low is None or low >= 0 else max(0, log_end + low)
        high = high if high is None or high >= 0 else max(0, log_end + high)
    start = LOWEST if everything else partition.log_start_offset
    return (
        max(start, LOWEST if low is None else low),
        HIGHEST if high is None else high,
    )


def plan_partition(
    partition: DiskPartition,
    low: int,
    high: int,
    isolation_level: IsolationLevel,
    *,
    everything: bool = False,
) -> list[SegmentRead]:
    """Return the segments of a partition that can hold offsets [low, high), ascending.

    Args:
        partition: the partition.
        low, high: the offsets.
        isolation_level: ``read_committed`` ends at the last stable offset.
        everything: whether files out of use come afterwards: leftovers and metadata snapshots.
    """
    transactions = None
    if isolation_level == "read_committed":
        transactions = read_transactions(partition)
        high = min(high, transactions.last_stable_offset)
    fates = FatesOnDemand(partition)
    reads = [replace(each, fates=fates) for each in segments_within(partition, low, high)]
    if everything:
        reads += out_of_use(partition, low, high)
    return [
        replace(
            read,
            start=read.segment.position_of(read.low) if begins_inside else 0,
            transactions=transactions,
        )
        if (begins_inside := read.low > read.segment.base_offset) or transactions is not None
        else read
        for read in reads
    ]


def out_of_use(partition: DiskPartition, low: int, high: int) -> list[SegmentRead]:
    """Return the files with batches that are not read as a log: leftovers, metadata snapshots."""
    return [
        SegmentRead(
            partition,
            # The name of a snapshot gives its end; its batches begin at 0.
            Segment(parsed.offset * (parsed.kind == "log"), {"log": entry}, is_active=False),
            0,
            low,
            high,
            HIGHEST,
            None,
        )
        for entry in (*partition.leftovers, *partition.metadata_snapshots)
        if (parsed := parse_file_name(entry.name)) is not None
        and parsed.kind in {"log", "checkpoint"}
        and low < high
    ]


def segments_within(partition: DiskPartition, low: int, high: int) -> list[SegmentRead]:
    """Return the segments that can hold offsets [low, high), ascending, by their names alone."""
    reads: list[SegmentRead] = []
    for part in partition.parts:
        if part.segment is None or not (low < high and part.low < high and part.high > low):
            continue
        bounds = (max(low, part.low), min(high, part.high)) if part.is_remote else (low, high)
        place = partition, part.segment, 0, *bounds, part.following
        reads.append(SegmentRead(*place, transactions=None, is_remote=part.is_remote))
    return reads


def as_now(read: SegmentRead) -> list[SegmentRead]:
    """Return a read, or those of its offsets if a broker has replaced its segment since.

    A cleaning merges segments, and gives one of them to another file. Offsets that no segment holds
    any more are left to the read, whose file is not there.

    Kafka: LocalLog.replaceSegments (4.2)
    """
    is_whole = read.stop is None and read.span is None and read.partition.only is None
    if not is_whole or not read.segment.files["log"].is_here:
        return [read]
    if read.segment.files["log"].is_there or read.segment not in read.partition.segments:
        return [read]
    low, high = max(read.low, read.segment.base_offset), min(read.high, read.next_base)
    again: list[SegmentRead] = []
    for _ in range(_LISTINGS):
        partition = read.partition.listed_again()
        again = [
            replace(each, transactions=read.transactions, fates=read.fates)
            for each in segments_within(partition, low, high)
        ]
        if all(each.segment.files["log"].is_there for each in again):
            break
    return again or [read]


def batch_selector(
    read: SegmentRead, times: tuple[int, int], *, include_control: bool
) -> Callable[[Rows], Mask]:
    """Return the filter by headers of the batches that can hold wanted records."""

    def select(rows: Rows) -> Mask:
        # The base offset of a wrapper of magic 0 or 1 is not known (-1): it is never too high. A
        # last offset below 0 is damaged, or too high for 64 bits: its records are reported.
        last = rows["last_offset"]
        wanted = (last >= read.low) | (last < 0)
        if read.high < HIGHEST:
            wanted &= rows["base_offset"] < read.high
        if not include_control:
            wanted &= ~rows["is_control"]
        if times[0] > LOWEST:
            wanted &= rows["max_timestamp"] >= times[0]
        if read.transactions is not None:
            wanted &= read.transactions.fates(rows) != ABORTED
        return np.asarray(wanted, np.bool_)

    return select
