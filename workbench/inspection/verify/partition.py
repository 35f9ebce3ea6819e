"""Check one partition: each segment, then segments and the directory's other files together.

Kafka: LogLoader.load, UnifiedLog (4.2)
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from workbench.config.broker_rules import BrokerRules, StrayRule
from workbench.config.internal_topics import COMPACTED_TOPICS, METADATA_TOPIC
from workbench.files import names
from workbench.files.names import FileKind, TopicPartition
from workbench.files.reading import FileProblem
from workbench.inspection.findings import Finding, Severity
from workbench.inspection.lookups.time_lookup import first_in_segment
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable, unread_kinds, unreadable
from workbench.inspection.verify.epochs import verify_epochs
from workbench.inspection.verify.leftovers import swap_ranges, swaps, verify_leftovers
from workbench.inspection.verify.metadata_log import verify_metadata_log
from workbench.inspection.verify.segments.batches import verify_log
from workbench.inspection.verify.segments.segment import SegmentSummary, collect, verify_segment
from workbench.inspection.verify.shutdown_state import (
    PartitionShutdownState,
    SegmentContext,
    ShutdownState,
    goes_offline,
)
from workbench.inspection.verify.snapshots import verify_snapshots
from workbench.inspection.verify.transactions import verify_transactions
from workbench.runtime.times import LONGEST_TIME, likely_unit, time_text

Advance = Callable[[int], None]
"""Receives how many more bytes were checked."""


@dataclass(frozen=True)
class Era:
    """What brokers of a log directory's time write into every partition directory.

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
    """The findings of a partition, and the log end offset that checkpoints are compared with.

    Attributes:
        findings: the findings, by file.
        log_end: log end offset; None when it is not sure, or without segments.
    """

    findings: list[Finding]
    log_end: int | None


def verify_partition(
    partition: DiskPartition,
    situation: ShutdownState,
    era: Era,
    *,
    deep: bool,
    is_cleaned: bool,
    advance: Advance | None = None,
    workers: int = 1,
) -> PartitionResult:
    """Check everything in a partition directory.

    Args:
        partition: the partition.
        situation: how a broker would find its log directory.
        era: what the directory should hold.
        deep: check CRCs and decode every record.
        is_cleaned: whether the cleaner's checkpoint names the partition.
        advance: called with the bytes of each `.log` after it was checked; it may raise to stop.
        workers: threads that check CRCs and decode side by side.
    """
    findings: list[Finding] = []
    here = situation.of(TopicPartition(partition.topic, partition.partition))
    if partition.kind == "stray":  # renamed as it was, and never closed
        here = PartitionShutdownState("unknown", 0, rules=here.rules)
    segments = partition.segments
    epochs = partition.leader_epochs
    starts = [entry.start_offset for entry in epochs.entries] if epochs is not None else []
    epoch_starts = np.sort(np.array(starts, np.int64))
    unread = unread_kinds(partition)
    unread_logs = {base for base, kinds in unread.items() if "log" in kinds}
    bases = sorted({segment.base_offset for segment in segments} | unread_logs)
    logs: list[SegmentSummary] = []
    swapped: dict[int, set[FileKind]] = {}
    for _, name in swaps(partition):
        swapped.setdefault(name.offset, set()).add(name.kind)
    for segment in segments:
        base = segment.base_offset
        behind = bisect_right(bases, base)
        next_base = bases[behind] if behind < len(bases) else None
        place = SegmentContext(
            segment.files["log"], base, next_base, len(bases) - behind, here,
            swaps=frozenset(swapped.get(base, ())), unread=frozenset(unread.get(base, ())),
        )  # fmt: skip
        summary = verify_segment(
            segment, place, findings,
            epoch_starts=epoch_starts,
            has_time_indexes=era.time_indexes, deep=deep, workers=workers,
        )  # fmt: skip
        if summary is not None:
            logs.append(summary)
        if advance is not None:
            advance(segment.size)
    log_end = None
    is_joined = len(logs) == len(segments) and not unread_logs
    if logs and is_joined and logs[-1].is_end_sure:
        log_end = logs[-1].next_offset
    is_compacted = is_cleaned or partition.topic in COMPACTED_TOPICS
    is_compacted |= any(log.has_holes for log in logs)
    gaps = [] if is_compacted else list(_missing_offsets(partition, logs))
    has_records = log_end is not None and partition.log_start_offset < log_end
    for step in (
        gaps,
        _blind_lookups(logs, is_compacted=is_compacted),
        _odd_timestamps(logs),
        verify_transactions(
            logs, is_joined=is_joined and not gaps and not swap_ranges(partition)
        ),
        verify_leftovers(partition, here.rules),
        _swapped(partition, here, deep=deep),
        verify_snapshots(
            partition, log_end, here.stop, has_records=has_records,
            expects_one=era.epochs_and_snapshots and partition.topic != METADATA_TOPIC,
        ),
        verify_epochs(partition, epochs, logs, log_end, here),
        _metadata(partition, era, here.rules),
        verify_metadata_log(partition, deep=deep, rules=here.rules),
    ):  # fmt: skip
        collect(step, findings)
    is_here = partition.remote_topic_id is None and not _is_unread(partition)
    if not segments and partition.kind == "log" and not unread_logs and is_here:
        findings.append(_no_segments(partition, era, here.rules))
    return PartitionResult(findings, log_end)


def _missing_offsets(partition: DiskPartition, logs: Sequence[SegmentSummary]) -> Iterator[Finding]:
    """Yield a finding for each gap between segments of a log that was never compacted.

    An empty segment before the gap shows that it was: only a cleaning leaves one.
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
            "A broker does not check for gaps between segments: consumers skip the gap. (If the "
            "topic was compacted before, or a follower truncated the log in the middle of a "
            "batch, nothing is lost.)"
        )
        found, wanted = f"no records from {end} to {base - 1}", f"offset {end} next"
        yield Finding(
            "missing-offsets", "warning", behind.place.path, 0, end, found, wanted, broker
        )


def _blind_lookups(logs: Sequence[SegmentSummary], *, is_compacted: bool) -> Iterator[Finding]:
    """Yield a finding for each segment without timestamps that hides later records from lookups.

    A cleaning leaves such segments, so of a compacted log it is only worth knowing.

    Kafka: UnifiedLog.fetchOffsetByTimestamp, LogSegment.largestTimestamp (4.2)
    """
    latest = [log.latest_time for log in logs]
    later = [*reversed(list(accumulate(reversed(latest), max, initial=-1)))][1:]
    reached = -1
    for log, latest_after in zip(logs, later, strict=True):
        has_times = log.latest_time >= 0 or log.is_transactional
        stamp, source = (-1, "") if has_times else log.segment.stamp_without_records
        hidden = min(stamp, latest_after)
        if not has_times and log.is_whole and hidden > reached:
            broker = (
                f"{source[0].upper()}{source[1:]} counts as the segment's largest timestamp: a "
                f"lookup of a time from {time_text(reached + 1)} to {time_text(hidden)} finds "
                "nothing, though later "
                "segments have such records. (Before 0.10.1, lookups use file times alone.)"
            )
            is_usual = is_compacted or log.size > 0  # messages of magic 0 have no timestamps
            yield Finding(
                "time-lookup-blind", "info" if is_usual else "warning", log.place.path, None,
                log.place.base_offset, f"no timestamps, and {source} {time_text(stamp)}",
                "records, or a time before theirs in later segments", broker,
            )  # fmt: skip
        reached = max(reached, log.latest_time if has_times else stamp)


def _odd_timestamps(logs: Sequence[SegmentSummary]) -> Iterator[Finding]:
    """Yield a finding if a segment's largest timestamp is hardly one in ms."""
    odd = [
        log
        for log in logs
        if log.latest_time > LONGEST_TIME or likely_unit(log.latest_time) is not None
    ]
    if not odd:
        return
    latest = odd[0].latest_time
    unit = likely_unit(latest)
    record = if_readable(partial(first_in_segment, odd[0].segment, latest))
    more = "" if len(odd) == 1 else f"; {len(odd) - 1} more segments have such timestamps"
    broker = (
        "Ages are measured by it: retention.ms deletes the segment by this time, and "
        "min.compaction.lag.ms keeps the cleaner from it; lookups by time follow it."
    )
    yield Finding(
        "timestamp-range", "info", odd[0].place.path, None,
        None if record is None else record.offset,
        f"timestamp {latest}" + (f" ({unit})" if unit else "") + more,
        "ms since the epoch", broker,
    )  # fmt: skip


def _swapped(
    partition: DiskPartition, here: PartitionShutdownState, *, deep: bool
) -> Iterator[Finding]:
    """Check the batches of the `.log.swap` files that a broker would rename to segments."""
    for base_offset, entry in swap_ranges(partition):
        place = SegmentContext(entry, base_offset, base_offset, 0, here)
        try:
            found, _, _ = verify_log(place, deep=deep, order_place=replace(place, next_base=None))
        except OSError as error:
            found = unreadable(entry.path, error)
        yield from found


_SETS_ASIDE: Final = "A broker renames the directory to -stray and creates an empty log instead."


def _metadata(partition: DiskPartition, era: Era, rules: BrokerRules) -> Iterator[Finding]:
    """Check `partition.metadata`."""
    entry = partition.file(names.PARTITION_METADATA)
    metadata = partition.metadata
    if entry is not None and metadata is not None:
        problems = list(metadata.problems[:1])
        if not problems and metadata.version and rules.checks_topic_id_version:
            problems.append(FileProblem("unknown version", 0, f"version {metadata.version}", "0"))
        for problem in problems:
            is_fatal = problem == metadata.ends_a_broker()
            broker = "A broker does not start." if is_fatal else goes_offline(rules)
            yield Finding(
                "partition-metadata-damaged", "error", entry.path, problem.position, None,
                problem.found, problem.expected, broker,
            )  # fmt: skip
    elif partition.has_name(names.PARTITION_METADATA) or _is_unread(partition):
        return
    elif era.kraft and partition.kind == "log" and partition.topic != METADATA_TOPIC:
        # With ZooKeeper a broker writes it later: after an upgrade some partitions lack it.
        # Before 3.7, a broker in KRaft mode does so, too.
        is_lost = rules.strays is StrayRule.RENAMED_AT_LOAD
        severity: Severity = "error" if is_lost else "info"
        broker = _SETS_ASIDE if is_lost else "A broker serves the log, and writes the file again."
        yield Finding(
            "partition-metadata-missing", severity, partition.path, None, None,
            "no partition.metadata", "one, as in every partition of a KRaft cluster", broker,
        )  # fmt: skip


def _is_unread(partition: DiskPartition) -> bool:
    """Return whether the directory itself was not read."""
    return any(not each.name for each in partition.unread)


def _no_segments(partition: DiskPartition, era: Era, rules: BrokerRules) -> Finding:
    is_nameless = not partition.has_name(names.PARTITION_METADATA) and era.kraft
    if is_nameless and rules.strays is StrayRule.RENAMED_AT_LOAD:
        broker = _SETS_ASIDE
    else:
        broker = "A broker creates an empty log there, at the checkpointed log start offset or 0."
    found, wanted = f"{len(partition.files)} files", "at least one .log"
    return Finding("no-segments", "warning", partition.path, None, None, found, wanted, broker)
