"""The topics of a listing as a broker's metadata would name them.

Kafka: MetadataCache, KRaftMetadataCache (4.2)
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Final, Protocol

from workbench.comparison.ahead import Replicas
from workbench.config.broker_config import BROKER_NAMES
from workbench.config.internal_topics import HIDDEN_TOPICS, METADATA_TOPIC
from workbench.config.settings import Settings
from workbench.errors import LogDirectoryError, ServerError
from workbench.file_system.source import Files
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.names import TopicPartition, topic_name_problem
from workbench.files.producer_snapshot import ProducerEntry
from workbench.inspection.cluster.image import StoredCluster, StoredConfigs
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.listing import Listing
from workbench.inspection.lookups.time_lookup import OffsetAtTime
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.logs.served_log import FetchedRecords, ServedLog, Tell

DEFAULT_NODE: Final = 1


def require_topic_name(name: str) -> None:
    """Refuse a name that no topic can have.

    Raises:
        CoordinatorError: it is invalid.
    """
    problem = topic_name_problem(name)
    if problem is not None:
        raise ErrorCode.INVALID_TOPIC_EXCEPTION.error(f"Topic name is invalid: {problem}")


class PartitionLog(Protocol):
    """What handlers ask a log: a `ServedLog` of files, or a `LiveLog` of the engine."""

    @property
    def leader_epoch(self) -> int:
        """The leader epoch in which clients read; -1 if unknown."""

    @property
    def leader_epochs(self) -> "LeaderEpochs | LeaderEpochCache":
        """Where leader epochs start."""

    @property
    def directory(self) -> str:
        """Path of the log directory that holds the log; empty if it was opened alone."""

    @property
    def path(self) -> str:
        """Path of the log's own directory."""

    @property
    def fs(self) -> Files:
        """What reads that directory."""

    @property
    def size(self) -> int:
        """Bytes of all batches."""

    @property
    def log_start_offset(self) -> int:
        """First offset that is served."""

    @property
    def local_log_start_offset(self) -> int:
        """First offset that is served from a local segment."""

    @property
    def highest_remote_offset(self) -> int | None:
        """The last offset that was copied to the remote tier; None if none is known to be."""

    @property
    def high_watermark(self) -> int:
        """The offset after the last record that is served."""

    @property
    def last_stable_offset(self) -> int:
        """First offset of the oldest open transaction; without one the high watermark."""

    def epoch_of(self, offset: int, /) -> int:
        """Return the leader epoch of an offset; -1 if unknown."""

    def read(
        self, offset: int, end: int, most: int, /, *, committed: bool, first: bool, zstd: bool
    ) -> FetchedRecords:
        """Return the batches from an offset on; see `ServedLog.read`."""

    def offset_for_timestamp(self, timestamp: int, end: int, /) -> OffsetAtTime | None:
        """Return the first record at or after a time and below ``end``; None without one."""

    def max_timestamp(self) -> OffsetAtTime | None:
        """Return the first record with the largest time; None without any."""

    def producers(self) -> Sequence[ProducerEntry]:
        """Return the producers that the log knows, in the order of a broker's map."""


class TopicCatalog(Protocol):
    """What handlers ask about topics: a `Catalog` of a listing, or the engine's `Topics`."""

    @property
    def node_id(self) -> int:
        """The broker's id."""

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id; None: unknown."""

    @property
    def topics(self) -> "Mapping[str, Mapping[int, PartitionLog]]":
        """Name → partition number → its log, both ascending."""

    @property
    def topic_count(self) -> int:
        """How many topics there are."""

    def logs_of(self, topic: str, /) -> "Mapping[int, PartitionLog] | None":
        """Return partition number → its log, ascending; None if there is no such topic."""

    @property
    def names_by_id(self) -> "Mapping[str, str]":
        """Topic id → topic."""

    @property
    def settings(self) -> Settings:
        """The configuration of broker and topics."""

    @property
    def stored_configs(self) -> StoredConfigs:
        """The configurations that the cluster's metadata sets."""

    @property
    def stored_cluster(self) -> StoredCluster:
        """The cluster by its metadata; an empty one without any."""

    @property
    def static_configs(self) -> "Mapping[str, str]":
        """What the broker was started with, as far as it is known."""

    @property
    def features(self) -> "Mapping[str, int]":
        """Feature → its finalized level, by the cluster's metadata."""

    @property
    def metadata_offset(self) -> int:
        """The last offset of the cluster's metadata; -1 without any."""

    @property
    def metadata_epoch(self) -> int:
        """The leader epoch of the cluster's metadata; 0 without any."""

    @property
    def directories(self) -> list[str]:
        """Paths of the log directories."""

    def log(self, topic: str, partition: int, /) -> PartitionLog | None:
        """Return the log of a partition; None if there is none."""

    def has(self, where: TopicPartition, /) -> bool:
        """Return whether there is a partition."""

    def is_internal(self, topic: str, /) -> bool:
        """Return whether brokers made a topic for themselves."""

    def topic_id(self, topic: str, /) -> str:
        """Return the id of a topic; zeros if unknown."""


class Catalog:
    """The partitions in use of a listing, by topic.

    Args:
        listing: the directories.
        tell: receives what cannot be read.
        topics: the only topics to serve; None: all.
        strict: whether reads end at damage.

    Attributes:
        replicas: the replicas of several brokers.
        topics: name → partition number → the log, both sorted.
        left_out: names of partition directories that no client could name, and of those that are in
            two log directories.
        node_id: the broker's id by `meta.properties`, or 1.
        cluster_id: by `meta.properties`; None: unknown.
    """

    def __init__(
        self,
        listing: Listing,
        tell: Tell,
        topics: Collection[str] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        try:
            self.replicas = Replicas(listing, tell, "served")
        except LogDirectoryError as error:
            raise ServerError(error.path, error.problem) from None
        self._whole = listing
        self.topics: dict[str, dict[int, ServedLog]] = {}
        self.left_out: list[str] = []
        for partition in listing.partitions.values():
            is_wanted = partition.kind == "log" or partition.is_alone
            if not is_wanted or partition.topic == METADATA_TOPIC:
                continue
            if topics is not None and partition.topic not in topics:
                continue
            logs = self.topics.setdefault(partition.topic, {})
            name = TopicPartition(partition.topic, partition.partition)
            is_replica = len(self.replicas.of(name)) > 1
            if topic_name_problem(partition.topic) is not None:
                self.left_out.append(partition.name)
            elif partition.partition not in logs:
                logs[partition.partition] = (
                    ServedLog(
                        partial(self.replicas.choose, name),
                        tell,
                        partial(self.replicas.leader_epoch, name),
                        strict=strict,
                    )
                    if is_replica
                    else ServedLog(partition, tell, strict=strict)
                )
            elif not is_replica:
                self.left_out.append(partition.name)
        self.topics = {topic: logs for topic, logs in self.topics.items() if logs}
        owner = self._owner()
        self.node_id = DEFAULT_NODE if owner[0] is None else owner[0]
        self.cluster_id = owner[1]

    @property
    def listing(self) -> Listing:
        """The directories; of several brokers, with the replicas that are ahead."""
        return self.replicas.listing

    def _owner(self) -> tuple[int | None, str | None]:
        for root in self._whole.roots:
            with suppress(OSError):
                found = root.meta_properties
                if found is not None:
                    return found.node_id, found.cluster_id
        return None, None

    @property
    def topic_count(self) -> int:
        """How many topics there are."""
        return len(self.topics)

    def logs_of(self, topic: str) -> dict[int, ServedLog] | None:
        """Return partition number → its log, ascending; None if there is no such topic."""
        return self.topics.get(topic)

    def log(self, topic: str, partition: int) -> ServedLog | None:
        """Return the log of a partition; None if it is not in the directories."""
        return self.topics.get(topic, {}).get(partition)

    def has(self, where: TopicPartition) -> bool:
        """Return whether a partition is in the directories."""
        return self.log(where.topic, where.partition) is not None

    def is_internal(self, topic: str) -> bool:
        """Return whether brokers made a topic for themselves."""
        return topic in HIDDEN_TOPICS

    @cached_property
    def cluster(self) -> StoredCluster | None:
        """The cluster by `__cluster_metadata`; None if that is not in the directories."""
        metadata = self.listing.metadata_log
        with suppress(OSError):
            return None if metadata is None else read_stored_cluster(metadata)
        return None

    @cached_property
    def topic_ids(self) -> dict[str, str]:
        """Topic → its id in Kafka's text, by `partition.metadata` or the cluster's metadata."""
        found: dict[str, str] = {}
        stored = {} if self.cluster is None else self.cluster.topic_ids
        for topic, logs in self.topics.items():
            for log in logs.values():
                topic_id = log.partition.topic_id
                if topic_id is not None and topic_id != NULL_UUID:
                    found[topic] = topic_id
                    break
            else:
                if topic in stored:
                    found[topic] = stored[topic]
        return found

    @cached_property
    def names_by_id(self) -> dict[str, str]:
        """Topic id → topic."""
        return {topic_id: topic for topic, topic_id in self.topic_ids.items()}

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic; zeros if unknown, as before 2.8."""
        return self.topic_ids.get(topic, NULL_UUID)

    @cached_property
    def settings(self) -> Settings:
        """The configuration of broker and topics by the cluster's metadata."""
        if self.cluster is None:
            return Settings.of({})
        own = self.cluster.configs.of_broker(self.node_id)
        known = {name: value for name, value in own.items() if name in BROKER_NAMES}
        return Settings.of(known).with_stored(self.cluster.configs.topics)

    @property
    def stored_cluster(self) -> StoredCluster:
        """The cluster by its metadata; an empty one without any."""
        return StoredCluster() if self.cluster is None else self.cluster

    @property
    def stored_configs(self) -> StoredConfigs:
        """The configurations that the cluster's metadata sets."""
        return self.stored_cluster.configs

    @property
    def static_configs(self) -> dict[str, str]:
        """Nothing: the broker's own file is not in the directories."""
        return {}

    @property
    def features(self) -> dict[str, int]:
        """Feature → its finalized level, by the cluster's metadata."""
        return {} if self.cluster is None else self.cluster.features

    @cached_property
    def metadata_offset(self) -> int:
        """The last offset of the cluster's metadata; -1 without any."""
        with suppress(OSError):
            metadata = self.listing.metadata_log
            return -1 if metadata is None else metadata.log_end_offset - 1
        return -1

    @cached_property
    def metadata_epoch(self) -> int:
        """The leader epoch of the cluster's metadata; 0 without any."""
        metadata = self.listing.metadata_log
        epochs = None if metadata is None else metadata.leader_epochs
        latest = None if epochs is None else epochs.latest
        return 0 if latest is None else latest.epoch

    @property
    def directories(self) -> list[str]:
        """Paths of the log directories."""
        return list(dict.fromkeys(root.log_directory for root in self._whole.roots))
