"""The disks of several brokers of one cluster, served as one."""

import shutil
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, TopicPartition

import workbench
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until
from tests.trees import snapshot
from workbench.errors import ServerError
from workbench.server.events import Event
from workbench.server.server import Server

BROKERS = Path(__file__).parents[2] / "sample_data" / "two-brokers"
LEDGER = TopicPartition("ledger", 0)


def test_the_replica_that_is_ahead_is_served_and_the_server_says_which_and_why() -> None:
    paths = {1: BROKERS / "broker1", 2: BROKERS / "broker2"}
    before = snapshot(BROKERS)
    compared = workbench.compare_replicas(paths)["ledger-0"]
    ahead = compared.replica(compared.ahead)
    events: list[Event] = []
    with (
        workbench.serve(paths.values(), observe=events.append) as server,
        consuming(server) as consumer,
    ):
        assert not [event for event in events if "is served" in str(event)]
        consumer.assign([LEDGER])
        assert consumer.beginning_offsets([LEDGER]) == {LEDGER: ahead.log_start_offset}
        assert consumer.end_offsets([LEDGER]) == {LEDGER: ahead.log_end_offset}
        found = poll_until(consumer, ahead.log_end_offset - ahead.log_start_offset)
    expected = workbench.open_log_directory(paths[int(compared.ahead)]).scan().to_arrow()
    assert [record.value for record in found] == expected["value"].to_pylist()
    told = [event for event in events if isinstance(event, str) and "is served" in event]
    assert len(told) == 1
    assert f"the replica of broker {compared.ahead} (epoch {ahead.last_epoch}" in told[0]
    assert snapshot(BROKERS) == before


def test_two_directories_of_one_broker_are_not_replicas(tmp_path: Path) -> None:
    shutil.copytree(SHOP / "orders-0", tmp_path / "orders-0")
    shutil.copy(SHOP / "meta.properties", tmp_path)
    events: list[Event] = []
    with workbench.serve([SHOP, tmp_path], observe=events.append):
        pass
    assert any("orders-0: not served" in str(event) for event in events)


def test_brokers_of_different_clusters_are_refused(tmp_path: Path) -> None:
    text = (SHOP / "meta.properties").read_text()
    changed = [
        "cluster.id=AnotherClusterOfBrokers" if line.startswith("cluster.id=") else line
        for line in text.replace("node.id=1", "node.id=2").splitlines()
    ]
    (tmp_path / "meta.properties").write_text("\n".join(changed) + "\n")
    shutil.copytree(SHOP / "orders-0", tmp_path / "orders-0")
    with pytest.raises(ServerError, match=r"broker 2 of cluster AnotherClusterOfBrokers"):
        workbench.serve([SHOP, tmp_path])


def test_groups_are_read_from_the_copy_of_consumer_offsets_that_is_ahead(tmp_path: Path) -> None:
    for broker in (1, 2):
        shutil.copytree(SHOP, tmp_path / str(broker))
    where = tmp_path / "2" / "meta.properties"
    where.write_text(where.read_text().replace("node.id=1", "node.id=2"))
    for log in (tmp_path / "1").glob("__consumer_offsets-*/*.log"):
        log.write_bytes(b"")  # the first broker lost them
    with (
        workbench.serve([tmp_path / "1", tmp_path / "2"]) as server,
        workbench.serve(SHOP) as whole,
    ):
        stored = _groups(whole)
        assert stored
        assert _groups(server) == stored


def _groups(server: Server) -> dict[str, object]:
    admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
    try:
        names = [each["group_id"] for each in admin.list_groups()]
        return {name: admin.list_group_offsets(name) for name in names}
    finally:
        admin.close()
