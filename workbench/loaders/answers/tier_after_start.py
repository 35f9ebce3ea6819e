"""Find what the first pass of remote retention deletes of the remote tier.

By `retention.ms` and `retention.bytes`; and beyond any setting: a leader deletes the remote
segments all of whose leader epochs are before the first that its own log knows. A log that is made
empty, or whose `leader-epoch-checkpoint` is missing, knows none, and begins a new one: the tier
loses everything of the partition.

Kafka: RemoteLogManager.RLMExpirationTask.cleanupExpiredRemoteLogSegments,
deleteLogSegmentsDueToLeaderEpochCacheTruncation (4.2)
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from workbench.config.log_config import LogConfig
from workbench.config.settings import Settings
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.foresight.preflight.first_minutes import TierLoss
from workbench.foresight.startup.prediction import PartitionStart, StartupPrediction
from workbench.inspection.listing import Listing
from workbench.inspection.remote_tier.metadata_topic import TOPIC, read_metadata_topic
from workbench.inspection.remote_tier.segment_metadata import COPY_FINISHED, RemoteSegmentMetadata
from workbench.inspection.segment import Segment
from workbench.log.retention import RetentionLimit
from workbench.runtime.times import ms_text
from workbench.runtime.words import plural

_EMPTY: Final = "its log is made empty"
_NO_EPOCHS: Final = "its log has no leader epochs, because leader-epoch-checkpoint has none"


class AfterStart(NamedTuple):
    """What the remote tier has after its first pass of retention.

    Attributes:
        losses: what it loses of each partition.
        starts: the log start offset of each partition that begins in the tier.
    """

    losses: tuple[TierLoss, ...]
    starts: Mapping[TopicPartition, int]


def tier_after_start(
    listing: Listing,
    settings: Settings,
    prediction: StartupPrediction,
    served: Collection[TopicPartition],
    now: int,
) -> AfterStart:
    """Return what the tier has after a start, as far as `__remote_log_metadata` is here.

    Args:
        listing: the log directories.
        settings: the configuration of the broker and its topics.
        prediction: of the start.
        served: the partitions that have a log then, perhaps one that is made.
        now: ms; when the pass begins, which is when the broker starts.

    Kafka: RemoteLogManager.RLMTask.maybeUpdateLogStartOffsetOnBecomingLeader (4.2)
    """
    wanted = {where for where in served if settings.config_of(where.topic).remote_storage_enable}
    if not wanted or not settings.rules.has_remote_tier:
        return AfterStart((), {})
    losses: list[TierLoss] = []
    starts: dict[TopicPartition, int] = {}
    known = [each for each in listing.partitions.values() if each.topic == TOPIC]
    metadata = read_metadata_topic(known, lambda *where: TopicPartition(*where) in wanted)
    rows: dict[TopicPartition, PartitionStart] = {}
    for row in prediction:
        name = parse_directory_name(row.name)
        if name is not None and (name.kind == "log" or row.becomes_log):
            rows[TopicPartition(name.topic, name.partition)] = row
    disks = {
        TopicPartition(each.topic, each.partition): each
        for each in listing.partitions.values()
        if each.kind == "log"
    }
    for where in sorted(wanted):
        log, disk = rows.get(where), disks.get(where)
        first = None if log is None else log.first_epoch
        cache = metadata.of(*where, None if disk is None else disk.topic_id)
        there = [
            each
            for each in (() if cache is None else cache.segments.values())
            if each.state == COPY_FINISHED
        ]
        lost = [
            each
            for each in there
            if first is None or all(entry.epoch < first for entry in each.leader_epochs)
        ]
        if not lost:
            if there and disk is not None:
                begin = min(each.start_offset for each in there)
                starts[where] = max(begin, disk.checkpoint_start or 0)
                config = settings.config_of(where.topic)
                losses += _retained(where, config, there, disk.segments, now)
            continue
        reason = _EMPTY if log is None or not log.log_end_offset else _NO_EPOCHS
        if first is not None:
            reason = f"its log knows no leader epoch before {first}"
        first_offset = min(each.start_offset for each in lost)
        last_offset = max(each.end_offset for each in lost)
        losses.append(TierLoss(*where, len(lost), first_offset, last_offset, reason))
    return AfterStart(tuple(losses), starts)


def _retained(
    where: TopicPartition,
    config: LogConfig,
    there: Sequence[RemoteSegmentMetadata],
    local: Sequence[Segment],
    now: int,
) -> Iterator[TierLoss]:
    """Yield what retention deletes of a partition's remote segments.

    Args:
        there: the remote segments.
        local: the segments of the log.

    Kafka: UnifiedLog.onlyLocalLogSegmentsSize (4.2)
    """
    end = max(each.end_offset for each in there)
    # One that is at the highest copied offset counts, too: a copied segment of one offset.
    only_here = sum(each.size for each in local if each.base_offset >= end)
    gone, limit = _expired(there, config, only_here, now)
    # A broker that has just started may not know yet what it has copied.
    most, other = _expired(there, config, sum(each.size for each in local), now)
    limit = limit or other
    if limit is None:
        return
    reason = f"{limit.name} = {ms_text(limit.value) if limit.name.endswith('ms') else limit.value}"
    if len(most) > len(gone):
        count = plural(len(most) - len(gone), "more segment" if gone else "segment")
        reason += (
            f"{',' if gone else ':'} {count}, up to offset {most[-1].end_offset}, if the broker "
            "counts local segments twice, because it does not know yet which of them the tier has"
        )
    named = gone or most
    yield TierLoss(
        *where, len(gone), named[0].start_offset, named[-1].end_offset, reason, limit.name
    )


def _expired(
    there: Iterable[RemoteSegmentMetadata], config: LogConfig, only_here: int, now: int
) -> tuple[list[RemoteSegmentMetadata], RetentionLimit | None]:
    """Return the remote segments that retention deletes, and the limit that is exceeded first."""
    segments = sorted(there, key=lambda each: each.start_offset)
    age, size = config.retention_ms, config.retention_bytes
    above = sum(each.size or 0 for each in segments) + only_here - size
    gone, limit = [], None
    for each in segments:
        if age >= 0 and each.max_timestamp is not None and each.max_timestamp <= now - age:
            limit = limit or RetentionLimit("retention.ms", age)
        elif size >= 0 and above > 0 and above >= (each.size or 0):
            above -= each.size or 0
            limit = limit or RetentionLimit("retention.bytes", size)
        else:
            break
        gone.append(each)
    return gone, limit
