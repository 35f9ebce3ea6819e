"""The group coordinator of a simulated cluster: where a recorded cluster does not show it.

Kafka: BrokerMetadataPublisher.updateCoordinator, CoordinatorRuntime (4.2)
"""

import pytest

import workbench as wb
from workbench.errors import ReplicationError
from workbench.replication.simulation.cluster import Cluster
from workbench.runtime.error_codes import ErrorCode

GROUPS = "__consumer_offsets-0"


def answer(cluster: Cluster, number: int) -> ErrorCode | None:
    return cluster.produced[number].answer


def test_the_old_coordinator_drops_the_partition_and_what_waits() -> None:
    """CoordinatorRuntime.CoordinatorContext.unload: waiting events fail with NOT_COORDINATOR."""
    with wb.Cluster(2, partition=GROUPS) as cluster:
        first = cluster.commit("billing", "orders-0", 42)
        cluster.rest()
        assert answer(cluster, first) is ErrorCode.NONE
        waiting = cluster.commit("billing", "orders-0", 50)
        cluster.elect(1)
        assert answer(cluster, waiting) is ErrorCode.NOT_COORDINATOR
        assert cluster.committed_offset("billing", "orders-0", of=0) is ErrorCode.NOT_COORDINATOR
        assert cluster.committed_offset("billing", "orders-0") == 42
        assert cluster.commit("billing", "orders-0", 51, to=0) == 2
        assert answer(cluster, 2) is ErrorCode.NOT_COORDINATOR
        third = cluster.commit("billing", "orders-0", 60)
        cluster.rest()  # broker 0 truncates 50, which no other replica had
        assert answer(cluster, third) is ErrorCode.NONE
        assert cluster.committed_offset("billing", "orders-0") == 60
        values = [record.value for record in cluster.records(0)]
        assert values == ["billing orders-0=42", "billing orders-0=60"]
        assert cluster.records(0) == cluster.records(1)


def test_a_commit_alone_is_answered_at_once_and_survives_a_restart() -> None:
    with wb.Cluster(1, partition=GROUPS) as cluster:
        assert answer(cluster, cluster.commit("g", "t-0", 7)) is ErrorCode.NONE
        cluster.kill(0)
        assert cluster.committed_offset("g", "t-0", of=0) is ErrorCode.NETWORK_EXCEPTION
        cluster.notice(0)
        cluster.start(0)
        assert cluster.committed_offset("g", "t-0") == 7
        assert cluster.committed_offset("g", "t-1") == -1
        assert cluster.committed_offset("other", "t-0") == -1


def test_a_commit_waits_at_a_paused_coordinator() -> None:
    with wb.Cluster(1, partition=GROUPS) as cluster:
        cluster.pause(0)
        number = cluster.commit("g", "t-0", 7)
        assert answer(cluster, number) is None
        cluster.resume(0)
        assert answer(cluster, number) is ErrorCode.NONE


def test_a_commit_waits_five_seconds() -> None:
    """`offsets.commit.timeout.ms`; the follower never fetches."""
    with wb.Cluster(2, partition=GROUPS) as cluster:
        number = cluster.commit("g", "t-0", 7)
        cluster.advance(4_999)
        assert answer(cluster, number) is None
        cluster.advance(1)
        assert answer(cluster, number) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        cluster.rest()
        assert cluster.committed_offset("g", "t-0") == 7


def test_a_group_is_coordinated_where_its_name_hashes_to() -> None:
    """`"Aa".hashCode()` is 2112 in Java: partition 12 of 50."""
    with wb.Cluster(1, partition="__consumer_offsets-12") as cluster:
        assert answer(cluster, cluster.commit("Aa", "t-0", 7)) is ErrorCode.NONE
        assert answer(cluster, cluster.commit("B", "t-0", 7)) is ErrorCode.NOT_COORDINATOR


def test_what_has_no_coordinator_says_so() -> None:
    for without in (wb.Cluster(1), wb.Cluster(1, partition=GROUPS, storage="light")):
        with without, pytest.raises(ReplicationError, match='expected partition="__consumer_off'):
            without.commit("g", "t-0", 7)
    with wb.Cluster(1, partition=GROUPS) as cluster:
        for group, partition in (("a group", "t-0"), ("g", "t"), ("", "t-0")):
            with pytest.raises(ReplicationError, match="expected such as 'billing orders-0=42'"):
                cluster.commit(group, partition, 7)


def test_a_broker_with_a_lost_session_is_a_coordinator_until_it_registers() -> None:
    """As 2.8.2 in `2.8.2-zombie-leader`: it led on for 2.1 s after its pause."""
    with wb.Cluster(3, rules="2.8", partition=GROUPS, session_timeout_ms=3_000) as cluster:
        cluster.commit("g", "t-0", 7)
        cluster.rest()
        cluster.pause(0)
        cluster.run(3_100)
        assert cluster.leader == 1
        cluster.resume(0)
        assert cluster.committed_offset("g", "t-0", of=0) == 7
        cluster.run(1_900)
        assert cluster.committed_offset("g", "t-0", of=0) == 7
        assert cluster.controller.brokers[0].is_fenced
        cluster.run(200)
        assert cluster.committed_offset("g", "t-0", of=0) is ErrorCode.NOT_COORDINATOR
        assert not cluster.controller.brokers[0].is_fenced
