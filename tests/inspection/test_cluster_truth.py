"""The cluster at a time is what AdminClient said of live brokers then, and what snapshots say."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.kafka_broker import Broker, compile_java, run_java
from workbench.config.internal_topics import METADATA_LOG
from workbench.inspection.cluster.history import ClusterHistory
from workbench.inspection.cluster.loading import cluster_at, snapshot_files

VERSIONS = (*(pytest.param(each, marks=pytest.mark.long) for each in ("3.3.2", "3.9.1")), "4.3.1")
SOURCE = Path(__file__).with_name("ClusterTruth.java").read_text()
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "broker.rack": "rack-7",
    "metadata.log.max.record.bytes.between.snapshots": "1500",
}

Truth = list[tuple[int, set[tuple[str, ...]]]]


class Cluster:
    """Directories that a broker wrote, and what it said at three times."""

    def __init__(self, version: str, folder: Path) -> None:
        classes = compile_java(version, SOURCE, "ClusterTruth")
        self.version, self.classes = version, classes
        with Broker(version, folder, SETTINGS) as broker:
            told = run_java(version, "ClusterTruth", broker.bootstrap, classes=classes)
        assert told.returncode == 0, told.stderr
        self.logs = workbench.open_log_directory(folder / "data")
        self.truth: Truth = []
        rows: set[tuple[str, ...]] = set()
        for line in told.stdout.splitlines():
            kind, *rest = line.split("\t")
            if kind == "at":
                self.truth.append((int(rest[0]), rows))
                rows = set()
            else:
                rows.add((kind, *rest))
        assert len(self.truth) == 3, told.stdout

    def said(self, kind: str, round_: int) -> tuple[int, list[tuple[str, ...]]]:
        at, rows = self.truth[round_]
        return at, sorted(row[1:] for row in rows if row[0] == kind)


@pytest.fixture(scope="module", params=VERSIONS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(request.param, tmp_path_factory.mktemp("cluster"))


def texts(rows: Iterable[Iterable[Any]]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in rows)


def columns(table: Any, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


def ids(values: list[int]) -> str:
    return ",".join(map(str, values))


@pytest.mark.parametrize("round_", range(3))
def test_topics_and_partitions(cluster: Cluster, round_: int) -> None:
    at, said = cluster.said("topic", round_)
    inspect = cluster.logs.inspect
    assert texts(columns(inspect.topics(at), "topic", "topic_id")) == said
    at, said = cluster.said("partition", round_)
    rows = inspect.topic_partitions(at).to_pylist()
    assert said == texts(
        (r["topic"], r["partition"], r["leader"], ids(r["replicas"]), ids(r["isr"])) for r in rows
    )


@pytest.mark.parametrize("round_", range(3))
def test_configurations_without_secrets(cluster: Cluster, round_: int) -> None:
    at, said = cluster.said("config", round_)
    table = cluster.logs.inspect.configs(at)
    rows = columns(table, "resource_type", "resource", "name", "value")
    assert said == texts((kind, "" if r == "<default>" else r, *rest) for kind, r, *rest in rows)
    assert ("[hidden]" in {row[3] for row in rows}) == (round_ == 2)
    assert "secret" not in str(cluster.logs.inspect.cluster_changes().to_pylist())


@pytest.mark.parametrize("round_", range(3))
def test_acls_quotas_and_users(cluster: Cluster, round_: int) -> None:
    at, said = cluster.said("acl", round_)
    inspect = cluster.logs.inspect
    assert [
        row[:-1] for row in texts(columns(inspect.acls(at), *inspect.acls(at).column_names))
    ] == said
    at, said = cluster.said("quota", round_)
    rows = columns(inspect.quotas(at), "user", "client_id", "ip", "name", "value")
    assert said == texts(("-" if each is None else each for each in row) for row in rows)
    at, said = cluster.said("scram", round_)
    rows = columns(inspect.scram_users(at), "user", "mechanism", "iterations")
    assert said == texts((user, name.replace("-", "_"), count) for user, name, count in rows)


@pytest.mark.parametrize("round_", range(3))
def test_features_and_nodes(cluster: Cluster, round_: int) -> None:
    at, said = cluster.said("feature", round_)
    inspect = cluster.logs.inspect
    found = dict(columns(inspect.features(at), "feature", "level"))
    assert {name: str(level) for name, level in found.items()} == dict(said)  # type: ignore[arg-type]
    at, said = cluster.said("broker", round_)
    (row,) = inspect.brokers(at).to_pylist()
    node, host, port, rack = said[0]
    assert (str(row["broker"]), row["endpoints"]) == (node, [f"PLAINTEXT://{host}:{port}"])
    assert (row["rack"], row["state"], row["is_fenced"]) == (rack, "running", False)
    at, said = cluster.said("voter", round_)
    rows = columns(inspect.quorum(at), "node", "is_leader", "is_voter")
    assert said == texts((node, str(leads).lower()) for node, leads, votes in rows if votes)


def test_the_log_and_every_snapshot_of_kafka_give_one_state(cluster: Cluster) -> None:
    """Kafka writes a snapshot from its own image, which it has folded from the log up to there."""
    partition = cluster.logs[METADATA_LOG]
    snapshots = snapshot_files(partition)
    assert len(snapshots) > 1
    assert partition.segments[0].base_offset == 0
    for snapshot in snapshots:
        if not snapshot.offset:
            continue
        history = ClusterHistory(partition, snapshot.offset - 1)
        assert list(history)
        state = cluster_at(partition, snapshot.offset - 1)
        assert (state.snapshot, state.findings) == (snapshot.entry.path, ())
        found, wanted = history.cluster.tables, state.cluster.tables
        for each in (found, wanted):  # a snapshot does not say how leaders were elected
            each["partition"] = {
                key: row._replace(unclean_leaders=0) for key, row in each["partition"].items()
            }
        assert found == wanted


def test_a_server_over_the_directories_says_what_the_broker_said(cluster: Cluster) -> None:
    with workbench.serve(cluster.logs) as server:
        arguments = (server.bootstrap_servers, "tell")
        told = run_java(cluster.version, "ClusterTruth", *arguments, classes=cluster.classes)
    assert told.returncode == 0, told.stderr
    found = {tuple(line.split("\t")) for line in told.stdout.splitlines()}
    _, said = cluster.truth[-1]
    here = {"acl", "quota", "scram", "feature", "topic", "partition", "voter"}
    assert {row for row in found if row[0] in here} == {row for row in said if row[0] in here}


def test_the_history_names_the_value_before(cluster: Cluster) -> None:
    rows = cluster.logs.inspect.cluster_changes().to_pylist()
    of_retention = [
        (row["action"], row["before"], row["after"])
        for row in rows
        if row["entity"] == "topic orders" and row["field"] == "retention.ms"
    ]
    assert of_retention == [
        ("created", None, "86400000"),
        ("changed", "86400000", "1000000"),
        ("removed", "1000000", None),
    ]
    removed = [row["entity"] for row in rows if row["action"] == "removed"]
    assert {"gone", "TOPIC pay (PREFIXED)", "user=<default>", "gone-1"} <= set(removed)
    assert all(row["is_exact"] for row in rows)
