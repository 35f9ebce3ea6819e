"""The topics of a server that may write: made, enlarged, configured and deleted.

Logs are the engine's. In a directory of KRaft, topics and configurations are also written to the
cluster's metadata; one of ZooKeeper's time keeps only the logs, as the rest was in ZooKeeper.

Kafka: ReplicationControlManager, ConfigurationControlManager, KRaftMetadataCache (4.2)
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

from workbench.config.broker_rules import MODELED_RULES
from workbench.config.internal_topics import HIDDEN_TOPICS, INTERNAL_TOPICS, METADATA_TOPIC
from workbench.config.log_config import refused_value
from workbench.config.settings import Settings
from workbench.errors import ConfigError
from workbench.files import text
from workbench.files.names import TopicPartition
from workbench.inspection.cluster.image import StoredCluster, StoredConfigs
from workbench.log_manager.manager import LogManager
from workbench.record.message_schema import NULL_UUID
from workbench.runtime.error_codes import ErrorCode
from workbench.server.broker.live_log import LiveLog
from workbench.server.broker.metadata_log import MetadataLog, MetadataRecord
from workbench.server.logs.catalog import require_topic_name
from workbench.server.logs.served_log import Tell

_TOPIC: Final = 2  # resource type
MOST_PARTITIONS: Final = 10_000  # that one request makes; Kafka: MAX_PARTITIONS_PER_BATCH


@dataclass(slots=True)
class LedTopic:
    """A topic.

    Attributes:
        topic_id: in Kafka's text; zeros before 2.8.
        logs: partition number → its log, ascending.
        configs: its own configuration.
    """

    topic_id: str
    logs: dict[int, LiveLog] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)


class Topics:
    """The topics of one server; any thread may read them.

    Only the controller's thread changes them, one change after the other. Each may take seconds,
    and a coordinator that begins to lead a topic would make logs again that another had deleted.

    Args:
        manager: the started log manager.
        settings: the configuration of the broker, and what is given for topics.
        cluster: the cluster's metadata at the start; None: without KRaft.
        metadata: where changes are written; None: nowhere.
        tell: called with a sentence whenever a response differs from the stored bytes.
        watch: called for each new log.
        static_configs: what the broker was started with.

    Attributes:
        node_id: the broker's id.
        cluster_id: the cluster's id.
        static_configs: the same.
        names_by_id: topic id → topic.
    """

    def __init__(
        self,
        manager: LogManager,
        settings: Settings,
        cluster: StoredCluster | None,
        metadata: MetadataLog | None,
        tell: Tell,
        watch: Callable[[TopicPartition], None],
        *,
        static_configs: Mapping[str, str],
    ) -> None:
        self._manager = manager
        self._settings = settings
        self._cluster = cluster or StoredCluster()
        self._metadata = metadata
        self._tell = tell
        self._watch = watch
        self.static_configs = static_configs
        self._lock = threading.Lock()  # of what clients see, for a moment
        self.node_id = 1 if manager.identity.node_id is None else manager.identity.node_id
        self.cluster_id = manager.identity.cluster_id
        self._topics: dict[str, LedTopic] = {}
        self._load()
        self.names_by_id = {topic.topic_id: name for name, topic in self._topics.items()}

    def _load(self) -> None:
        stored = self._cluster.topic_ids
        for where, log in sorted(self._manager.logs.items()):
            topic_id = stored.get(where.topic) or _text(log.topic_id)
            topic = self._topics.setdefault(where.topic, LedTopic(topic_id))
            topic.logs[where.partition] = self._live(where, topic_id)
            topic.configs = dict(self._cluster.configs.topics.get(where.topic, {}))
        for name, count in self._cluster.partition_counts.items():
            self._make_missing(name, count)

    def _make_missing(self, name: str, count: int) -> None:
        """Make the logs that are this broker's by the metadata, as after a crash at creation."""
        topic_id = self._cluster.topic_ids[name]
        for number in range(count):
            stored = self._cluster.partitions.get((topic_id, number))
            is_ours = stored is not None and self.node_id in stored.replicas
            topic = self._topics.get(name)
            if is_ours and (topic is None or number not in topic.logs):
                topic = self._topics.setdefault(name, LedTopic(topic_id))
                topic.logs[number] = self._make_log(TopicPartition(name, number), topic)
                topic.configs = dict(self._cluster.configs.topics.get(name, {}))

    def _live(self, where: TopicPartition, topic_id: str) -> LiveLog:
        log = self._manager.get_log(where)
        assert log is not None
        self._watch(where)
        stored = self._cluster.partitions.get((topic_id, where.partition))
        known = -1 if stored is None else stored.leader_epoch
        epoch = max(known, log.leader_epochs.latest_epoch or 0)
        log.leader_epochs.assign(epoch, log.log_end_offset)
        return LiveLog(log, epoch, self._tell)

    # what clients see

    @property
    def topics(self) -> dict[str, Mapping[int, LiveLog]]:
        """Name → partition number → its log, both ascending."""
        with self._lock:
            return {name: dict(self._topics[name].logs) for name in sorted(self._topics)}

    @property
    def topic_count(self) -> int:
        """How many topics there are."""
        return len(self._topics)

    def logs_of(self, topic: str) -> dict[int, LiveLog] | None:
        """Return partition number → its log, ascending; None if there is no such topic."""
        found = self._topics.get(topic)
        return None if found is None else dict(found.logs)

    def log(self, topic: str, partition: int) -> LiveLog | None:
        """Return the log of a partition; None if there is none."""
        found = self._topics.get(topic)
        live = None if found is None else found.logs.get(partition)
        if live is None or self._manager.get_log(TopicPartition(topic, partition)) is None:
            return None  # unknown, or its log directory has failed
        return live

    def has(self, where: TopicPartition) -> bool:
        """Return whether there is a partition."""
        return self.log(where.topic, where.partition) is not None

    def is_internal(self, topic: str) -> bool:
        """Return whether brokers make a topic for themselves."""
        return topic in HIDDEN_TOPICS

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic; zeros if it has none."""
        found = self._topics.get(topic)
        return NULL_UUID if found is None else found.topic_id

    @property
    def settings(self) -> Settings:
        """The configuration of broker and topics."""
        with self._lock:
            own = {name: topic.configs for name, topic in self._topics.items()}
        return self._settings.with_stored(own)

    @property
    def stored_cluster(self) -> StoredCluster:
        """The cluster by its metadata when the server started; an empty one without any."""
        return self._cluster

    @property
    def stored_configs(self) -> StoredConfigs:
        """The configurations that the cluster's metadata set at the start."""
        return self._cluster.configs

    @property
    def features(self) -> dict[str, int]:
        """Feature → its finalized level, by the cluster's metadata."""
        return self._cluster.features

    @property
    def metadata_offset(self) -> int:
        """The last offset of the cluster's metadata; -1 without any."""
        return -1 if self._metadata is None else self._metadata.last_offset

    @property
    def metadata_epoch(self) -> int:
        """The leader epoch of the cluster's metadata; 0 without any."""
        return 0 if self._metadata is None else self._metadata.leader_epoch

    @property
    def directories(self) -> list[str]:
        """Paths of the log directories."""
        return self._manager.live_directories

    # changes

    def create(
        self,
        name: str,
        partitions: int = -1,
        configs: Mapping[str, str | None] | None = None,
        *,
        validate_only: bool = False,
    ) -> LedTopic:
        """Create a topic.

        Args:
            name: its name.
            partitions: how many; -1: `num.partitions`.
            configs: its own configuration.
            validate_only: whether only to check.

        Returns:
            The topic; without logs if only checked.

        Raises:
            CoordinatorError: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS,
                INVALID_CONFIG.

        Kafka: ReplicationControlManager.createTopic (4.2)
        """
        own = {key: value for key, value in (configs or {}).items() if value is not None}
        count = self._manager.config.num_partitions if partitions == -1 else partitions
        self._check_name(name)
        if not 0 < count <= MOST_PARTITIONS:
            raise ErrorCode.INVALID_PARTITIONS.error(
                f"Number of partitions was set to {partitions} (expected 1 to {MOST_PARTITIONS})."
            )
        self._check_configs(own)
        topic = LedTopic(text.format_uuid(uuid4()) if self._has_ids else NULL_UUID, configs=own)
        if validate_only:
            return topic
        homes = self._homes(count)
        records: list[MetadataRecord] = [
            ("TopicRecord", {"name": name, "topicId": topic.topic_id}),
            *_config_records(name, own),
            *self._partition_records(topic, 0, homes),
        ]
        self._write(records)
        self._manager.update_topic_config(name, {**INTERNAL_TOPICS.get(name, {}), **own})
        topic.logs = self._make_logs(name, topic, 0, homes)
        with self._lock:
            self._topics[name] = topic
            self.names_by_id[topic.topic_id] = name
        return topic

    def _check_name(self, name: str) -> None:
        """Kafka: Topic.validate, ReplicationControlManager.validateNewTopicNames (4.2)."""
        require_topic_name(name)
        if name == METADATA_TOPIC:
            raise ErrorCode.INVALID_TOPIC_EXCEPTION.error(f"Topic name is reserved: {name}")
        if name in self._topics:
            raise ErrorCode.TOPIC_ALREADY_EXISTS.error(f"Topic '{name}' already exists.")
        plain = name.replace(".", "_")
        for other in self._topics:
            if other.replace(".", "_") == plain:
                raise ErrorCode.INVALID_TOPIC_EXCEPTION.error(
                    f"Topic '{name}' collides with existing topic: {other}"
                )

    def _check_configs(self, own: Mapping[str, str]) -> None:
        """Kafka: LogConfig.validate (4.2)."""
        invalid = ErrorCode.INVALID_CONFIG
        for name, value in own.items():
            problem = refused_value(name, value, MODELED_RULES)
            if problem:
                raise invalid.error(problem)
        try:
            config = self._settings.broker.topic_defaults().with_(own)
        except ConfigError as error:
            raise invalid.error(str(error)) from None
        if config.remote_storage_enable:
            raise invalid.error(
                "Tiered Storage functionality is disabled in the broker. Topic cannot be "
                "configured with remote log storage."
            )

    @property
    def _has_ids(self) -> bool:
        return self._metadata is not None or self._manager.identity.is_kraft

    def _homes(self, count: int) -> list[str]:
        """Return the log directory of each new partition: always the one with the fewest logs."""
        loads = dict.fromkeys(self._manager.live_directories, 0)
        for log in self._manager.logs.values():
            loads[log.parent_directory] += 1
        homes = []
        for _ in range(count):
            home = min(loads, key=lambda path: loads[path])
            loads[home] += 1
            homes.append(home)
        return homes

    def _partition_records(
        self, topic: LedTopic, first: int, homes: Iterable[str]
    ) -> list[MetadataRecord]:
        ids = self._manager.identity.directory_ids
        node = [self.node_id]
        return [
            (
                "PartitionRecord",
                {
                    "partitionId": number,
                    "topicId": topic.topic_id,
                    "replicas": node,
                    "isr": node,
                    "leader": self.node_id,
                    "leaderEpoch": 0,
                    "partitionEpoch": 0,
                    "directories": [text.format_uuid(ids[home])] if home in ids else [NULL_UUID],
                },
            )
            for number, home in enumerate(homes, first)
        ]

    def _make_logs(
        self, name: str, topic: LedTopic, first: int, homes: Iterable[str]
    ) -> dict[int, LiveLog]:
        return {
            number: self._make_log(TopicPartition(name, number), topic, home)
            for number, home in enumerate(homes, first)
        }

    def _make_log(self, where: TopicPartition, topic: LedTopic, home: str | None = None) -> LiveLog:
        if home is not None:
            self._manager.prefer_directory(where, home)
        topic_id = None if topic.topic_id == NULL_UUID else text.parse_uuid(topic.topic_id)
        self._manager.get_or_create_log(where, topic_id=topic_id)
        return self._live(where, topic.topic_id)

    def _write(self, records: list[MetadataRecord]) -> None:
        if self._metadata is not None and records:
            self._metadata.append(records)

    def create_partitions(self, name: str, count: int, *, validate_only: bool = False) -> None:
        """Raise the number of a topic's partitions.

        Raises:
            CoordinatorError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS.

        Kafka: ReplicationControlManager.createPartitions (4.2)
        """
        topic = self._known(name)
        before = max(topic.logs, default=-1) + 1
        if count <= before:
            raise ErrorCode.INVALID_PARTITIONS.error(
                f"Topic currently has {before} partitions, "
                f"which is {'already' if count == before else 'higher than'} "
                f"the requested {count}."
            )
        if count - before > MOST_PARTITIONS:
            raise ErrorCode.INVALID_PARTITIONS.error(
                f"{count - before} new partitions (expected at most {MOST_PARTITIONS})"
            )
        if validate_only:
            return
        homes = self._homes(count - before)
        self._write(self._partition_records(topic, before, homes))
        made = self._make_logs(name, topic, before, homes)
        with self._lock:
            topic.logs = {**topic.logs, **made}

    def delete(self, name: str) -> list[TopicPartition]:
        """Delete a topic; return its partitions. Their folders are removed later.

        Raises:
            CoordinatorError: UNKNOWN_TOPIC_OR_PARTITION.

        Kafka: ReplicationControlManager.deleteTopic (4.2)
        """
        topic = self._known(name)
        if topic.topic_id in self._cluster.topic_ids.values() or self._metadata is not None:
            self._write([("RemoveTopicRecord", {"topicId": topic.topic_id})])
        with self._lock:
            del self._topics[name]
            self.names_by_id.pop(topic.topic_id, None)
        gone = [TopicPartition(name, number) for number in topic.logs]
        for where in gone:
            self._manager.async_delete(where)
        return gone

    def alter_configs(
        self, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False
    ) -> None:
        """Set a topic's own configurations; None removes one.

        Raises:
            CoordinatorError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG.

        Kafka: ConfigurationControlManager.incrementalAlterConfig (4.2)
        """
        topic = self._known(name)
        own = {**topic.configs, **changes}
        kept = {key: value for key, value in own.items() if value is not None}
        self._check_configs(kept)
        if validate_only:
            return
        self._write(_config_records(name, changes))
        topic.configs = kept
        self._manager.update_topic_config(name, {**INTERNAL_TOPICS.get(name, {}), **kept})

    def configs_of(self, name: str) -> dict[str, str]:
        """Return a topic's own configuration.

        Raises:
            CoordinatorError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        with self._lock:
            return dict(self._known(name).configs)

    def _known(self, name: str) -> LedTopic:
        found = self._topics.get(name)
        if found is None:
            raise ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.error(f"The topic '{name}' does not exist.")
        return found


def _config_records(name: str, configs: Mapping[str, str | None]) -> list[MetadataRecord]:
    return [
        (
            "ConfigRecord",
            {"resourceType": _TOPIC, "resourceName": name, "name": key, "value": value},
        )
        for key, value in configs.items()
    ]


def _text(topic_id: UUID | None) -> str:
    return NULL_UUID if topic_id is None else text.format_uuid(topic_id)
