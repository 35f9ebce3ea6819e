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
from workbench.inspection.listing import Listing
from workbench.inspection.partition import Partition
from workbench.inspection.segment import Segment
from workbench.record.reading.reader import KEYS, VALUES

EVERY_BROKER: Final = ""
"""The name for a configuration of all brokers."""

_TOPIC, _BROKER, _METRICS, _GROUP = 2, 4, 16, 32  # resource types
_NO_LEADER_CHANGE: Final = -2  # as leader of a PartitionChangeRecord
_OF_REGISTERED: Final = frozenset({
    "BrokerRegistrationChangeRecord", "FenceBrokerRecord", "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
})  # fmt: skip
"""Records about a broker that must be registered. Kafka: ClusterDelta.replay (4.2)"""
_RECOVERING: Final = 1  # as leaderRecoveryState

Configs = dict[str, dict[str, str]]


@dataclass(slots=True)
class StoredConfigs:
    """What was configured in a cluster, by Kafka's names.

    Attributes:
        topics: topic → its own configuration, empty for topics without one.
        brokers: id of a broker, or `EVERY_BROKER` → its dynamic configuration.
        groups: group → its configuration.
        client_metrics: name of a subscription to metrics of clients → its configuration.
    """

    topics: Configs = field(default_factory=dict)
    brokers: Configs = field(default_factory=dict)
    groups: Configs = field(default_factory=dict)
    client_metrics: Configs = field(default_factory=dict)

    def of_broker(self, node_id: int | None) -> dict[str, str]:
        """Return what was set for all brokers, and for this one."""
        own = self.brokers.get(str(node_id), {})
        return {**self.brokers.get(EVERY_BROKER, {}), **own}


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """The state of a partition, as the controller last wrote it.

    Attributes:
        replicas: ids of the brokers that it is assigned to, in order of preference.
        isr: ids of the in-sync replicas.
        elr: ids of the eligible leader replicas (KIP-966).
        leader: id of the leader; -1 for none.
        leader_epoch: epoch of the leader.
        is_recovering: whether the leader was elected uncleanly and has not recovered yet.
        unclean_leaders: how often a leader was elected that was not in sync, as far as the log goes
            back.
        directories: id of each replica's log directory, in the order of ``replicas``; empty before
            3.7.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    leader: int
    leader_epoch: int
    is_recovering: bool
    unclean_leaders: int = 0
    directories: tuple[str, ...] = ()


@dataclass(slots=True)
class StoredCluster:
    """What a metadata log says about a cluster.

    Attributes:
        configs: the configurations of topics and brokers.
        topic_ids: name of each topic that exists → its id.
        partition_counts: name of each topic that exists → how many partitions it has.
        partitions: (id of a topic, number of a partition) → its leader and in-sync replicas.
        features: name → finalized level, such as ``metadata.version``.
        supported: id of a node → the highest level of each feature that it last registered with.
        next_producer_id: the first producer id that no broker has got yet.
        log_directories: id of a broker → the ids of its log directories, since 3.7.
        contradiction: the first record that does not fit those before it, which no node accepts;
            empty if all fit.
        voters: ids and directory ids of the quorum's voters; None where the log does not have them,
            as in a quorum with static voters.
    """

    configs: StoredConfigs = field(default_factory=StoredConfigs)
    topic_ids: dict[str, str] = field(default_factory=dict)
    partition_counts: dict[str, int] = field(default_factory=dict)
    partitions: dict[tuple[str, int], StoredPartition] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    supported: dict[int, dict[str, int]] = field(default_factory=dict)
    next_producer_id: int = 0
    log_directories: dict[int, tuple[str, ...]] = field(default_factory=dict)
    contradiction: str = ""
    voters: tuple[tuple[int, str], ...] | None = None


def read_stored_configs(partition: Partition) -> StoredConfigs:
    """Return the configurations in a metadata log, as `read_stored_cluster` reads it.

    Raises:
        OSError: a file cannot be read.
    """
    return read_stored_cluster(partition).configs


def stored_cluster(listing: Listing) -> StoredCluster:
    """Return what the metadata log among opened directories says; nothing if there is none.

    Raises:
        OSError: a file cannot be read.
    """
    metadata = listing.metadata_log
    return StoredCluster() if metadata is None else read_stored_cluster(metadata)


def read_stored_cluster(partition: Partition, until: int | None = None) -> StoredCluster:
    """Read a metadata log: its newest snapshot, and the records after it.

    All records are used, even those that the quorum has perhaps not committed yet.

    Args:
        partition: the metadata log.
        until: the first offset that is not read; None reads to the end.

    Raises:
        OSError: a file cannot be read.

    Kafka: MetadataLoader, KafkaMetadataLog (4.2)
    """
    image = _Image()
    start = 0
    for entry in partition.metadata_snapshots[-1:]:
        name = names.parse_file_name(entry.name)
        start = 0 if name is None else name.offset
        image.take(_values(Segment(0, {"log": entry}, is_active=False), 0, names.MAX_OFFSET))
    end = names.MAX_OFFSET if until is None else until
    for segment in partition.segments:
        if segment.base_offset < end:
            image.take(_values(segment, start, end))
    return image.cluster


def _values(segment: Segment, start: int, end: int) -> Iterator[Any]:
    """Yield the decoded records of [start, end): control records by name, too."""
    for chunk in segment.read(options=KEYS | VALUES):
        columns = chunk.columns
        assert columns.keys is not None
        assert columns.values is not None
        for index, offset in enumerate(columns.offsets.tolist()):
            value = columns.values.item(index)
            if start <= offset < end and value is not None:  # a null value says nothing
                yield decode_value(columns.keys.item(index), value)


class _Image:
    """The state that results from the records."""

    def __init__(self) -> None:
        self.cluster = StoredCluster()
        self.configs = self.cluster.configs
        self._configs = {
            _TOPIC: self.configs.topics,
            _BROKER: self.configs.brokers,
            _METRICS: self.configs.client_metrics,
            _GROUP: self.configs.groups,
        }
        self._names: dict[str, str] = {}  # id of a topic → its name
        self._brokers: set[int] = set()
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
        elif kind in {"PartitionRecord", "PartitionChangeRecord"}:
            self._register(kind, data)
        elif kind == "ProducerIdsRecord":
            self.cluster.next_producer_id = data["nextProducerId"]
        elif kind == "FeatureLevelRecord":
            self.cluster.features[data["name"]] = data["featureLevel"]
        elif kind == "RemoveTopicRecord":
            if data["topicId"] not in self._names:
                self._contradict(f"{kind} of topic id {data['topicId']}, unknown")
            name = self._names.pop(data["topicId"], "")
            for key in [key for key in self.cluster.partitions if key[0] == data["topicId"]]:
                del self.cluster.partitions[key]
            self.configs.topics.pop(name, None)
            self.cluster.topic_ids.pop(name, None)
            self.cluster.partition_counts.pop(name, None)
        elif kind == "ConfigRecord" and data["resourceType"] in self._configs:
            own = self._configs[data["resourceType"]].setdefault(data["resourceName"], {})
            if data["value"] is None:
                own.pop(data["name"], None)
            else:
                own[data["name"]] = data["value"]
        else:
            self._apply_to_node(kind, data)

    def _apply_to_node(self, kind: str, data: Mapping[str, Any]) -> None:
        """Apply a record about one node, or about the voters."""
        cluster = self.cluster
        if kind in {"RegisterBrokerRecord", "RegisterControllerRecord"}:
            node = data["brokerId" if kind == "RegisterBrokerRecord" else "controllerId"]
            cluster.supported[node] = {
                each["name"]: each["maxSupportedVersion"] for each in data["features"]
            }
        if kind == "RegisterBrokerRecord":
            self._brokers.add(data["brokerId"])
        elif kind in _OF_REGISTERED and data.get("brokerId", data.get("id")) not in self._brokers:
            self._contradict(f"{kind} of node {data.get('brokerId', data.get('id'))}, unregistered")
        if kind in {"RegisterBrokerRecord", "BrokerRegistrationChangeRecord"}:
            directories = tuple(data.get("logDirs") or ())
            if directories:
                cluster.log_directories[data["brokerId"]] = directories
        elif kind == "UnregisterBrokerRecord":
            cluster.log_directories.pop(data["brokerId"], None)
            self._brokers.discard(data["brokerId"])
        elif kind == "kraft_voters":
            voters = data.get("voters", ())
            cluster.voters = tuple((v["voterId"], v["voterDirectoryId"]) for v in voters)

    def _contradict(self, found: str) -> None:
        self.cluster.contradiction = self.cluster.contradiction or found

    def _register(self, kind: str, data: Mapping[str, Any]) -> None:
        """Apply a record about one partition."""
        key = data["topicId"], data["partitionId"]
        partitions = self.cluster.partitions
        if data["topicId"] not in self._names:
            self._contradict(f"{kind} of topic id {data['topicId']}, unknown")
        if kind == "PartitionChangeRecord":
            if key in partitions:
                partitions[key] = _changed(partitions[key], data)
            return
        partitions[key] = _created(data)
        name = self._names.get(data["topicId"])
        counts = self.cluster.partition_counts
        if name is not None:
            counts[name] = max(counts.get(name, 0), data["partitionId"] + 1)


def _created(data: Mapping[str, Any]) -> StoredPartition:
    """Return the state that a PartitionRecord gives.

    Kafka: PartitionRegistration (4.2)
    """
    return StoredPartition(
        replicas=tuple(data.get("replicas") or ()),
        isr=tuple(data.get("isr") or ()),
        elr=tuple(data.get("eligibleLeaderReplicas") or ()),
        leader=data.get("leader", -1),
        leader_epoch=data.get("leaderEpoch", -1),
        is_recovering=data.get("leaderRecoveryState") == _RECOVERING,
        directories=tuple(data.get("directories") or ()),
    )


def _changed(before: StoredPartition, data: Mapping[str, Any]) -> StoredPartition:
    """Return the state after a PartitionChangeRecord, in which what does not change is left out.

    Kafka: PartitionRegistration.merge (4.2)
    """

    def changed(name: str, old: tuple[Any, ...]) -> tuple[Any, ...]:
        new = data.get(name)
        return old if new is None else tuple(new)

    leader = data.get("leader", _NO_LEADER_CHANGE)
    has_new = leader != _NO_LEADER_CHANGE
    recovery = data.get("leaderRecoveryState", -1)
    is_unclean = has_new and leader >= 0 and leader not in {*before.isr, *before.elr}
    return StoredPartition(
        replicas=changed("replicas", before.replicas),
        isr=changed("isr", before.isr),
        elr=changed("eligibleLeaderReplicas", before.elr),
        leader=leader if has_new else before.leader,
        leader_epoch=before.leader_epoch + has_new,
        is_recovering=before.is_recovering if recovery < 0 else recovery == _RECOVERING,
        unclean_leaders=before.unclean_leaders + is_unclean,
        directories=changed("directories", before.directories),
    )
