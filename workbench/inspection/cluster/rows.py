"""The rows of the tables about a cluster, of a state and of changes; secrets are left out.

Kafka: TopicDescription, ConfigEntry, AclBinding, ClientQuotaEntity, DescribeQuorumResponse (4.2)
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from workbench.config.server_configs import is_sensitive
from workbench.inspection.broker_version import series_of_metadata_version
from workbench.inspection.cluster.history import ClusterHistory, RowChange
from workbench.inspection.cluster.image import (
    DEFAULT_ENTITY,
    EVERY_BROKER,
    METADATA_VERSION,
    Endpoint,
    PartitionRegistration,
    Quota,
    StoredCluster,
)
from workbench.tables.cluster import (
    AclRow,
    BrokerRow,
    ClusterChangeRow,
    ConfigRow,
    DelegationTokenRow,
    FeatureRow,
    QuorumRow,
    QuotaRow,
    ScramUserRow,
    TopicPartitionRow,
    TopicRow,
)

_COUNTS: Final = frozenset({"unclean_leaders", "partition_epoch"})  # of other changes
HIDDEN: Final = "[hidden]"
"""A secret, as Kafka's tools print it."""


def topic_rows(cluster: StoredCluster) -> Iterator[TopicRow]:
    """Yield the topics, by name."""
    by_id: dict[str, list[PartitionRegistration]] = {}
    for (topic_id, _), partition in cluster.partitions.items():
        by_id.setdefault(topic_id, []).append(partition)
    for topic, topic_id in sorted(cluster.topic_ids.items()):
        own = by_id.get(topic_id, [])
        yield TopicRow(
            topic, topic_id, len(own),
            max((len(each.replicas) for each in own), default=0),
            sum(len(each.isr) < len(each.replicas) for each in own),
            sum(each.leader < 0 for each in own),
            len(cluster.configs.topics.get(topic, {})),
        )  # fmt: skip


def partition_rows(cluster: StoredCluster) -> Iterator[TopicPartitionRow]:
    """Yield the partitions of the topics, by topic and number."""
    names = cluster.topic_names
    named = sorted((names[key[0]], key[1], key) for key in cluster.partitions if key[0] in names)
    for topic, number, key in named:
        each = cluster.partitions[key]
        yield TopicPartitionRow(
            topic, number, key[0], None if each.leader < 0 else each.leader, each.leader_epoch,
            each.partition_epoch, list(each.replicas), list(each.isr), list(each.elr),
            list(each.last_known_elr), list(each.adding_replicas), list(each.removing_replicas),
            each.is_recovering, list(each.directories),
        )  # fmt: skip


def config_rows(cluster: StoredCluster) -> Iterator[ConfigRow]:
    """Yield the dynamic configurations, by resource and name."""
    for kind, configs in cluster.configs.by_type.items():
        for resource, own in sorted(configs.items()):
            is_in_use = kind != "topic" or resource in cluster.topic_ids
            for name, value in sorted(own.items()):
                shown = _shown(kind, name, value)
                yield ConfigRow(kind, _resource(kind, resource), name, shown, is_in_use)


def acl_rows(cluster: StoredCluster) -> Iterator[AclRow]:
    """Yield the ACLs, by their columns."""
    yield from sorted(AclRow(*entry, id=key) for key, entry in cluster.acls.items())


def quota_rows(cluster: StoredCluster) -> Iterator[QuotaRow]:
    """Yield the quotas, by entity and name."""
    for (entity, name), value in sorted(cluster.quotas.items(), key=lambda each: repr(each[0])):
        named = {kind: DEFAULT_ENTITY if who is None else who for kind, who in entity}
        yield QuotaRow(named.get("user"), named.get("client-id"), named.get("ip"), name, value)


def scram_rows(cluster: StoredCluster) -> Iterator[ScramUserRow]:
    """Yield the users of SCRAM, by name and mechanism."""
    for (user, mechanism), iterations in sorted(cluster.scram_users.items()):
        yield ScramUserRow(user, mechanism, iterations)


def feature_rows(cluster: StoredCluster) -> Iterator[FeatureRow]:
    """Yield the finalized features, by name."""
    nodes = [each.features for each in cluster.brokers.values()]
    nodes += [each.features for each in cluster.controllers.values()]
    for feature, level in sorted(cluster.features.items()):
        ranges = [each[feature] for each in nodes if feature in each]
        lowest = max((low for low, _ in ranges), default=None)
        highest = min((high for _, high in ranges), default=None)
        kafka = series_of_metadata_version(level) if feature == METADATA_VERSION else None
        yield FeatureRow(feature, level, lowest, highest, kafka)


def broker_rows(cluster: StoredCluster) -> Iterator[BrokerRow]:
    """Yield the registered brokers, by id."""
    leaders = Counter(each.leader for each in cluster.partitions.values())
    replicas = Counter(node for each in cluster.partitions.values() for node in each.replicas)
    for node, each in sorted(cluster.brokers.items()):
        stopping = "shutting down" if each.in_controlled_shutdown else "running"
        yield BrokerRow(
            node, "fenced" if each.is_fenced else stopping, each.is_fenced,
            each.in_controlled_shutdown, each.rack, _texts(each.endpoints), leaders[node],
            replicas[node], each.epoch, each.incarnation_id, list(each.log_dirs),
            list(each.cordoned_log_dirs), each.is_migrating_zk_broker,
        )  # fmt: skip


def quorum_rows(
    cluster: StoredCluster, static_voters: tuple[int, ...] | None = None
) -> Iterator[QuorumRow]:
    """Yield the voters of the quorum and the registered controllers, by id.

    Args:
        cluster: the state.
        static_voters: ids that `quorum-state` names; None if it names none.
    """
    leader = cluster.leader
    directories = dict(cluster.voters or ())
    known = cluster.voters is not None or static_voters is not None
    voters = set(directories) if cluster.voters is not None else set(static_voters or ())
    for node in sorted({*voters, *cluster.controllers}):
        registered = cluster.controllers.get(node)
        yield QuorumRow(
            node, node in voters if known else None,
            None if leader is None else leader.node_id == node,
            None if leader is None else leader.epoch,
            directories.get(node), _texts(registered.endpoints if registered else ()),
            registered.incarnation_id if registered else None,
        )  # fmt: skip


def token_rows(cluster: StoredCluster) -> Iterator[DelegationTokenRow]:
    """Yield the delegation tokens, by id."""
    for token_id, token in sorted(cluster.delegation_tokens.items()):
        yield DelegationTokenRow(
            token_id, token.owner, token.requester, list(token.renewers), token.issued,
            token.expires, token.max_time,
        )  # fmt: skip


def changes_of(history: ClusterHistory) -> Iterator[ClusterChangeRow]:
    """Yield the changes of a history; topics have the names that they have or had."""
    names = history.cluster.topic_names
    for change in history:
        if change.kind == "topic":
            names |= {each: str(change.key) for each in (change.before, change.after) if each}
        yield from change_rows(change, names)


def change_rows(change: RowChange, topic_names: Mapping[str, str]) -> Iterator[ClusterChangeRow]:
    """Yield one row per field that a change touches.

    Args:
        change: a change.
        topic_names: id → name of the topics that were seen so far.
    """
    kind, before, after = change.kind, change.before, change.after
    entity, field = _entity(change, topic_names)
    action = "created" if before is None else "removed" if after is None else "changed"

    def row(field: str | None, old: str | None, new: str | None) -> ClusterChangeRow:
        return ClusterChangeRow(
            change.offset, change.timestamp, kind, entity, field, action, old, new, change.is_exact
        )

    if action == "changed" and hasattr(before, "_fields"):
        for name, old, new in zip(before._fields, before, after, strict=True):
            if old != new and name not in _COUNTS:
                yield row(name, _text(old), _text(new))
    else:
        old, new = (None if each is None else _whole(change, each) for each in (before, after))
        yield row(field, old, new)


def _entity(change: RowChange, topic_names: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the entity and the field that a change is about."""
    kind, key = change.kind, change.key
    if kind in {"voters", "leader"}:
        return "quorum", kind
    if kind == "acl":
        entry = change.before or change.after
        return f"{entry.resource_type} {entry.resource} ({entry.pattern_type})", None
    if isinstance(key, tuple):
        if kind == "partition":
            return f"{topic_names.get(key[0], key[0])}-{key[1]}", None
        if kind == "config":
            return f"{key[0]} {_resource(key[0], key[1])}", key[2]
        if kind == "quota":
            return _quota_text(key[0]), key[1]
        return key[0], key[1]  # of SCRAM
    return str(key), {"topic": "topic_id", "feature": "level"}.get(kind)


def _whole(change: RowChange, value: Any) -> str:
    """Return a row as text; what is secret is hidden."""
    if change.kind == "config":
        assert isinstance(change.key, tuple)
        return _shown(change.key[0], change.key[2], value)
    if change.kind == "acl":
        return f"{value.permission} {value.operation} to {value.principal} from {value.host}"
    if change.kind == "scram":
        return f"{value} iterations"
    return _text(value)


def _quota_text(entity: Quota) -> str:
    parts = (f"{kind}={DEFAULT_ENTITY if name is None else name}" for kind, name in entity)
    return ", ".join(parts)


def _resource(kind: str, resource: str) -> str:
    return DEFAULT_ENTITY if kind == "broker" and resource == EVERY_BROKER else resource


def _shown(kind: str, name: str, value: str) -> str:
    return HIDDEN if kind == "broker" and is_sensitive(name) else value


def _texts(endpoints: tuple[Endpoint, ...]) -> list[str]:
    return [str(each) for each in endpoints]


def _text(value: Any) -> str:
    """Return a field's value as text: ``[1, 2]``, ``isr=[1], leader=1``."""
    if isinstance(value, str | Endpoint):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "_fields"):
        named = zip(value._fields, value, strict=True)
        return ", ".join(
            f"{name}={_text(each)}"
            for name, each in named
            if each not in (None, (), False) and name not in _COUNTS
        )
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(each)}" for name, each in sorted(value.items()))
    return "none" if value is None else str(value)
