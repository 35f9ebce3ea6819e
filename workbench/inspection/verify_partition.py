"""Check one partition: its segments one by one, then them and the folder's other files together.

Kafka: LogLoader.load, UnifiedLog (4.2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from workbench.files import names
from workbench.files.names import FileKind, TopicPartition
from workbench.inspection.findings import Finding
from workbench.inspection.log_reading import read_log
from workbench.inspection.partition import Partition
from workbench.inspection.verify_batches import verify_batches, verify_offsets
from workbench.inspection.verify_epochs import verify_epochs
from workbench.inspection.verify_leftovers import swap_ranges, swaps, verify_leftovers
from workbench.inspection.verify_metadata_log import verify_metadata_log
from workbench.inspection.verify_segment import SegmentSummary, collect, verify_segment
from workbench.inspection.verify_situation import (
    METADATA_TOPIC,
    PartitionSituation,
    Place,
    Situation,
)
from workbench.inspection.verify_snapshots import verify_snapshots
from workbench.inspection.verify_transactions import verify_transactions

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
        log_end: offset behind the last batch; None when it is not sure, or without segments.
    """

    findings: list[Finding]
    log_end: int | None


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
    if partition.kind == "stray":  # set aside as it was, and never closed
        here = PartitionSituation("unknown", 0)
    segments = partition.segments
    epochs = partition.leader_epochs
    starts = [entry.start_offset for entry in epochs.entries] if epochs is not None else []
    bases: list[int | None] = [segment.base_offset for segment in segments]
    logs: list[SegmentSummary] = []
    swapped: dict[int, set[FileKind]] = {}
    for _, name in swaps(partition):
        swapped.setdefault(name.offset, set()).add(name.kind)
    for number, (segment, next_base) in enumerate(zip(segments, [*bases, None][1:], strict=True)):
        later = len(segments) - number - 1
        kinds = frozenset(swapped.get(segment.base_offset, ()))
        place = Place(segment.path, segment.base_offset, next_base, later, here, kinds)
        summary = verify_segment(
            segment, place, findings,
            epoch_starts=np.sort(np.array(starts, np.int64)),
            has_time_indexes=era.time_indexes, deep=deep,
        )  # fmt: skip
        if summary is not None:
            logs.append(summary)
    log_end = None
    if logs and len(logs) == len(segments) and logs[-1].is_end_sure:
        log_end = logs[-1].next_offset
    is_compacted = is_cleaned or partition.topic in COMPACTED_TOPICS
    is_compacted |= any(log.has_holes for log in logs)
    gaps = [] if is_compacted else list(_missing_offsets(partition, logs))
    has_records = log_end is not None and partition.log_start_offset < log_end
    for step in (
        gaps,
        verify_transactions(logs, is_joined=not gaps and not swap_ranges(partition)),
        verify_leftovers(partition),
        _swapped(partition, here, deep=deep),
        verify_snapshots(
            partition, log_end, here.stop, has_records=has_records,
            expects_one=era.epochs_and_snapshots and partition.topic != METADATA_TOPIC,
        ),
        verify_epochs(partition, epochs, logs, log_end, here),
        _metadata(partition, era),
        verify_metadata_log(partition, deep=deep),
    ):  # fmt: skip
        collect(step, findings)
    if not segments and partition.kind == "log":
        findings.append(_no_segments(partition, era))
    return PartitionResult(findings, log_end)


def _missing_offsets(partition: Partition, logs: Sequence[SegmentSummary]) -> Iterator[Finding]:
    """Yield a finding for each gap between segments of a log that was never compacted.

    An empty segment in front of the gap says that it was: only a cleaning leaves one behind.
    """
    filled = {offset for offset, _ in swap_ranges(partition)}
    for log, behind in pairwise(logs):
        end, base = log.next_offset, min(behind.place.base_offset, behind.first_offset)
        if log.place.next_base != behind.place.base_offset or not log.is_end_sure or end >= base:
            continue
        if not log.size and not log.has_index_entries:
            continue
        if any(end <= offset < base for offset in filled) or log.has_tail:
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


def _swapped(partition: Partition, here: PartitionSituation, *, deep: bool) -> Iterator[Finding]:
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
