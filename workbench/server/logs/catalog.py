"""The topics of a listing as a broker's metadata would name them.

Kafka: MetadataCache, KRaftMetadataCache (4.2)
"""

import re
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from typing import Final

from workbench.config.broker_config import BROKER_NAMES
from workbench.config.internal_topics import HIDDEN_TOPICS, METADATA_TOPIC
from workbench.config.settings import Settings
from workbench.files.names import TopicPartition
from workbench.inspection.listing import Listing, Root
from workbench.inspection.stored_configs import METADATA_LOG, StoredCluster, read_stored_cluster
from workbench.record.message_schema import NULL_UUID
from workbench.server.logs.served_log import ServedLog, Tell

DEFAULT_NODE: Final = 1
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Catalog:
    """The partitions in use of a listing, by topic.

    Args:
        listing: the directories.
        tell: receives what cannot be read.
        topics: the only topics to serve; None: all.

    Attributes:
        listing: the directories.
        topics: name → partition number → the log, both sorted.
        left_out: names of partition directories that no client could name, and of those that are in
            two log directories.
        node_id: the broker's id by `meta.properties`, or 1.
        cluster_id: by `meta.properties`; None: unknown.
    """

    def __init__(self, listing: Listing, tell: Tell, topics: Collection[str] | None = None) -> None:
        self.listing = listing
        self.topics: dict[str, dict[int, ServedLog]] = {}
        self.left_out: list[str] = []
        for partition in listing.partitions.values():
            if partition.kind != "log" or partition.topic == METADATA_TOPIC:
                continue
            if topics is not None and partition.topic not in topics:
                continue
            logs = self.topics.setdefault(partition.topic, {})
            if _LEGAL.fullmatch(partition.topic) is None or partition.partition in logs:
                self.left_out.append(partition.name)
            else:
                logs[partition.partition] = ServedLog(partition, tell)
        self.topics = {topic: logs for topic, logs in self.topics.items() if logs}
        owner = self._owner()
        self.node_id = DEFAULT_NODE if owner[0] is None else owner[0]
        self.cluster_id = owner[1]

    def _owner(self) -> tuple[int | None, str | None]:
        for root in self.listing.roots:
            with suppress(OSError):
                found = root.meta_properties
                if found is not None:
                    return found.node_id, found.cluster_id
        return None, None

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
        metadata = self.listing.partitions.get(METADATA_LOG)
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

    def root_of(self, log: ServedLog) -> Root:
        """Return the log directory that holds a log."""
        roots = self.listing.roots
        path = log.partition.root
        return next((root for root in roots if root.path == path), roots[0])
