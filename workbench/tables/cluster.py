"""What a KRaft cluster's metadata says: topics, configurations, ACLs, quotas, nodes, changes."""

from typing import Annotated, NamedTuple

from workbench.tables.columns import Int16, Int32, PartitionNumber, Time, Topic, TopicId

LeaderEpoch = Annotated[Int32, "the leader's epoch"]
Incarnation = Annotated[str, "id of the process that registered"]
Endpoints = Annotated[list[str], "where it listens, as PLAINTEXT://host:9092"]
Entity = Annotated[str | None, "its name, <default> for all others; null: of no such entity"]


class TopicRow(NamedTuple):
    """A topic of the cluster: one row per topic that exists."""

    topic: Topic
    topic_id: TopicId
    partitions: Annotated[Int32, "how many partitions it has"]
    replication_factor: Annotated[Int32, "of the partition with the most replicas"]
    under_replicated: Annotated[Int32, "partitions with replicas that are not in sync"]
    leaderless: Annotated[Int32, "partitions without a leader, which no client can use"]
    configs: Annotated[Int32, "how many configurations of its own it has"]


class TopicPartitionRow(NamedTuple):
    """A partition as the controller last wrote it: its leader and in-sync replicas."""

    topic: Topic
    partition: PartitionNumber
    topic_id: TopicId
    leader: Annotated[Int32 | None, "id of the leader; null: none"]
    leader_epoch: LeaderEpoch
    partition_epoch: Annotated[Int32, "how often the partition changed"]
    replicas: Annotated[list[Int32], "ids of the brokers, in order of preference"]
    isr: Annotated[list[Int32], "ids of the in-sync replicas"]
    elr: Annotated[list[Int32], "ids of the eligible leader replicas (KIP-966)"]
    last_known_elr: Annotated[list[Int32], "ids of the replicas that were last eligible"]
    adding_replicas: Annotated[list[Int32], "ids that a reassignment adds"]
    removing_replicas: Annotated[list[Int32], "ids that a reassignment removes"]
    is_recovering: Annotated[bool, "whether an uncleanly elected leader has not recovered yet"]
    directories: Annotated[list[str], "id of each replica's log directory; empty before 3.7"]


class ConfigRow(NamedTuple):
    """A dynamic configuration of the cluster: one row per name that is set."""

    resource_type: Annotated[str, "topic, broker, group or client-metrics"]
    resource: Annotated[str, "its name; <default> for all brokers"]
    name: Annotated[str, "the configuration's name"]
    value: Annotated[str, "as stored; [hidden] if a broker never shows it"]
    is_in_use: Annotated[bool, "false: its topic does not exist; a new one of the name gets it"]


class AclRow(NamedTuple):
    """An ACL: one row per entry, by Kafka's names."""

    resource_type: Annotated[str, "TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, …"]
    resource: Annotated[str, "the resource's name, or the prefix of the names"]
    pattern_type: Annotated[str, "LITERAL or PREFIXED"]
    principal: Annotated[str, "such as User:alice"]
    host: Annotated[str, "* for every host"]
    operation: Annotated[str, "READ, WRITE, ALL, …"]
    permission: Annotated[str, "ALLOW or DENY"]
    id: Annotated[str, "the entry's id in the metadata log"]


class QuotaRow(NamedTuple):
    """A client quota: one row per entity and quota."""

    user: Entity
    client_id: Entity
    ip: Entity
    name: Annotated[str, "producer_byte_rate, consumer_byte_rate, request_percentage, …"]
    value: Annotated[float, "bytes per second, percent, or as the quota counts"]


class ScramUserRow(NamedTuple):
    """A user that can log in by SCRAM: one row per user and mechanism, without keys and salts."""

    user: Annotated[str, "the user's name"]
    mechanism: Annotated[str, "SCRAM-SHA-256 or SCRAM-SHA-512"]
    iterations: Annotated[Int32, "how often the password is hashed"]


class FeatureRow(NamedTuple):
    """A finalized feature: one row per feature whose level is above 0."""

    feature: Annotated[str, "such as metadata.version"]
    level: Annotated[Int16, "the finalized level"]
    min_supported: Annotated[Int16 | None, "lowest level that every node supports; null: unknown"]
    max_supported: Annotated[Int16 | None, "highest level that every node supports; null: unknown"]
    kafka: Annotated[str | None, "of metadata.version: the version of Kafka that brought the level"]


class BrokerRow(NamedTuple):
    """A registered broker: one row per broker."""

    broker: Annotated[Int32, "the broker's id"]
    state: Annotated[str, "running, fenced, or shutting down"]
    is_fenced: Annotated[bool, "whether the controller keeps clients away from it"]
    in_controlled_shutdown: Annotated[bool, "whether it has begun to stop"]
    rack: Annotated[str | None, "its broker.rack"]
    endpoints: Endpoints
    leaders: Annotated[Int32, "partitions that it leads"]
    replicas: Annotated[Int32, "replicas that it has"]
    broker_epoch: Annotated[int, "the epoch of its registration"]
    incarnation_id: Incarnation
    log_dirs: Annotated[list[str], "ids of its log directories; empty before 3.7"]
    cordoned_log_dirs: Annotated[list[str], "ids of those that get no new replicas, since 4.3"]
    is_migrating_zk_broker: Annotated[bool, "whether it registered in a migration from ZooKeeper"]


class QuorumRow(NamedTuple):
    """A node of the quorum: one row per voter, and per controller that has registered."""

    node: Annotated[Int32, "the node's id"]
    is_voter: Annotated[bool | None, "null: no file names the voters"]
    is_leader: Annotated[bool | None, "whether it is the active controller; null: unknown"]
    leader_epoch: Annotated[Int32 | None, "the epoch of the quorum's leader; null: unknown"]
    directory_id: Annotated[str | None, "id of the voter's directory; null with static voters"]
    endpoints: Endpoints
    incarnation_id: Annotated[str | None, "null: it did not register, as before 3.7"]


class DelegationTokenRow(NamedTuple):
    """A delegation token: one row per token. Its secret is in no file."""

    token_id: Annotated[str, "the token's id"]
    owner: Annotated[str, "the principal that it stands for"]
    requester: Annotated[str, "the principal that asked for it"]
    renewers: Annotated[list[str], "the principals that can renew it"]
    issued: Annotated[Time, "when it was issued"]
    expires: Annotated[Time, "when it expires unless it is renewed"]
    max_time: Annotated[Time, "when it expires at the latest"]


class ClusterChangeRow(NamedTuple):
    """A change of the cluster's metadata: one row per changed field, in the order of the log."""

    offset: Annotated[int, "of the record in __cluster_metadata; of the snapshot's last if inexact"]
    timestamp: Annotated[Time | None, "when the controller wrote it"]
    kind: Annotated[str, "topic, partition, config, acl, quota, scram, feature, broker, …"]
    entity: Annotated[str, "what changed: a topic, a partition as orders-0, a broker's id, …"]
    field: Annotated[str | None, "the configuration's name or the field; null: the whole"]
    action: Annotated[str, "created, changed or removed"]
    before: Annotated[str | None, "the value before; null: none"]
    after: Annotated[str | None, "the value after; null: none"]
    is_exact: Annotated[bool, "false: it happened in records that are missing, before the offset"]
