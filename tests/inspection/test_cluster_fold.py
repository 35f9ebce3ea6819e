"""What `__cluster_metadata` says of a cluster, record by record, and what it cannot say."""

from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.naive import Record, batch
from workbench.config.internal_topics import METADATA_LOG
from workbench.inspection.cluster.fold import ClusterFold
from workbench.inspection.cluster.image import PartitionRegistration, StoredConfigs
from workbench.inspection.cluster.loading import read_stored_cluster
from workbench.inspection.cluster.rows import config_rows, token_rows
from workbench.tables.cluster import DelegationTokenRow

SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_the_last_value_of_each_name_counts() -> None:
    found = read_stored_cluster(
        workbench.open_log_directory(SAMPLES / "shop-4.3.1")[METADATA_LOG]
    ).configs
    assert found.topics["customers"] == {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "1.0",
        "index.interval.bytes": "512",
        "internal.segment.bytes": "32768",
    }
    assert found.topics["returns"] == {}
    assert found.of_broker(1) == {"min.insync.replicas": "1"}


def _record(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def _config(topic: str, name: str, value: str | None, kind: int = 2) -> dict[str, Any]:
    data = {"resourceType": kind, "resourceName": topic, "name": name, "value": value}
    return _record("ConfigRecord", **data)


@pytest.fixture(name="state")
def state_() -> ClusterFold:
    return ClusterFold()


def take(state: ClusterFold, *values: dict[str, Any]) -> None:
    for value in values:
        state.take(value)


def test_what_is_deleted_is_gone(state: ClusterFold) -> None:
    take(
        state,
        _record("TopicRecord", name="a", topicId="1"),
        _record("TopicRecord", name="b", topicId="2"),
        _config("a", "retention.ms", "1"),
        _config("b", "retention.ms", "2"),
        _config("b", "retention.ms", None),
        _record("RemoveTopicRecord", topicId="1"),
        {"error": "no record", "bytes": ""},
    )
    assert state.cluster.configs == StoredConfigs({"b": {}}, {})


def test_a_transaction_counts_when_it_ends(state: ClusterFold) -> None:
    take(
        state,
        _record("BeginTransactionRecord"),
        _config("a", "retention.ms", "1"),
        _record("AbortTransactionRecord"),
        _record("BeginTransactionRecord"),
        _config("", "log.retention.ms", "2", kind=4),
        _config("7", "log.retention.ms", "3", kind=4),
    )
    assert state.cluster.configs == StoredConfigs()
    take(state, _record("EndTransactionRecord"))
    assert state.cluster.configs.of_broker(7) == {"log.retention.ms": "3"}
    assert state.cluster.configs.of_broker(None) == {"log.retention.ms": "2"}


def test_topics_partitions_and_features_of_the_cluster(state: ClusterFold) -> None:
    take(
        state,
        _record("TopicRecord", name="a", topicId="1"),
        _record("TopicRecord", name="b", topicId="2"),
        *(_record("PartitionRecord", topicId=id_, partitionId=n) for id_ in "12" for n in (1, 0)),
        _record("PartitionRecord", topicId="9", partitionId=5),  # of a topic that is not there
        _record("FeatureLevelRecord", name="group.version", featureLevel=0),
        _record("FeatureLevelRecord", name="group.version", featureLevel=1),
        _record("RemoveTopicRecord", topicId="1"),
    )
    found = state.cluster
    assert (found.topic_ids, found.partition_counts) == ({"b": "2"}, {"b": 2})
    assert found.features == {"group.version": 1}


def test_a_partition_has_the_state_of_its_last_change(state: ClusterFold) -> None:
    """PartitionRegistration.merge: what a change does not name stays; a leader is a new epoch."""
    start = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leaderEpoch": 4}
    take(
        state,
        _record("TopicRecord", name="a", topicId="1"),
        _record("PartitionRecord", topicId="1", partitionId=0, **start),
        _record("PartitionChangeRecord", topicId="1", partitionId=0, isr=[2], leader=2),
        _record("PartitionChangeRecord", topicId="1", partitionId=7, isr=[3]),  # not there
    )
    assert state.cluster.partitions == {
        ("1", 0): PartitionRegistration(
            (1, 2), (2,), (), 2, 5, is_recovering=False, partition_epoch=0
        )
    }
    back = {"isr": [1], "leader": 1, "leaderRecoveryState": 1}
    take(state, _record("PartitionChangeRecord", topicId="1", partitionId=0, **back))
    assert state.cluster.partitions["1", 0] == PartitionRegistration(
        (1, 2), (1,), (), 1, 6, is_recovering=True, unclean_leaders=1, partition_epoch=1
    )
    settled = {"leaderRecoveryState": 0, "eligibleLeaderReplicas": [2]}
    take(state, _record("PartitionChangeRecord", topicId="1", partitionId=0, **settled))
    assert state.cluster.partitions["1", 0] == PartitionRegistration(
        (1, 2), (1,), (2,), 1, 6, is_recovering=False, unclean_leaders=1, partition_epoch=2
    )
    take(state, _record("RemoveTopicRecord", topicId="1"))
    assert state.cluster.partitions == {}


def test_brokers_are_as_their_last_change(state: ClusterFold) -> None:
    """ClusterDelta: 1 fences, -1 unfences; a change has the epoch of the registration."""
    endpoint = {"name": "PLAIN", "host": "h", "port": 9092, "securityProtocol": 0}
    registered = {
        "brokerId": 1, "brokerEpoch": 7, "incarnationId": "i", "fenced": True, "rack": None,
        "endPoints": [endpoint], "features": [], "logDirs": ["a"],
    }  # fmt: skip
    changed = {"brokerId": 1, "brokerEpoch": 7}
    take(state, _record("RegisterBrokerRecord", **registered))
    take(state, _record("BrokerRegistrationChangeRecord", **changed, fenced=-1))
    broker = state.cluster.brokers[1]
    assert (broker.is_fenced, broker.in_controlled_shutdown) == (False, False)
    assert [str(each) for each in broker.endpoints] == ["PLAIN://h:9092"]
    stopping = _record("BrokerRegistrationChangeRecord", **changed, inControlledShutdown=1)
    moved = _record("BrokerRegistrationChangeRecord", **changed, logDirs=["b"], cordonedLogDirs=[])
    take(state, stopping, moved)
    broker = state.cluster.brokers[1]
    assert (broker.is_fenced, broker.in_controlled_shutdown) == (False, True)
    assert state.cluster.log_directories == {1: ("b",)}
    take(state, _record("FenceBrokerRecord", id=1, epoch=7))
    assert state.cluster.brokers[1].is_fenced
    found = [state.cluster.contradiction]
    take(state, _record("UnfenceBrokerRecord", id=1, epoch=8))
    found.append(state.cluster.contradiction)
    assert found == ["", "UnfenceBrokerRecord of node 1 with epoch 8, registered 7"]
    take(state, _record("UnregisterBrokerRecord", brokerId=1, brokerEpoch=7))
    assert state.cluster.brokers == {}


def test_a_controller_that_is_unregistered_is_gone(state: ClusterFold) -> None:
    """Kafka 4.4: ClusterDelta.replay(UnregisterControllerRecord)."""
    registered = {
        "controllerId": 3, "incarnationId": "i", "zkMigrationReady": False, "endPoints": [],
        "features": [],
    }  # fmt: skip
    take(state, _record("RegisterControllerRecord", **registered))
    assert list(state.cluster.controllers) == [3]
    take(state, _record("UnregisterControllerRecord", controllerId=3))
    assert state.cluster.controllers == {}


def test_eligible_leader_replicas_are_cleared_by_topic(state: ClusterFold) -> None:
    """TopicsDelta.replay(ClearElrRecord): an empty name clears those of every topic."""
    elr = {"replicas": [1], "eligibleLeaderReplicas": [1], "lastKnownElr": [2]}
    for name, topic_id in (("a", "1"), ("b", "2")):
        take(state, _record("TopicRecord", name=name, topicId=topic_id))
        take(state, _record("PartitionRecord", topicId=topic_id, partitionId=0, **elr))
    take(state, _record("ClearElrRecord", topicName="a"))
    assert [each.elr for each in state.cluster.partitions.values()] == [(), (1,)]
    take(state, _record("ClearElrRecord", topicName=""))
    assert {each.last_known_elr for each in state.cluster.partitions.values()} == {()}


def test_replicas_that_move_keep_the_directories_of_the_others(state: ClusterFold) -> None:
    """DirectoryId.createDirectoriesFrom: a new replica has no directory yet."""
    start = {"replicas": [1, 2], "directories": ["x", "y"]}
    take(
        state,
        _record("TopicRecord", name="a", topicId="1"),
        _record("PartitionRecord", topicId="1", partitionId=0, **start),
        _record("PartitionChangeRecord", topicId="1", partitionId=0, replicas=[3, 2]),
    )
    assert state.cluster.partitions["1", 0].directories == ("A" * 22, "y")


def test_tokens_have_their_times_and_no_secret(state: ClusterFold) -> None:
    token = {
        "owner": "User:a", "requester": "User:b", "renewers": ["User:c"], "issueTimestamp": 1,
        "maxTimestamp": 3, "expirationTimestamp": 2, "tokenId": "t",
    }  # fmt: skip
    take(state, _record("DelegationTokenRecord", **token))
    (row,) = token_rows(state.cluster)
    assert row == DelegationTokenRow("t", "User:a", "User:b", ["User:c"], 1, 2, 3)
    take(state, _record("RemoveDelegationTokenRecord", tokenId="t"))
    assert state.cluster.delegation_tokens == {}


def test_a_configuration_without_its_topic_is_not_in_use(state: ClusterFold) -> None:
    """Kafka's snapshots keep those of a topic that came and went between two of them."""
    take(state, _record("TopicRecord", name="a", topicId="1"), _config("a", "x", "1"))
    take(state, _config("gone", "x", "2"))
    assert [(row.resource, row.is_in_use) for row in config_rows(state.cluster)] == [
        ("a", True), ("gone", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "is_hidden"),
    [
        ("message.max.bytes", False),
        ("leader.replication.throttled.rate", False),
        ("ssl.keystore.password", True),
        ("listener.name.internal.ssl.keystore.password", True),
        ("listener.name.internal.ssl.keystore.location", False),
        ("listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", True),
        ("my.plugin.key", True),
    ],
)
def test_what_a_broker_shows_to_nobody_is_hidden(
    state: ClusterFold, name: str, *, is_hidden: bool
) -> None:
    take(state, _config("", name, "value of it", kind=4))
    (row,) = config_rows(state.cluster)
    assert (row.value == "[hidden]") == is_hidden


def test_a_record_without_a_value_says_nothing(tmp_path: Path) -> None:
    folder = tmp_path / METADATA_LOG
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch([Record(0, 5, None, None)]))
    stored = read_stored_cluster(workbench.open_log_directory(tmp_path)[METADATA_LOG])
    assert stored.configs == StoredConfigs()
