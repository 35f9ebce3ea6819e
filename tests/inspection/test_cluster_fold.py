"""What `__cluster_metadata` says of a cluster, record by record, and what it cannot say."""

from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.naive import Record, batch
from workbench.config.internal_topics import METADATA_LOG
from workbench.inspection.cluster.fold import ClusterFold
from workbench.inspection.cluster.image import PartitionRegistration, StoredConfigs
from workbench.inspection.cluster.loading import read_stored_configs

SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_the_last_value_of_each_name_counts() -> None:
    found = read_stored_configs(workbench.open_log_directory(SAMPLES / "shop-4.3.1")[METADATA_LOG])
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


def test_a_record_without_a_value_says_nothing(tmp_path: Path) -> None:
    folder = tmp_path / METADATA_LOG
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch([Record(0, 5, None, None)]))
    assert read_stored_configs(workbench.open_log_directory(tmp_path)[METADATA_LOG]) == (
        StoredConfigs()
    )
