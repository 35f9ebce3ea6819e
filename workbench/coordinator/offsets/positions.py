"""Compare a committed offset with the start and the end of the log that it is for.

The logs must be in the given directories; values of other logs are None, with the reason.

Kafka: ConsumerGroupCommand.describeGroups; OffsetMetadataManager.fetchOffsets for topic ids (4.2)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from workbench.coordinator.groups.offset_metadata import OffsetAndMetadata
from workbench.files import names
from workbench.files.names import TopicPartition
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.entries import Unread
from workbench.inspection.listing import Listing
from workbench.inspection.partition import DiskPartition
from workbench.runtime.words import plural

IN_THE_LOG: Final = "in the log"
BEYOND_END: Final = "beyond the end"
BELOW_START: Final = "below the start"
TOPIC_GONE: Final = "topic gone"
RECREATED: Final = "recreated"

_LOWEST_LAGGING: Final = -(1 << 62)  # below this, a lag may exceed 64 bits


@dataclass(frozen=True, slots=True)
class Position:
    """The log that an offset was committed for, and the offset's state.

    Attributes:
        log_start_offset, log_end_offset: the log's offsets; None: the log is not in the
            directories.
        high_watermark: the last checkpointed high watermark; None: no checkpoint names the
            partition.
        lag: log end offset minus committed offset; negative if that is beyond the end, None
            even where it exceeds 64 bits.
        state: "in the log", "beyond the end", "below the start", "topic gone" or "recreated";
            None: unknown.
        reason: the reason for the state, or why it is unknown.
    """

    log_start_offset: int | None
    log_end_offset: int | None
    high_watermark: int | None
    lag: int | None
    state: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The ends of a log that offsets are committed for.

    Attributes:
        log_start_offset, log_end_offset: the log's offsets.
        high_watermark: the last checkpointed high watermark; None: no checkpoint names the
            partition.
        newest_epoch: the last leader epoch of the checkpoint; None without one.
        topic_id: the topic's id; None: unknown.
    """

    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    newest_epoch: int | None
    topic_id: str | None


class LogPositions:
    """The logs in a listing, looked up by topic and partition; each log end offset is read once."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self._logs: dict[TopicPartition, DiskPartition] = {}
        self._going: set[TopicPartition] = set()
        self._facts: dict[TopicPartition, LogBounds | None] = {}
        for partition in listing.partitions.values():
            where = TopicPartition(partition.topic, partition.partition)
            if partition.kind == "log":
                self._logs.setdefault(where, partition)
            elif partition.kind == "delete":
                self._going.add(where)
        metadata = listing.metadata_log
        self.cluster: StoredCluster | None = None
        if metadata is not None:
            self.cluster = read_stored_cluster(metadata)

    @cached_property
    def topic_names(self) -> dict[str, str]:
        """Topic id → name, by the cluster's metadata and the partition directories."""
        names_by_id = {
            topic_id: partition.topic
            for partition in self._logs.values()
            if (topic_id := partition.topic_id) is not None
        }
        if self.cluster is not None:
            names_by_id |= {each: name for name, each in self.cluster.topic_ids.items()}
        return names_by_id

    def partition(self, where: TopicPartition) -> DiskPartition | None:
        """Return the partition; None if it is not in the directories."""
        return self._logs.get(where)

    @property
    def topics_here(self) -> set[str]:
        """The names of the topics that are in the directories."""
        return {where.topic for where in self._logs}

    def topics(self, topic: str) -> list[DiskPartition]:
        """Return the partitions of a topic that are in the directories, by number."""
        found = [partition for where, partition in self._logs.items() if where.topic == topic]
        return sorted(found, key=lambda partition: partition.partition)

    def log(self, where: TopicPartition) -> LogBounds | None:
        """Return the ends of a log; None if it is not in the directories, or cannot be read."""
        if where not in self._facts:
            partition = self._logs.get(where)
            is_unread = partition is None or unread_folder(partition) is not None
            self._facts[where] = None if is_unread else self._read(where, self._logs[where])
        return self._facts[where]

    def _read(self, where: TopicPartition, partition: DiskPartition) -> LogBounds:
        epochs = partition.leader_epochs
        start = partition.log_start_offset
        if partition.remote is None and self._is_tiered(where.topic):
            start = min(start, partition.checkpoint_start or 0)
        return LogBounds(
            start,
            partition.log_end_offset,
            self._high_watermarks.get(where),
            epochs.entries[-1].epoch if epochs is not None and epochs.entries else None,
            partition.topic_id,
        )

    def _is_tiered(self, topic: str) -> bool:
        """Whether a topic's log begins in the remote tier: then its checkpoint alone says where.

        Kafka: LogLoader.load (3.6 to 4.4)
        """
        own = {} if self.cluster is None else self.cluster.configs.topics.get(topic, {})
        return own.get("remote.storage.enable") == "true"

    @cached_property
    def _high_watermarks(self) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for root in self.listing.roots:
            checkpoint = root.checkpoint(names.HIGH_WATERMARKS)
            found |= {} if checkpoint is None else checkpoint.offsets
        return found

    def of(self, where: TopicPartition, committed: OffsetAndMetadata) -> Position:
        """Return the position of a committed offset."""
        log = self.log(where)
        if log is None:
            state, reason = self.absence(where)
            return Position(None, None, None, None, state, reason)
        end = log.log_end_offset
        lag = end - committed.offset if committed.offset >= _LOWEST_LAGGING else None
        state, reason = _state(log, committed)
        return Position(log.log_start_offset, end, log.high_watermark, lag, state, reason)

    def is_gone(self, where: TopicPartition) -> bool:
        """Return whether the directories show that a partition no longer exists."""
        return self.log(where) is None and self.absence(where)[0] == TOPIC_GONE

    def absence(self, where: TopicPartition) -> tuple[str | None, str]:
        """Return the state of a partition that is not in the directories, and the reason.

        Of one that is, but whose folder cannot be read, nothing is known.
        """
        partition = self._logs.get(where)
        if partition is not None and (unread := unread_folder(partition)) is not None:
            return None, f"{unread.path} could not be read here: {unread.found}"
        if self.cluster is not None:
            count = self.cluster.partition_counts.get(where.topic)
            if count is None:
                return TOPIC_GONE, "the topic is not in __cluster_metadata"
            if where.partition >= count:
                return (
                    TOPIC_GONE,
                    f"the topic has {plural(count, 'partition')} in __cluster_metadata",
                )
        elif where in self._going:
            return TOPIC_GONE, "the partition directory is marked for deletion"
        return None, "the partition is not in these directories"


def unread_folder(partition: DiskPartition) -> Unread | None:
    """Return why the folder of a partition cannot be read; None if it can."""
    return next((each for each in partition.unread if not each.name), None)


def _state(log: LogBounds, committed: OffsetAndMetadata) -> tuple[str, str]:
    """Return the state of a committed offset in an existing log, and the reason."""
    if committed.topic_id is not None and log.topic_id not in (None, committed.topic_id):
        return RECREATED, f"the commit is for topic id {committed.topic_id}, not {log.topic_id}"
    epoch, newest = committed.leader_epoch, log.newest_epoch
    if epoch is not None and newest is not None and epoch > newest:
        return RECREATED, f"the commit has leader epoch {epoch}, above the log's last, {newest}"
    if committed.offset > log.log_end_offset:
        return BEYOND_END, f"the log end offset is {log.log_end_offset}"
    if committed.offset < log.log_start_offset:
        return BELOW_START, f"the log start offset is {log.log_start_offset}"
    return IN_THE_LOG, ""
