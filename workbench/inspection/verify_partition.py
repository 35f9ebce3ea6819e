"""Check one partition: its segments one by one, then them and the folder's other files together.

Kafka: LogLoader.load, UnifiedLog (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.files import names
from workbench.files.names import TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.log_reading import LogReading, read_log
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.inspection.verify_batches import first_offsets, verify_batches, verify_offsets
from workbench.inspection.verify_epochs import batches_with_epochs, verify_epochs
from workbench.inspection.verify_indexes import (
    Batches,
    IndexFiles,
    batches_of,
    verify_missing_indexes,
    verify_offset_index,
    verify_time_index,
)
from workbench.inspection.verify_leftovers import swap_ranges, verify_leftovers
from workbench.inspection.verify_metadata_log import verify_metadata_log
from workbench.inspection.verify_situation import METADATA_TOPIC, Place, Situation
from workbench.inspection.verify_snapshots import verify_snapshots
from workbench.inspection.verify_transactions import SegmentLog, verify_transactions

COMPACTED_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)


@dataclass(frozen=True)
class Era:
    """What brokers of a log directory's time write into every partition's folder.

    Attributes:
        time_indexes: `.timeindex`, since 0.10.1.
        epochs_and_snapshots: leader epochs and producer snapshots, since 0.11.
        metadata: `partition.metadata`, since 2.8.
        kraft: whether the cluster keeps its metadata in a log (`meta.properties` version 1).
    """

    time_indexes: bool
    epochs_and_snapshots: bool
    metadata: bool
    kraft: bool


@dataclass(frozen=True)
class PartitionResult:
    """What checking a partition found, and what the directory's checkpoints are held against.

    Attributes:
        findings: by file.
        log_start: base offset of the first segment; None without segments.
        log_end: offset behind the last batch; None when it is not sure, or without segments.
    """

    findings: list[Finding]
    log_start: int | None
    log_end: int | None


@dataclass(frozen=True)
class _Log:
    """A segment with all that was read of it."""

    segment: Segment
    place: Place
    files: IndexFiles
    reading: LogReading
    batches: Batches
    flagged: npt.NDArray[np.bool_]

    @property
    def sound_rows(self) -> npt.NDArray[Any]:
        return self.reading.rows[self.reading.sound & ~self.flagged]


def verify_partition(
    partition: Partition, situation: Situation, era: Era, *, deep: bool, is_cleaned: bool
) -> PartitionResult:
    """Check everything in a partition's folder.

    Args:
        partition: to check.
        situation: how its log directory would be found.
        era: what the folder should hold.
        deep: check CRCs and decode every record.
        is_cleaned: whether the cleaner's checkpoint names the partition.
    """
    findings: list[Finding] = []
    here = situation.of(TopicPartition(partition.topic, partition.partition))
    segments = partition.segments
    bases = [segment.base_offset for segment in segments]
    logs: list[_Log] = []
    for number, segment in enumerate(segments):
        next_base = bases[number + 1] if number + 1 < len(bases) else None
        later = len(segments) - number - 1
        place = Place(segment.path, segment.base_offset, next_base, later, here)
        log = _read(segment, place, findings, deep=deep)
        if log is not None:
            logs.append(log)
    is_compacted = is_cleaned or partition.topic in COMPACTED_TOPICS or _has_holes(logs)
    findings += _indexes(logs, era)
    findings += _transactions(logs)
    log_end = None
    if logs and len(logs) == len(segments) and logs[-1].reading.is_end_sure:
        log_end = logs[-1].reading.next_offset
    if not is_compacted:
        findings += _missing_offsets(partition, logs)
    findings += verify_leftovers(partition)
    findings += _swapped(partition, here, deep=deep)
    has_records = log_end is not None and partition.log_start_offset < log_end
    findings += verify_snapshots(
        partition, log_end, here.stop, has_records=has_records,
        expects_one=era.epochs_and_snapshots and partition.topic != METADATA_TOPIC,
    )  # fmt: skip
    tables = [batches_with_epochs(log.place.path, log.sound_rows) for log in logs]
    findings += verify_epochs(
        partition, tables, log_end, here, expects_file=era.epochs_and_snapshots
    )
    findings += _metadata(partition, era)
    findings += verify_metadata_log(partition, deep=deep)
    if not segments and partition.kind == "log":
        findings.append(_no_segments(partition, era))
    return PartitionResult(findings, bases[0] if bases else None, log_end)


def _read(segment: Segment, place: Place, findings: list[Finding], *, deep: bool) -> _Log | None:
    """Read a segment's indexes, then its log, which grows meanwhile on a live broker."""
    try:
        files = IndexFiles(segment.offset_index, segment.time_index)
        reading = read_log(segment.path, segment.base_offset, deep=deep)
    except FileNotFoundError:
        return None  # removed meanwhile
    except OSError as error:
        findings.append(unreadable(segment.path, error))
        return None
    findings += verify_batches(reading, place)
    more, flagged = verify_offsets(reading, place)
    findings += more
    return _Log(segment, place, files, reading, batches_of(reading, flagged), flagged)


def unreadable(path: str, error: OSError) -> Finding:
    """Return the finding for a file that the system does not let us read."""
    broker = "Its log directory goes offline when a broker cannot read a file either."
    found = error.strerror or str(error)
    return Finding(
        "unreadable", "error", path, None, None, found, "a file that can be read", broker
    )


def _indexes(logs: Sequence[_Log], era: Era) -> Iterator[Finding]:
    for log in logs:
        segment, reading, batches, place = log.segment, log.reading, log.batches, log.place
        yield from verify_missing_indexes(
            segment, reading, place, has_time_indexes=era.time_indexes
        )
        if log.files.offset is not None:
            yield from verify_offset_index(segment, log.files.offset, reading, batches, place)
        if log.files.time is not None:
            yield from verify_time_index(segment, log.files.time, reading, batches, place)


def _transactions(logs: Sequence[_Log]) -> Iterator[Finding]:
    if not logs:
        return
    yield from verify_transactions(
        [
            SegmentLog(log.segment, log.reading, log.place, log.segment.transaction_index)
            for log in logs
        ]
    )


def _has_holes(logs: Sequence[_Log]) -> bool:
    """Return whether offsets are missing within a segment, as compaction leaves it."""
    for log in logs:
        rows = log.sound_rows
        if not len(rows):
            continue
        first, last = first_offsets(rows), rows["last_offset"]
        told = (rows["record_count"] >= 0) & (rows["base_offset"] >= 0)
        if (told & (rows["record_count"] < last - first + 1)).any():
            return True
        begins_late = first[0] > log.place.base_offset
        is_told = log.reading.is_whole and (rows["base_offset"] >= 0).all()
        if is_told and (begins_late or (first[1:] > last[:-1] + 1).any()):
            return True
    return False


def _missing_offsets(partition: Partition, logs: Sequence[_Log]) -> Iterator[Finding]:
    """Yield a finding for each gap between segments of a log that was never compacted.

    An empty segment in front of the gap says that it was: only a cleaning leaves one behind.
    """
    filled = {offset for offset, _ in swap_ranges(partition)}
    for log, behind in pairwise(logs):
        end, base = log.reading.next_offset, behind.place.base_offset
        if log.place.next_base != base or not log.reading.is_end_sure or end >= base:
            continue
        if not log.reading.size and not len(log.files.offset or ()):
            continue
        if any(end <= offset < base for offset in filled) or log.reading.tail is not None:
            continue
        broker = (
            "A broker does not look whether segments join: consumers step over the gap. (If the "
            "topic was compacted before, or a follower cut the log in the middle of a batch, "
            "nothing is lost.)"
        )
        found, wanted = f"no records from {end} to {base - 1}", f"offset {end} next"
        yield Finding(
            "missing-offsets", "warning", behind.place.path, 0, end, found, wanted, broker
        )


def _swapped(partition: Partition, here: Any, *, deep: bool) -> Iterator[Finding]:
    """Check the batches of the `.log.swap` files that a broker would put in place."""
    for base_offset, entry in swap_ranges(partition):
        try:
            reading = read_log(entry.path, base_offset, deep=deep)
        except OSError:
            continue
        yield from verify_batches(reading, Place(entry.path, base_offset, base_offset, 0, here))
        yield from verify_offsets(reading, Place(entry.path, base_offset, None, 0, here))[0]


def _metadata(partition: Partition, era: Era) -> Iterator[Finding]:
    """Check `partition.metadata`."""
    entry = partition.file(names.PARTITION_METADATA)
    metadata = partition.metadata
    if entry is not None and metadata is not None:
        for problem in metadata.problems[:1]:
            broker = (
                "The log directory goes offline when the partition is loaded; a broker with only "
                "this one exits."
            )
            yield Finding(
                "partition-metadata-damaged", "error", entry.path, problem.position, None,
                problem.found, problem.expected, broker,
            )  # fmt: skip
    elif era.kraft and partition.kind == "log" and partition.topic != METADATA_TOPIC:
        # With ZooKeeper a broker writes it when it next gets to it: after an upgrade some lack it.
        broker = "A broker renames the folder to -stray and begins an empty log in its place."
        yield Finding(
            "partition-metadata-missing", "error", partition.path, None, None,
            "no partition.metadata", "one, as every partition of a KRaft cluster has", broker,
        )  # fmt: skip


def _no_segments(partition: Partition, era: Era) -> Finding:
    if partition.file(names.PARTITION_METADATA) is None and era.kraft:
        broker = "A broker renames the folder to -stray and begins an empty log in its place."
    else:
        broker = "A broker begins an empty log in it, at the checkpointed log start offset or 0."
    found, wanted = f"{len(partition.files)} files", "a .log at least"
    return Finding("no-segments", "warning", partition.path, None, None, found, wanted, broker)
