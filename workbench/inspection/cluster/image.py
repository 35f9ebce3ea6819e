"""What a metadata log says of a cluster, as one value.

Secrets of the log (keys of SCRAM, passwords among configurations) are not in the tables that are
made of it; `StoredConfigs` alone has every configuration as it is stored.

Kafka: MetadataImage, TopicsImage, ConfigurationsImage, ClusterImage, AclsImage (4.2)
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

EVERY_BROKER: Final = ""
"""The name for a configuration of all brokers."""

DEFAULT_ENTITY: Final = "<default>"
"""The name of the default entity of a quota, as Kafka's tools print it."""

RESOURCE_TYPES: Final = {
    0: "UNKNOWN", 1: "ANY", 2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN", 7: "USER",
}  # fmt: skip
PATTERN_TYPES: Final = {0: "UNKNOWN", 1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED"}
OPERATIONS: Final = {
    0: "UNKNOWN", 1: "ANY", 2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER",
    8: "DESCRIBE", 9: "CLUSTER_ACTION", 10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS", 14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
}  # fmt: skip
PERMISSIONS: Final = {0: "UNKNOWN", 1: "ANY", 2: "DENY", 3: "ALLOW"}
METADATA_VERSION: Final = "metadata.version"
"""The feature whose level says which records the metadata log has."""
SCRAM_MECHANISMS: Final = {0: "UNKNOWN", 1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
SECURITY_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
CONFIG_TYPES: Final = {2: "topic", 4: "broker", 16: "client-metrics", 32: "group"}

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

    @property
    def by_type(self) -> dict[str, Configs]:
        """The configurations by the names of `CONFIG_TYPES`."""
        return {
            "topic": self.topics, "broker": self.brokers, "client-metrics": self.client_metrics,
            "group": self.groups,
        }  # fmt: skip


class PartitionRegistration(NamedTuple):
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
        partition_epoch: how often it changed.
        adding_replicas, removing_replicas: ids of a reassignment that has not ended.
        last_known_elr: ids of the replicas that were last eligible.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    leader: int
    leader_epoch: int
    is_recovering: bool
    unclean_leaders: int = 0
    directories: tuple[str, ...] = ()
    partition_epoch: int = -1
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


class Endpoint(NamedTuple):
    """Where a node listens: the listener's name, host, port and security protocol."""

    name: str
    host: str
    port: int
    security_protocol: str

    def __str__(self) -> str:
        """Return ``PLAINTEXT://host:9092``, as in `listeners`."""
        return f"{self.name}://{self.host}:{self.port}"


class BrokerRegistration(NamedTuple):
    """A broker, as it registered.

    Attributes:
        epoch: the broker epoch.
        incarnation_id: id of the process that registered.
        is_fenced: whether the controller keeps clients away from it.
        in_controlled_shutdown: whether it has begun to stop.
        is_migrating_zk_broker: whether it registered during a migration from ZooKeeper.
        rack: its `broker.rack`; None without one.
        endpoints: where it listens.
        features: name → lowest and highest level that it supports.
        log_dirs: ids of its log directories; empty before 3.7.
        cordoned_log_dirs: ids of those that get no new replicas, since 4.3.
    """

    epoch: int
    incarnation_id: str
    is_fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool
    rack: str | None
    endpoints: tuple[Endpoint, ...]
    features: dict[str, tuple[int, int]]
    log_dirs: tuple[str, ...]
    cordoned_log_dirs: tuple[str, ...]


class ControllerRegistration(NamedTuple):
    """A controller, as it registered; since 3.7. See `BrokerRegistration`."""

    incarnation_id: str
    zk_migration_ready: bool
    endpoints: tuple[Endpoint, ...]
    features: dict[str, tuple[int, int]]


class AclEntry(NamedTuple):
    """An ACL, by Kafka's names."""

    resource_type: str
    resource: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class DelegationToken(NamedTuple):
    """A delegation token without its secret, which the log does not hold either; times in ms."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    max_time: int


class QuorumLeader(NamedTuple):
    """The leader of the quorum, the active controller: its id, and its epoch; -1 if unknown."""

    node_id: int
    epoch: int


Quota = tuple[tuple[str, str | None], ...]
"""Type and name of each entity, sorted by type; a name of None is the default entity."""


@dataclass(slots=True)
class StoredCluster:
    """What a metadata log says about a cluster.

    Attributes:
        configs: the configurations of topics, brokers, groups and subscriptions to metrics.
        topic_ids: name of each topic that exists → its id.
        partition_counts: name of each topic that exists → how many partitions it has.
        partitions: (id of a topic, number of a partition) → its leader and in-sync replicas.
        features: name → finalized level, such as ``metadata.version``; without those of level 0.
        brokers: id → its registration.
        controllers: id → its registration, since 3.7.
        acls: id → the ACL.
        quotas: (entity, name of the quota) → its value.
        scram_users: (user, mechanism) → iterations; keys and salts are not kept.
        delegation_tokens: id → the token.
        next_producer_id: the first producer id that no broker has got yet.
        contradiction: the first record that does not fit those before it, which no node accepts;
            empty if all fit.
        voters: ids and directory ids of the quorum's voters; None where the log does not have them,
            as in a quorum with static voters.
        leader: the quorum's leader; None if no record of the log names it.
        kraft_version: `kraft.version`; 0 with static voters.
        zk_migration: the state of a migration from ZooKeeper, as `ZkMigrationState`; 0 for none.
    """

    configs: StoredConfigs = field(default_factory=StoredConfigs)
    topic_ids: dict[str, str] = field(default_factory=dict)
    partition_counts: dict[str, int] = field(default_factory=dict)
    partitions: dict[tuple[str, int], PartitionRegistration] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    controllers: dict[int, ControllerRegistration] = field(default_factory=dict)
    acls: dict[str, AclEntry] = field(default_factory=dict)
    quotas: dict[tuple[Quota, str], float] = field(default_factory=dict)
    scram_users: dict[tuple[str, str], int] = field(default_factory=dict)
    delegation_tokens: dict[str, DelegationToken] = field(default_factory=dict)
    next_producer_id: int = 0
    contradiction: str = ""
    voters: tuple[tuple[int, str], ...] | None = None
    leader: QuorumLeader | None = None
    kraft_version: int = 0
    zk_migration: int = 0

    @property
    def supported(self) -> dict[int, dict[str, int]]:
        """Id of a node → the highest level of each feature that it last registered with."""
        nodes = {node: each.features for node, each in self.controllers.items()}
        nodes |= {node: each.features for node, each in self.brokers.items()}
        return {
            node: {name: highest for name, (_, highest) in features.items()}
            for node, features in nodes.items()
        }

    @property
    def log_directories(self) -> dict[int, tuple[str, ...]]:
        """Id of a broker → the ids of its log directories, since 3.7."""
        return {node: each.log_dirs for node, each in self.brokers.items() if each.log_dirs}

    @property
    def topic_names(self) -> dict[str, str]:
        """Id of each topic → its name."""
        return {topic_id: name for name, topic_id in self.topic_ids.items()}

    @property
    def tables(self) -> dict[str, dict[Hashable, Any]]:
        """Everything that a record can change: kind → key → row, as `ClusterFold` reports it."""
        rows: dict[str, Any] = {
            "topic": self.topic_ids,
            "partition": self.partitions,
            "config": {
                (kind, resource, name): value
                for kind, configs in self.configs.by_type.items()
                for resource, own in configs.items()
                for name, value in own.items()
            },
            "feature": self.features,
            "broker": self.brokers,
            "controller": self.controllers,
            "acl": self.acls,
            "quota": self.quotas,
            "scram": self.scram_users,
            "token": self.delegation_tokens,
            "voters": {} if self.voters is None else {"": self.voters},
            "leader": {} if self.leader is None else {"": self.leader},
        }
        return rows
