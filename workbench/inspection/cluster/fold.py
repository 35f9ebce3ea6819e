"""Fold the records of a metadata log into the state of a cluster, as controllers and brokers do.

Kafka: MetadataDelta, TopicsDelta, ClusterDelta, AclsDelta, ScramDelta, ClientQuotasDelta,
DelegationTokenDelta, MetadataBatchLoader (4.2)
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, Final

from workbench.decoders.records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    SnapshotFooterRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    VotersRecord,
    ZkMigrationStateRecord,
)
from workbench.inspection.cluster.image import (
    CONFIG_TYPES,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    SCRAM_MECHANISMS,
    SECURITY_PROTOCOLS,
    AclEntry,
    BrokerRegistration,
    ControllerRegistration,
    DelegationToken,
    Endpoint,
    PartitionRegistration,
    QuorumLeader,
    StoredCluster,
)
from workbench.record.message_schema import NULL_UUID

_NO_LEADER_CHANGE: Final = -2  # as leader of a PartitionChangeRecord
_RECOVERING: Final = 1  # as leaderRecoveryState

Changed = Callable[[str, Hashable, Any, Any], None]
"""Receives the kind of `StoredCluster.tables`, the key, the row before and after; None: no row."""


def _name(names: Mapping[int, str], code: int) -> str:
    return names.get(code, f"unknown ({code})")


class ClusterFold:
    """The state that results from records.

    Args:
        changed: receives each change.

    Attributes:
        cluster: the state.
        rows: about how many rows the state has, those of an open transaction included.
        ends: how many snapshot footers there were.
        epoch: leader epoch of the batch that the next record is in; the caller sets it.
    """

    def __init__(self, changed: Changed | None = None) -> None:
        self.cluster = StoredCluster()
        self.rows = 0
        self.ends = 0
        self.changed = changed
        self._configs = {
            code: self.cluster.configs.by_type[name] for code, name in CONFIG_TYPES.items()
        }
        self._names: dict[str, str] = {}  # id of a topic → its name
        self._numbers: dict[str, set[int]] = {}  # id of a topic → its partitions
        self._open: list[tuple[str, Mapping[str, Any]]] | None = None  # of a transaction
        self.epoch = -1

    def take(self, value: Mapping[str, Any]) -> None:
        """Apply one record as `decode_value` returns it; that of a transaction when it ends.

        What could not be decoded, or has an unknown type, changes nothing.

        Kafka: MetadataBatchLoader.replay (4.2)
        """
        kind, data = str(value.get("type", "")), value.get("data")
        if not isinstance(data, dict):
            return
        if kind == "BeginTransactionRecord":
            self._open = []
        elif kind == "AbortTransactionRecord":
            self._open = None
        elif kind == "EndTransactionRecord":
            opened, self._open = self._open, None
            for change in opened or ():
                self._apply(*change)
        elif self._open is not None:
            self.rows += 1
            self._open.append((kind, data))
        else:
            self._apply(kind, data)

    def _apply(self, kind: str, data: Mapping[str, Any]) -> None:
        apply = self._APPLY.get(kind)
        if apply is not None:
            apply(self, data)

    def _set(self, kind: str, table: dict[Any, Any], key: Hashable, row: Any) -> None:
        """Set a row; None removes it."""
        before = table.get(key)
        if row is None:
            table.pop(key, None)
        else:
            table[key] = row
        self._tell(kind, key, before, row)

    def _tell(self, kind: str, key: Hashable, before: Any, after: Any) -> None:
        self.rows += (after is not None) - (before is not None)
        if self.changed is not None and before != after:
            self.changed(kind, key, before, after)

    def _contradict(self, found: str) -> None:
        self.cluster.contradiction = self.cluster.contradiction or found

    # topics and partitions

    def _topic(self, data: TopicRecord) -> None:
        name, topic_id = data["name"], data["topicId"]
        self._names[topic_id] = name
        self.cluster.configs.topics.setdefault(name, {})
        self._set("topic", self.cluster.topic_ids, name, topic_id)

    def _remove_topic(self, data: RemoveTopicRecord) -> None:
        topic_id = data["topicId"]
        name = self._names.pop(topic_id, None)
        if name is None:
            self._contradict(f"RemoveTopicRecord of topic id {topic_id}, unknown")
            return
        self.cluster.partition_counts.pop(name, None)
        for number in sorted(self._numbers.pop(topic_id, ())):
            self._set("partition", self.cluster.partitions, (topic_id, number), None)
        for config, value in self.cluster.configs.topics.pop(name, {}).items():
            self._tell("config", ("topic", name, config), value, None)
        self._set("topic", self.cluster.topic_ids, name, None)

    def _partition(self, data: PartitionRecord) -> None:
        topic_id, number = data["topicId"], data["partitionId"]
        numbers = self._numbers.setdefault(topic_id, set())
        numbers.add(number)
        name = self._names.get(topic_id)
        if name is None:
            self._contradict(f"PartitionRecord of topic id {topic_id}, unknown")
        else:
            self.cluster.partition_counts[name] = len(numbers)
        self._set("partition", self.cluster.partitions, (topic_id, number), _created(data))

    def _change_partition(self, data: PartitionChangeRecord) -> None:
        key = data["topicId"], data["partitionId"]
        before = self.cluster.partitions.get(key)
        if data["topicId"] not in self._names:
            self._contradict(f"PartitionChangeRecord of topic id {data['topicId']}, unknown")
        if before is not None:
            self._set("partition", self.cluster.partitions, key, _merged(before, data))

    def _clear_elr(self, data: ClearElrRecord) -> None:
        """Clear the eligible leader replicas of a topic; an empty name is every topic.

        Kafka: TopicsDelta.replay(ClearElrRecord) (4.2)
        """
        wanted = self.cluster.topic_ids.get(data["topicName"])
        for key, before in list(self.cluster.partitions.items()):
            if data["topicName"] and key[0] != wanted:
                continue
            if before.elr or before.last_known_elr:
                cleared: PartitionChangeRecord = {
                    "topicId": key[0],
                    "partitionId": key[1],
                    "eligibleLeaderReplicas": [],
                    "lastKnownElr": [],
                }
                self._set("partition", self.cluster.partitions, key, _merged(before, cleared))

    # configurations, quotas, features, users

    def _config(self, data: ConfigRecord) -> None:
        configs = self._configs.get(data["resourceType"])
        if configs is None:
            return
        own = configs.setdefault(data["resourceName"], {})
        before, value = own.get(data["name"]), data["value"]
        if value is None:
            own.pop(data["name"], None)
        else:
            own[data["name"]] = value
        key = CONFIG_TYPES[data["resourceType"]], data["resourceName"], data["name"]
        self._tell("config", key, before, value)

    def _quota(self, data: ClientQuotaRecord) -> None:
        entity = tuple(sorted((e["entityType"], e["entityName"]) for e in data["entity"]))
        value = None if data["remove"] else data["value"]
        self._set("quota", self.cluster.quotas, (entity, data["key"]), value)

    def _feature(self, data: FeatureLevelRecord) -> None:
        self._set("feature", self.cluster.features, data["name"], data["featureLevel"] or None)

    def _scram(self, data: UserScramCredentialRecord) -> None:
        key = data["name"], _name(SCRAM_MECHANISMS, data["mechanism"])
        before = self.cluster.scram_users.get(key)
        self._set("scram", self.cluster.scram_users, key, data["iterations"])
        if before == data["iterations"] and self.changed is not None:  # of a new password
            self.changed("scram", key, before, before)

    def _remove_scram(self, data: RemoveUserScramCredentialRecord) -> None:
        key = data["name"], _name(SCRAM_MECHANISMS, data["mechanism"])
        self._set("scram", self.cluster.scram_users, key, None)

    def _token(self, data: DelegationTokenRecord) -> None:
        token = DelegationToken(
            data["owner"], data["requester"], tuple(data["renewers"]), data["issueTimestamp"],
            data["expirationTimestamp"], data["maxTimestamp"],
        )  # fmt: skip
        self._set("token", self.cluster.delegation_tokens, data["tokenId"], token)

    def _remove_token(self, data: RemoveDelegationTokenRecord) -> None:
        self._set("token", self.cluster.delegation_tokens, data["tokenId"], None)

    def _acl(self, data: AccessControlEntryRecord) -> None:
        entry = AclEntry(
            _name(RESOURCE_TYPES, data["resourceType"]), data["resourceName"],
            _name(PATTERN_TYPES, data["patternType"]), data["principal"], data["host"],
            _name(OPERATIONS, data["operation"]), _name(PERMISSIONS, data["permissionType"]),
        )  # fmt: skip
        self._set("acl", self.cluster.acls, data["id"], entry)

    def _remove_acl(self, data: RemoveAccessControlEntryRecord) -> None:
        if data["id"] not in self.cluster.acls:
            self._contradict(f"RemoveAccessControlEntryRecord of ACL {data['id']}, unknown")
        self._set("acl", self.cluster.acls, data["id"], None)

    def _producer_ids(self, data: ProducerIdsRecord) -> None:
        self.cluster.next_producer_id = data["nextProducerId"]

    def _zk_migration(self, data: ZkMigrationStateRecord) -> None:
        self.cluster.zk_migration = data["zkMigrationState"]

    # nodes

    def _register_broker(self, data: RegisterBrokerRecord) -> None:
        registration = BrokerRegistration(
            epoch=data["brokerEpoch"],
            incarnation_id=data["incarnationId"],
            is_fenced=data["fenced"],
            in_controlled_shutdown=data.get("inControlledShutdown", False),
            is_migrating_zk_broker=data.get("isMigratingZkBroker", False),
            rack=data["rack"],
            endpoints=_endpoints(data),
            features=_features(data),
            log_dirs=tuple(data.get("logDirs") or ()),
            cordoned_log_dirs=tuple(data.get("cordonedLogDirs") or ()),
        )
        self._set("broker", self.cluster.brokers, data["brokerId"], registration)

    def _registered(self, kind: str, node: int, epoch: int) -> BrokerRegistration | None:
        """Return a broker's registration, if the record is about it.

        Kafka: ClusterDelta.getBrokerOrThrow (4.2)
        """
        found = self.cluster.brokers.get(node)
        if found is None:
            self._contradict(f"{kind} of node {node}, unregistered")
        elif found.epoch != epoch:
            self._contradict(f"{kind} of node {node} with epoch {epoch}, registered {found.epoch}")
        return found

    def _unregister_broker(self, data: UnregisterBrokerRecord) -> None:
        self._registered("UnregisterBrokerRecord", data["brokerId"], data["brokerEpoch"])
        self._set("broker", self.cluster.brokers, data["brokerId"], None)

    def _fence(self, data: FenceBrokerRecord, *, is_fenced: bool = True) -> None:
        kind = "FenceBrokerRecord" if is_fenced else "UnfenceBrokerRecord"
        found = self._registered(kind, data["id"], data["epoch"])
        if found is not None:
            row = found._replace(is_fenced=is_fenced)
            self._set("broker", self.cluster.brokers, data["id"], row)

    def _change_broker(self, data: BrokerRegistrationChangeRecord) -> None:
        """Apply a BrokerRegistrationChangeRecord: 1 fences, -1 unfences, 0 changes nothing."""
        node = data["brokerId"]
        found = self._registered("BrokerRegistrationChangeRecord", node, data["brokerEpoch"])
        if found is None:
            return
        fenced = data.get("fenced", 0)
        cordoned = data.get("cordonedLogDirs")
        row = found._replace(
            is_fenced=fenced > 0 if fenced else found.is_fenced,
            in_controlled_shutdown=bool(data.get("inControlledShutdown"))
            or found.in_controlled_shutdown,
            log_dirs=tuple(data.get("logDirs") or ()) or found.log_dirs,
            cordoned_log_dirs=found.cordoned_log_dirs if cordoned is None else tuple(cordoned),
        )
        self._set("broker", self.cluster.brokers, node, row)

    def _register_controller(self, data: RegisterControllerRecord) -> None:
        registration = ControllerRegistration(
            data["incarnationId"], data["zkMigrationReady"], _endpoints(data), _features(data)
        )
        self._set("controller", self.cluster.controllers, data["controllerId"], registration)

    def _unregister_controller(self, data: UnregisterControllerRecord) -> None:
        self._set("controller", self.cluster.controllers, data["controllerId"], None)

    def _unfence(self, data: UnfenceBrokerRecord) -> None:
        self._fence(data, is_fenced=False)

    # the quorum

    def _voters(self, data: VotersRecord) -> None:
        before = self.cluster.voters
        voters = tuple((v["voterId"], v["voterDirectoryId"]) for v in data.get("voters", ()))
        self.cluster.voters = voters
        self._tell("voters", "", before, voters)

    def _leader(self, data: LeaderChangeMessage) -> None:
        before = self.cluster.leader
        self.cluster.leader = QuorumLeader(data["leaderId"], self.epoch)
        self._tell("leader", "", before, self.cluster.leader)

    def _kraft_version(self, data: KRaftVersionRecord) -> None:
        self.cluster.kraft_version = data["kRaftVersion"]

    def _footer(self, _data: SnapshotFooterRecord) -> None:
        self.ends += 1

    _APPLY: ClassVar[dict[str, Callable[[Any, Any], None]]] = {
        "TopicRecord": _topic,
        "RemoveTopicRecord": _remove_topic,
        "PartitionRecord": _partition,
        "PartitionChangeRecord": _change_partition,
        "ClearElrRecord": _clear_elr,
        "ConfigRecord": _config,
        "ClientQuotaRecord": _quota,
        "FeatureLevelRecord": _feature,
        "UserScramCredentialRecord": _scram,
        "RemoveUserScramCredentialRecord": _remove_scram,
        "DelegationTokenRecord": _token,
        "RemoveDelegationTokenRecord": _remove_token,
        "AccessControlEntryRecord": _acl,
        "RemoveAccessControlEntryRecord": _remove_acl,
        "ProducerIdsRecord": _producer_ids,
        "ZkMigrationStateRecord": _zk_migration,
        "RegisterBrokerRecord": _register_broker,
        "UnregisterBrokerRecord": _unregister_broker,
        "FenceBrokerRecord": _fence,
        "UnfenceBrokerRecord": _unfence,
        "BrokerRegistrationChangeRecord": _change_broker,
        "RegisterControllerRecord": _register_controller,
        "UnregisterControllerRecord": _unregister_controller,
        "kraft_voters": _voters,
        "leader_change": _leader,
        "kraft_version": _kraft_version,
        "snapshot_footer": _footer,
    }


def _endpoints(data: RegisterBrokerRecord | RegisterControllerRecord) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(e["name"], e["host"], e["port"], _name(SECURITY_PROTOCOLS, e["securityProtocol"]))
        for e in data["endPoints"]
    )


def _features(data: RegisterBrokerRecord | RegisterControllerRecord) -> dict[str, tuple[int, int]]:
    return {
        e["name"]: (e["minSupportedVersion"], e["maxSupportedVersion"]) for e in data["features"]
    }


def _created(data: PartitionRecord) -> PartitionRegistration:
    """Return the state that a PartitionRecord gives.

    Kafka: PartitionRegistration (4.2)
    """
    return PartitionRegistration(
        replicas=tuple(data.get("replicas") or ()),
        isr=tuple(data.get("isr") or ()),
        elr=tuple(data.get("eligibleLeaderReplicas") or ()),
        leader=data.get("leader", -1),
        leader_epoch=data.get("leaderEpoch", -1),
        is_recovering=data.get("leaderRecoveryState") == _RECOVERING,
        directories=tuple(data.get("directories") or ()),
        partition_epoch=data.get("partitionEpoch", -1),
        adding_replicas=tuple(data.get("addingReplicas") or ()),
        removing_replicas=tuple(data.get("removingReplicas") or ()),
        last_known_elr=tuple(data.get("lastKnownElr") or ()),
    )


def _merged(before: PartitionRegistration, data: PartitionChangeRecord) -> PartitionRegistration:
    """Return the state after a PartitionChangeRecord, in which what does not change is left out.

    Kafka: PartitionRegistration.merge (4.2)
    """

    def changed(new: list[Any] | None, old: tuple[Any, ...]) -> tuple[Any, ...]:
        return old if new is None else tuple(new)

    leader = data.get("leader", _NO_LEADER_CHANGE)
    has_new = leader != _NO_LEADER_CHANGE
    recovery = data.get("leaderRecoveryState", -1)
    is_unclean = has_new and leader >= 0 and leader not in {*before.isr, *before.elr}
    replicas = changed(data.get("replicas"), before.replicas)
    directories = tuple(data.get("directories") or ())
    if not directories and replicas != before.replicas and before.directories:
        known = dict(zip(before.replicas, before.directories, strict=False))
        directories = tuple(known.get(replica, NULL_UUID) for replica in replicas)
    return PartitionRegistration(
        replicas=replicas,
        isr=changed(data.get("isr"), before.isr),
        elr=changed(data.get("eligibleLeaderReplicas"), before.elr),
        leader=leader if has_new else before.leader,
        leader_epoch=before.leader_epoch + has_new,
        is_recovering=before.is_recovering if recovery < 0 else recovery == _RECOVERING,
        unclean_leaders=before.unclean_leaders + is_unclean,
        directories=directories or before.directories,
        partition_epoch=before.partition_epoch + 1,
        adding_replicas=changed(data.get("addingReplicas"), before.adding_replicas),
        removing_replicas=changed(data.get("removingReplicas"), before.removing_replicas),
        last_known_elr=changed(data.get("lastKnownElr"), before.last_known_elr),
    )
