"""Read configurations, topics and features of a cluster from `__cluster_metadata`.

A KRaft broker keeps a copy of the cluster's metadata log, by default in its first log directory,
with the dynamic configurations of topics and brokers. It does not have `server.properties`.

Kafka: ConfigurationsImage, TopicsImage, FeaturesImage (4.2)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.decoders.cluster_metadata import decode_value
from workbench.files import names
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.record.reading.reader import KEYS, VALUES

METADATA_LOG: Final = "__cluster_metadata-0"
EVERY_BROKER: Final = ""
"""The name for a configuration of all brokers."""

_TOPIC, _BROKER = 2, 4  # resource types

Configs = dict[str, dict[str, str]]


@dataclass(slots=True)
class StoredConfigs:
    """What was configured in a cluster, by Kafka's names.

    Attributes:
        topics: topic → its own configuration, empty for topics without one.
        brokers: id of a broker, or `EVERY_BROKER` → its dynamic configuration.
    """

    topics: Configs = field(default_factory=dict)
    brokers: Configs = field(default_factory=dict)

    def of_broker(self, node_id: int | None) -> dict[str, str]:
        """Return what was set for all brokers, and for this one."""
        own = self.brokers.get(str(node_id), {})
        return {**self.brokers.get(EVERY_BROKER, {}), **own}


@dataclass(slots=True)
class StoredCluster:
    """What a metadata log says about a cluster.

    Attributes:
        configs: the configurations of topics and brokers.
        topic_ids: name of each topic that exists → its id.
        partition_counts: name of each topic that exists → how many partitions it has.
        features: name → finalized level, such as ``metadata.version``.
    """

    configs: StoredConfigs = field(default_factory=StoredConfigs)
    topic_ids: dict[str, str] = field(default_factory=dict)
    partition_counts: dict[str, int] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)


def read_stored_configs(partition: Partition) -> StoredConfigs:
    """Return the configurations in a metadata log, as `read_stored_cluster` reads it.

    Raises:
        OSError: a file cannot be read.
    """
    return read_stored_cluster(partition).configs


def read_stored_cluster(partition: Partition) -> StoredCluster:
    """Read a metadata log: its newest snapshot, and the records after it.

    All records are used, even those that the quorum has perhaps not committed yet.

    Raises:
        OSError: a file cannot be read.

    Kafka: MetadataLoader, KafkaMetadataLog (4.2)
    """
    image = _Image()
    start = 0
    for entry in partition.metadata_snapshots[-1:]:
        name = names.parse_file_name(entry.name)
        start = 0 if name is None else name.offset
        image.take(_values(Segment(0, {"log": entry}, is_active=False), 0))
    for segment in partition.segments:
        image.take(_values(segment, start))
    return image.cluster


def _values(segment: Segment, start: int) -> Iterator[Any]:
    """Yield the decoded data records at or after an offset."""
    for chunk in segment.read(options=KEYS | VALUES, select=lambda rows: ~rows["is_control"]):
        columns = chunk.columns
        assert columns.values is not None
        for index, offset in enumerate(columns.offsets.tolist()):
            value = columns.values.item(index)
            if offset >= start and value is not None:  # a null value says nothing
                yield decode_value(None, value)


class _Image:
    """The state that results from the records."""

    def __init__(self) -> None:
        self.cluster = StoredCluster()
        self.configs = self.cluster.configs
        self._names: dict[str, str] = {}  # id of a topic → its name
        self._open: list[tuple[str, Mapping[str, Any]]] | None = None  # of a transaction

    def take(self, values: Iterable[Any]) -> None:
        """Apply records; those of a transaction when it ends."""
        for value in values:
            kind, data = str(value.get("type", "")), value.get("data", {})
            if kind == "BeginTransactionRecord":
                self._open = []
            elif kind == "AbortTransactionRecord":
                self._open = None
            elif kind == "EndTransactionRecord":
                for change in self._open or ():
                    self._apply(*change)
                self._open = None
            elif self._open is not None:
                self._open.append((kind, data))
            else:
                self._apply(kind, data)

    def _apply(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "TopicRecord":
            self._names[data["topicId"]] = data["name"]
            self.configs.topics[data["name"]] = {}
            self.cluster.topic_ids[data["name"]] = data["topicId"]
        elif kind == "PartitionRecord":
            name = self._names.get(data["topicId"])
            counts = self.cluster.partition_counts
            if name is not None:
                counts[name] = max(counts.get(name, 0), data["partitionId"] + 1)
        elif kind == "FeatureLevelRecord":
            self.cluster.features[data["name"]] = data["featureLevel"]
        elif kind == "RemoveTopicRecord":
            name = self._names.pop(data["topicId"], "")
            self.configs.topics.pop(name, None)
            self.cluster.topic_ids.pop(name, None)
            self.cluster.partition_counts.pop(name, None)
        elif kind == "ConfigRecord" and data["resourceType"] in {_TOPIC, _BROKER}:
            is_topic = data["resourceType"] == _TOPIC
            kept = self.configs.topics if is_topic else self.configs.brokers
            own = kept.setdefault(data["resourceName"], {})
            if data["value"] is None:
                own.pop(data["name"], None)
            else:
                own[data["name"]] = data["value"]
