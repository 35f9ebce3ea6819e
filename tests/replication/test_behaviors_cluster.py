"""LogRecoveryTest, LeaderEpochIntegrationTest, EpochDrivenReplicationProtocolAcceptanceTest, ….

RP-39, RP-81 to RP-87: brokers that stop and start, on real logs.
"""

from pathlib import Path
from typing import Any

import pytest

from workbench.errors import ReplicationError
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.replication.messages import NO_LEADER
from workbench.replication.simulation.cluster import Cluster
from workbench.runtime.error_codes import ErrorCode


def log_of(cluster: Cluster, broker: int) -> Log:
    """Return a real log."""
    log = cluster.log(broker)
    assert isinstance(log, Log)
    return log


def content(cluster: Cluster, broker: int) -> bytes:
    """Return all bytes of a log."""
    return bytes(log_of(cluster, broker).read(0, 1 << 20).records.buffer)


def epochs(cluster: Cluster, broker: int) -> list[tuple[int, int]]:
    """Return the epochs of a log."""
    return [(e.epoch, e.start_offset) for e in log_of(cluster, broker).leader_epochs.entries]


def produce(cluster: Cluster, *values: str, acks: int = -1) -> list[int]:
    """Send records, let the followers fetch; return their numbers."""
    numbers = [cluster.produce(value, acks=acks) for value in values]
    cluster.rest()
    return numbers


def append(cluster: Cluster, records: MemoryRecords) -> None:
    """Append batches with acks=1."""
    manager = cluster.brokers[cluster.leader].manager
    assert manager is not None
    manager.append_records({cluster.partition: records}, 1, ("a test", 0))


def test_high_watermarks_are_checkpointed(tmp_path: Path) -> None:
    """RP-39."""

    def files() -> list[int]:
        found = []
        for broker in (0, 1):
            file = tmp_path / f"broker-{broker}" / "replication-offset-checkpoint"
            last = file.read_text().splitlines()[-1]
            assert last.startswith("orders 0 ")
            found.append(int(last.split()[2]))
        return found

    with Cluster(2, directory=tmp_path) as cluster:
        produce(cluster, "m0", "m1")
        cluster.advance(5000)
        assert files() == [2, 2]
        produce(cluster, "m2")
        cluster.stop(0)  # writes the file
        assert files() == [3, 2]
        assert cluster.leader == 1
        cluster.start(0)
        assert cluster.log(0).high_watermark == 3
        cluster.rest()
        assert cluster.state.isr == (0, 1)
        cluster.kill(1)
        cluster.notice(1)
        assert files()[1] == 2
        produce(cluster, "m3", "m4")
        cluster.start(1)
        cluster.rest()
        log_of(cluster, 0).roll()
        produce(cluster, "m5")
        log_of(cluster, 1).roll()
        produce(cluster, "m6")
        assert cluster.consume(0) == cluster.consume(1) == [f"m{n}" for n in range(7)]
    assert files() == [7, 7]


def test_each_life_of_a_leader_takes_epochs() -> None:
    """RP-81: leader -1 takes one each."""
    with Cluster(1) as cluster:
        for life in range(3):
            produce(cluster, f"m{life}")
            if life < 2:
                cluster.kill(0)
                cluster.start(0)
        partition = cluster.brokers[0].partition
        assert partition is not None
        ends = [tuple(partition.end_offset_for(epoch)) for epoch in (0, 1, 2, 4, 5)]
        assert ends == [(0, 1), (0, 1), (2, 2), (4, 3), (-1, -1)]
        assert epochs(cluster, 0) == [(0, 0), (2, 1), (4, 2)]


def test_both_replicas_store_the_epoch() -> None:
    """RP-82."""
    with Cluster(2) as cluster:
        produce(cluster, "m0")
        for broker in (0, 1):
            assert epochs(cluster, broker) == [(0, 0)]
            assert [record.epoch for record in cluster.records(broker)] == [0]


def test_brokers_that_bounce_start_epochs() -> None:
    """RP-83: with a controller on ZooKeeper, which starts an epoch when it shrinks an ISR."""
    with Cluster(2, rules="2.8") as cluster:
        produce(cluster, "m0")
        cluster.stop(1)
        cluster.start(1)
        cluster.rest()
        assert (epochs(cluster, 0), epochs(cluster, 1)) == ([(0, 0), (1, 1)], [(0, 0)])
        produce(cluster, "m1")
        assert epochs(cluster, 1) == [(0, 0), (1, 1)]
        cluster.stop(0)
        assert cluster.leader == 1
        cluster.start(0)
        cluster.rest()
        assert epochs(cluster, 1) == [(0, 0), (1, 1), (2, 2)]
        assert epochs(cluster, 0) == [(0, 0), (1, 1)]
        produce(cluster, "m2")
        assert epochs(cluster, 0) == epochs(cluster, 1) == [(0, 0), (1, 1), (2, 2)]
        assert content(cluster, 0) == content(cluster, 1)


@pytest.mark.parametrize("rules", ["0.10", "0.11", "2.0", "4.2"])
def test_a_log_that_lost_its_end_does_not_diverge(rules: str) -> None:
    """RP-84: but before there were epochs."""
    with Cluster(2, rules=rules, unclean_leader_election=False) as cluster:
        produce(cluster, *[f"a{n}" for n in range(10)])
        for broker in (0, 1):
            cluster.checkpoint(broker)
            cluster.kill(broker, lose=5 if broker == 0 else 0)
        cluster.notice(1)
        cluster.start(0)
        cluster.elect(0)
        assert cluster.leader == 0
        assert cluster.log(0).log_end_offset == 5
        produce(cluster, *[f"b{n}" for n in range(9)])
        cluster.start(1)
        cluster.rest()
        assert (content(cluster, 0) == content(cluster, 1)) == (rules != "0.10")


@pytest.mark.parametrize("rules", ["0.10", "0.11", "2.0", "4.2"])
def test_offsets_do_not_go_back(rules: str) -> None:
    """RP-85: large compressed batches after the loss of half a log; before epochs they overlap."""
    with Cluster(2, rules=rules, unclean_leader_election=False) as cluster:
        produce(cluster, *[f"a{n}" for n in range(100)])
        for broker in (0, 1):
            cluster.checkpoint(broker)
            cluster.kill(broker, lose=50 if broker == 0 else 0)
        cluster.notice(1)
        cluster.start(0)
        for _ in range(2):
            rows = [(None, b"v" * 10)] * 77
            now = cluster.clock.now()
            append(cluster, MemoryRecords.of(*rows, timestamp=now, codec="gzip"))
        cluster.start(1)
        cluster.rest()
        if rules == "0.10":
            partition = cluster.partition
            manager = cluster.brokers[1].manager
            assert manager is not None
            assert "the first offset is 50, below" in manager.fetchers[0].failed[partition]
            assert content(cluster, 0) != content(cluster, 1)
            return
        assert content(cluster, 0) == content(cluster, 1)
        offsets = [record.offset for record in cluster.records(1)]
        assert offsets == sorted(set(offsets))
        assert len(offsets) == 50 + 2 * 77


@pytest.mark.parametrize("rules", ["2.0", "2.8", "4.2"])
def test_alternating_unclean_leaders_do_not_diverge(rules: str) -> None:
    """RP-86."""
    with Cluster(2, rules=rules, unclean_leader_election=True) as cluster:
        produce(cluster, "m0")
        for turn in range(4):
            alone, other = turn % 2, 1 - turn % 2
            for broker in (other, alone):
                cluster.kill(broker)
                cluster.notice(broker)
            cluster.start(alone)
            assert cluster.leader == alone
            for number in range(turn + 1):
                cluster.produce(f"{turn}-{number}")
            cluster.kill(alone)
            cluster.notice(alone)
            cluster.start(other)
            cluster.produce(f"other {turn}")
            cluster.start(alone)
            cluster.rest()
        assert content(cluster, 0) == content(cluster, 1)
        assert epochs(cluster, 0)[:-1] == epochs(cluster, 1)[: len(epochs(cluster, 0)) - 1]


def cluster_with_a_lone_leader(**options: Any) -> Cluster:
    """Return a cluster whose first leader alone has the second record, and is dead."""
    cluster = Cluster(2, **options)
    produce(cluster, "first")
    cluster.stop(1)
    produce(cluster, "second")
    cluster.stop(0)
    return cluster


@pytest.mark.parametrize("rules", ["0.10", "2.8", "3.9", "4.2"])
def test_unclean_elections_lose_records(rules: str) -> None:
    """RP-87: enabled."""
    with cluster_with_a_lone_leader(rules=rules, unclean_leader_election=True) as cluster:
        cluster.start(1)
        assert (cluster.leader, cluster.state.isr) == (1, (1,))
        assert cluster.controller.unclean_elections == 1
        produce(cluster, "third")
        cluster.start(0)
        cluster.rest()
        assert cluster.consume(1) == ["first", "third"]
        if rules != "0.10":
            assert cluster.consume(0) == ["first", "third"]


@pytest.mark.parametrize("rules", ["2.8", "3.9", "4.2"])
def test_clean_elections_wait_for_the_last_leader(rules: str) -> None:
    """RP-87: disabled."""
    with cluster_with_a_lone_leader(rules=rules, unclean_leader_election=False) as cluster:
        cluster.start(1)
        assert cluster.leader == NO_LEADER
        assert (cluster.state.isr or cluster.state.elr) == (0,)
        with pytest.raises(ReplicationError, match="no leader"):
            cluster.produce("nobody takes it")
        cluster.configure("unclean.leader.election.enable", value=True)
        assert cluster.leader == NO_LEADER
        cluster.configure("unclean.leader.election.enable", value=False)
        cluster.start(0)
        assert cluster.leader == 0
        cluster.configure("unclean.leader.election.enable", value=True)
        assert cluster.leader == 0  # it does not move a live leader
        (number,) = produce(cluster, "third")
        assert cluster.produced[number].answer is ErrorCode.NONE
        assert cluster.consume(0) == cluster.consume(1) == ["first", "second", "third"]
        assert cluster.controller.unclean_elections == 0
