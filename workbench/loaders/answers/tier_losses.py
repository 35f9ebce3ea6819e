"""Find what the first pass of remote retention deletes of the remote tier, beyond any setting.

A leader deletes the remote segments all of whose leader epochs are before the first that its own
log knows. A log that is made empty, or whose `leader-epoch-checkpoint` is missing, knows none, and
begins a new one: the tier loses everything of the partition.

Kafka: RemoteLogManager.RLMExpirationTask.deleteLogSegmentsDueToLeaderEpochCacheTruncation (4.2)
"""

from collections.abc import Collection, Iterator
from typing import Final

from workbench.config.settings import Settings
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.foresight.preflight.first_minutes import TierLoss
from workbench.foresight.startup.prediction import PartitionStart, StartupPrediction
from workbench.inspection.listing import Listing
from workbench.inspection.remote_tier.metadata_topic import TOPIC, read_metadata_topic
from workbench.inspection.remote_tier.segment_metadata import COPY_FINISHED

_EMPTY: Final = "its log is made empty"
_NO_EPOCHS: Final = "its log has no leader epochs, because leader-epoch-checkpoint has none"


def tier_losses(
    listing: Listing,
    settings: Settings,
    prediction: StartupPrediction,
    served: Collection[TopicPartition],
) -> Iterator[TierLoss]:
    """Yield what the tier loses of each partition, as far as `__remote_log_metadata` is here.

    Args:
        listing: the log directories.
        settings: the configuration of the broker and its topics.
        prediction: of the start.
        served: the partitions that have a log then, perhaps one that is made.
    """
    wanted = {where for where in served if settings.config_of(where.topic).remote_storage_enable}
    if not wanted or not settings.rules.has_remote_tier:
        return
    known = [each for each in listing.partitions.values() if each.topic == TOPIC]
    metadata = read_metadata_topic(known, lambda *where: TopicPartition(*where) in wanted)
    rows: dict[TopicPartition, PartitionStart] = {}
    for row in prediction:
        name = parse_directory_name(row.name)
        if name is not None and (name.kind == "log" or row.becomes_log):
            rows[TopicPartition(name.topic, name.partition)] = row
    ids = {
        TopicPartition(each.topic, each.partition): each.topic_id
        for each in listing.partitions.values()
        if each.kind == "log"
    }
    for where in sorted(wanted):
        log, topic_id = rows.get(where), ids.get(where)
        first = None if log is None else log.first_epoch
        cache = metadata.of(*where, topic_id)
        lost = [
            each
            for each in (() if cache is None else cache.segments.values())
            if each.state == COPY_FINISHED
            and (first is None or all(entry.epoch < first for entry in each.leader_epochs))
        ]
        if not lost:
            continue
        reason = _EMPTY if log is None or not log.log_end_offset else _NO_EPOCHS
        if first is not None:
            reason = f"its log knows no leader epoch before {first}"
        yield TierLoss(
            *where,
            len(lost),
            min(each.start_offset for each in lost),
            max(each.end_offset for each in lost),
            reason,
        )
