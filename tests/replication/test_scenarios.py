"""The scenarios of the KIPs, step by step on real logs: G-0 to G-12.

G-6b is about a consumer, G-13 about the metadata log, which has no ISR.
"""

from typing import Any

import pytest

from tests.replication.house import OTHER, ReplicaHouse, carry
from workbench.log.timestamp_search import EARLIEST, LATEST
from workbench.replication.fetcher import FetchState
from workbench.replication.messages import NO_LEADER, FetchParams, FetchPartition
from workbench.replication.simulation.cluster import Cluster
from workbench.runtime.error_codes import ErrorCode

OK = ErrorCode.NONE


def row(cluster: Cluster, broker: int) -> tuple[int, int]:
    """Return log end offset and high watermark."""
    log = cluster.log(broker)
    return log.log_end_offset, log.high_watermark


def leads(cluster: Cluster, broker: int, follower: int) -> tuple[int, int, int]:
    """Return log end offset, high watermark and what the leader knows of a follower."""
    partition = cluster.brokers[broker].partition
    assert partition is not None
    return *row(cluster, broker), partition.remote[follower].log_end_offset


def epochs(cluster: Cluster, broker: int) -> list[tuple[int, int]]:
    """Return the epochs of a log."""
    return [tuple(entry) for entry in cluster.log(broker).leader_epochs.entries]  # type: ignore[misc]


def values(cluster: Cluster, broker: int) -> list[str]:
    """Return all values of a log."""
    return [record.value for record in cluster.records(broker)]


def outcome(cluster: Cluster, number: int) -> ErrorCode | None:
    """Return what a client was told."""
    return cluster.produced[number].answer


def isr(cluster: Cluster) -> tuple[int, ...]:
    """Return the ISR."""
    return cluster.state.isr


def is_recovering(cluster: Cluster) -> bool:
    """Return whether the leader has not told that it recovered."""
    return cluster.state.is_recovering


def is_parked(cluster: Cluster, broker: int) -> bool:
    """Return whether a follower's fetch waits at its leader."""
    exchange = cluster.brokers[broker].exchange
    return exchange is not None and not exchange.is_answered


def settled(brokers: int = 2, *values: str, **options: Any) -> Cluster:
    """Return a cluster whose brokers have all values, and the high watermark behind them."""
    cluster = Cluster(brokers, **{"unclean_leader_election": False, **options})
    for value in values:
        cluster.produce(value)
    cluster.rest()
    return cluster


@pytest.mark.parametrize("rules", ["0.10", "0.11", "1.1", "2.0.0", "2.1", "2.8", "3.7", "4.2"])
def test_g0_the_normal_path(rules: str) -> None:
    with Cluster(2, rules=rules) as cluster:
        assigns = cluster.rules.uses_epochs and cluster.rules.new_leader_assigns_epoch
        assert leads(cluster, 0, 1) == (0, 0, -1)
        assert (epochs(cluster, 0), epochs(cluster, 1)) == ([(0, 0)] if assigns else [], [])
        cluster.fetch(1)
        assert is_parked(cluster, 1)
        assert leads(cluster, 0, 1) == (0, 0, 0)
        number = cluster.produce("m0")
        assert (leads(cluster, 0, 1), outcome(cluster, number)) == ((1, 0, 0), None)
        assert not is_parked(cluster, 1)
        cluster.answer(1)
        assert (row(cluster, 1), epochs(cluster, 1)) == ((1, 0), [(0, 0)])
        assert cluster.consume(0) == []
        cluster.fetch(1)
        assert (leads(cluster, 0, 1), row(cluster, 1)) == ((1, 1, 1), (1, 0))
        assert (outcome(cluster, number), cluster.produced[number].offset) == (OK, 0)
        assert cluster.consume(0) == ["m0"]
        assert is_parked(cluster, 1)
        cluster.advance(500)
        assert not is_parked(cluster, 1)
        assert row(cluster, 1) == (1, 0)
        cluster.answer(1)
        assert (leads(cluster, 0, 1), row(cluster, 1)) == ((1, 1, 1), (1, 1))
        assert cluster.consume(1) == ["m0"]


def test_g0b_the_answer_brings_the_old_high_watermark() -> None:
    with Cluster(2) as cluster:
        cluster.fetch(1)
        first = cluster.produce("m0")
        cluster.answer(1)
        second = cluster.produce("m1", acks=1)
        assert outcome(cluster, second) is OK
        cluster.fetch(1)
        assert (leads(cluster, 0, 1), outcome(cluster, first)) == ((2, 1, 1), OK)
        cluster.answer(1)
        assert row(cluster, 1) == (2, 0)
        cluster.fetch(1)
        assert leads(cluster, 0, 1) == (2, 2, 2)
        assert is_parked(cluster, 1)
        cluster.expire(1)
        cluster.answer(1)
        assert row(cluster, 1) == (2, 2)


def test_g0c_the_slower_follower_decides() -> None:
    with Cluster(3) as cluster:
        number = cluster.produce("m0")
        for broker in (1, 2):
            cluster.round(broker)
        cluster.fetch(1)
        assert (row(cluster, 0), outcome(cluster, number)) == ((1, 0), None)
        cluster.fetch(2)
        assert (row(cluster, 0), outcome(cluster, number)) == ((1, 1), OK)


def before_the_failover(rules: str, *, checkpoints_leader: bool, unclean: bool) -> Cluster:
    """Return G-1 after step 5: m1 was acknowledged, follower 1 restarted, leader 0 died."""
    cluster = settled(2, "m0", rules=rules, unclean_leader_election=unclean)
    cluster.checkpoint(0)
    cluster.checkpoint(1)
    number = cluster.produce("m1")
    cluster.round(1)
    assert (row(cluster, 0), row(cluster, 1)) == ((2, 1), (2, 1))
    cluster.fetch(1)
    assert (row(cluster, 0), outcome(cluster, number)) == ((2, 2), OK)
    if checkpoints_leader:
        cluster.checkpoint(0)
    cluster.kill(1)
    cluster.start(1)
    cluster.kill(0)
    cluster.notice(0)
    return cluster


@pytest.mark.parametrize("unclean", [False, True])
def test_g1_truncation_to_the_high_watermark_loses_a_record(*, unclean: bool) -> None:
    with before_the_failover("0.10", checkpoints_leader=True, unclean=unclean) as cluster:
        assert (cluster.leader, row(cluster, 1)) == (1, (1, 1))
        assert cluster.consume(1) == ["m0"]
        cluster.start(0)
        assert row(cluster, 0) == (2, 2)
        for _ in range(3):
            cluster.round(0)
        if unclean:
            assert values(cluster, 0) == ["m0"]
        else:
            assert "before this follower" in cluster.halted[0]
            assert not cluster.brokers[0].is_alive


def test_g1_and_logs_diverge_silently() -> None:
    with before_the_failover("0.10", checkpoints_leader=True, unclean=False) as cluster:
        cluster.produce("m2")
        cluster.start(0)
        cluster.rest()
        assert (values(cluster, 0), values(cluster, 1)) == (["m0", "m1"], ["m0", "m2"])
        assert (row(cluster, 0), row(cluster, 1)) == ((2, 2), (2, 2))
        assert isr(cluster) == (0, 1)


def test_g1_an_old_checkpoint_makes_the_logs_equal() -> None:
    with before_the_failover("0.10", checkpoints_leader=False, unclean=False) as cluster:
        cluster.produce("m2")
        cluster.start(0)
        assert row(cluster, 0) == (1, 1)
        cluster.rest()
        assert values(cluster, 0) == values(cluster, 1) == ["m0", "m2"]


@pytest.mark.parametrize("rules", ["0.11", "1.1", "2.0.1", "2.1"])
def test_g1_epochs_keep_the_record(rules: str) -> None:
    with before_the_failover(rules, checkpoints_leader=True, unclean=False) as cluster:
        assert (cluster.leader, row(cluster, 1)) == (1, (2, 2))
        assert epochs(cluster, 1) == ([(0, 0)] if rules < "2" else [(0, 0), (1, 2)])
        cluster.start(0)
        cluster.rest()
        assert values(cluster, 0) == values(cluster, 1) == ["m0", "m1"]


@pytest.mark.parametrize("rules", ["2.8", "3.9", "4.2"])
def test_g1_a_restart_is_noticed(rules: str) -> None:
    """The restarted follower left the ISR, so it is not elected."""
    with before_the_failover(rules, checkpoints_leader=True, unclean=False) as cluster:
        assert (cluster.leader, row(cluster, 1)) == (NO_LEADER, (2, 1))
        cluster.start(0)
        cluster.rest()
        assert values(cluster, 0) == values(cluster, 1) == ["m0", "m1"]


@pytest.mark.parametrize("rules", ["0.10", "0.11", "2.0", "2.8", "3.9", "4.2"])
def test_g2_power_loss(rules: str) -> None:
    with settled(2, "m0", "m1", rules=rules) as cluster:
        for broker in (0, 1):
            cluster.checkpoint(broker)
        cluster.kill(0)
        cluster.kill(1, lose=1)
        cluster.notice(0)
        cluster.start(1)
        assert (cluster.leader, row(cluster, 1)) == (1, (1, 1))
        number = cluster.produce("m2")
        assert (outcome(cluster, number), row(cluster, 1)) == (OK, (2, 2))
        cluster.start(0)
        assert row(cluster, 0) == (2, 2)
        cluster.rest()
        assert (row(cluster, 0), row(cluster, 1)) == ((2, 2), (2, 2))
        assert values(cluster, 1) == ["m0", "m2"]
        assert values(cluster, 0) == (["m0", "m1"] if rules == "0.10" else ["m0", "m2"])
        if rules != "0.10":
            assert epochs(cluster, 0) == [(r.epoch, r.offset) for r in cluster.records(1)]
        if rules == "4.2":
            assert cluster.controller.unclean_elections == 1  # the last known leader


@pytest.mark.parametrize("rules", ["0.11", "1.1", "2.0.0", "2.0", "2.8", "3.9", "4.2"])
def test_g3_fast_failover(rules: str) -> None:
    with settled(2, "m0", rules=rules) as cluster:
        cluster.produce("m1")
        assert (row(cluster, 0), row(cluster, 1)) == ((2, 1), (1, 1))
        cluster.elect(1)
        cluster.produce("m2")
        assert leads(cluster, 1, 0) == (2, 1, -1)
        cluster.elect(0)
        cluster.produce("m3")
        assert (epochs(cluster, 0), row(cluster, 0)) == ([(0, 0), (2, 2)], (3, 1))
        cluster.rest()
        assert values(cluster, 0) == ["m0", "m1", "m3"]
        assert (row(cluster, 0), row(cluster, 1)) == ((3, 3), (3, 3))
        if rules in {"0.11", "1.1"}:
            assert values(cluster, 1) == ["m0", "m2", "m3"]
            assert epochs(cluster, 1) == [(0, 0), (1, 1), (2, 2)]
        else:
            assert values(cluster, 1) == ["m0", "m1", "m3"]
            assert epochs(cluster, 1) == [(0, 0), (2, 2)]


@pytest.mark.parametrize("rules", ["1.1", "2.0", "2.8", "3.9", "4.2"])
def test_g4_two_unclean_elections(rules: str) -> None:
    with settled(2, "a0", rules=rules, unclean_leader_election=True) as cluster:
        cluster.kill(1)
        cluster.notice(1)
        cluster.produce("a1")
        cluster.produce("a2")
        cluster.kill(0)
        cluster.notice(0)
        cluster.start(1)
        assert cluster.leader == 1
        for value in ("b1", "b2", "b3"):
            cluster.produce(value)
        assert row(cluster, 1) == (4, 4)
        cluster.checkpoint(1)
        cluster.kill(1)
        cluster.notice(1)
        cluster.start(0)
        assert cluster.leader == 0
        cluster.produce("a3")
        cluster.produce("a4")
        assert row(cluster, 0) == (5, 5)
        cluster.start(1)
        assert row(cluster, 1) == (4, 4)
        cluster.rest()
        assert values(cluster, 0) == ["a0", "a1", "a2", "a3", "a4"]
        if rules == "1.1":
            assert values(cluster, 1) == ["a0", "b1", "b2", "a3", "a4"]
        else:
            assert values(cluster, 1) == values(cluster, 0)
            with_records = [e for e in epochs(cluster, 0) if e[1] < 5]
            assert epochs(cluster, 1) == with_records
        assert row(cluster, 1) == (5, 5)


def test_g4b_an_unknown_epoch_takes_two_questions() -> None:
    leader, follower = ReplicaHouse("2.7", OTHER), ReplicaHouse("2.7")
    leader.fill(*[0] * 5, *[1] * 3, *[3] * 4)
    follower.fill(*[0] * 6, *[2] * 4)
    leader.lead(epoch=3)
    follower.follow(epoch=3)
    cuts = []
    for _ in range(2):
        carry(follower, leader)
        state = next(iter(follower.fetcher().states.values())).state
        cuts.append((follower.log().log_end_offset, state))
    assert cuts == [(6, FetchState.TRUNCATING), (5, FetchState.FETCHING)]


@pytest.mark.parametrize(
    ("rules", "cut"), [("2.0.0", 1), ("2.0.1", 2), ("2.1", 2), ("2.8", 2), ("4.2", 2)]
)
def test_g5_a_leader_without_an_entry_for_its_epoch(rules: str, cut: int) -> None:
    with settled(2, "m0", rules=rules) as cluster:
        cluster.produce("m1")
        cluster.round(1)
        cluster.elect(1)
        assert (row(cluster, 0), row(cluster, 1)) == ((2, 1), (2, 1))
        cluster.produce("m2")
        cluster.elect(0)
        assert epochs(cluster, 0) == ([(0, 0)] if rules == "2.0.0" else [(0, 0), (2, 2)])
        cluster.round(1)
        assert row(cluster, 1) == (cut, 1)
        cluster.rest()
        assert values(cluster, 1) == ["m0", "m1"]
        assert (row(cluster, 0), row(cluster, 1)) == ((2, 2), (2, 2))


@pytest.mark.parametrize("rules", ["2.8", "3.9", "4.2"])
def test_g6_a_zombie_leader(rules: str) -> None:
    with settled(3, *"abcde", rules=rules, min_insync_replicas=2) as cluster:
        cluster.isolate(0)
        cluster.notice(0)
        assert (cluster.leader, cluster.state.isr) == (1, (1, 2))
        assert epochs(cluster, 1)[-1] == (1, 5)
        cluster.round(2)
        assert row(cluster, 1) == (5, 5)
        z = cluster.produce("z", acks=1, to=0)
        waits = cluster.produce("y", to=0)
        assert (outcome(cluster, z), outcome(cluster, waits)) == (OK, None)
        assert (row(cluster, 0), cluster.consume(0)) == ((7, 5), [*"abcde"])
        n = cluster.produce("n")
        cluster.run(46_000)
        assert (outcome(cluster, waits), outcome(cluster, n)) == (ErrorCode.REQUEST_TIMED_OUT, OK)
        zombie = cluster.brokers[0].partition
        assert zombie is not None
        assert zombie.isr_state.pending == (0,)
        assert zombie.isr_state.maximal_isr == {0, 1, 2}
        assert (row(cluster, 0), row(cluster, 1), row(cluster, 2)) == ((7, 5), (6, 6), (6, 6))
        new = cluster.brokers[1].partition
        assert new is not None
        ask = FetchPartition(5, 0, 1 << 20, 1)
        params = FetchParams(2, max_wait_ms=0)
        found = zombie.fetch_records(params, ask, 100, min_one_message=True)
        assert found.error is ErrorCode.UNKNOWN_LEADER_EPOCH
        ask, params = ask._replace(current_leader_epoch=0), params._replace(replica_id=0)
        found = new.fetch_records(params, ask, 100, min_one_message=True)
        assert found.error is ErrorCode.FENCED_LEADER_EPOCH
        cluster.produce("x", to=0)
        late = cluster.produce("w", to=0)
        cluster.heal(0)
        if rules == "2.8":  # its session with ZooKeeper is over: it has to register again
            assert outcome(cluster, late) is None
            cluster.advance(2_000)
        assert outcome(cluster, late) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.rest()
        for broker in (0, 1, 2):
            assert [(r.value, r.epoch) for r in cluster.records(broker)] == [
                *((value, 0) for value in "abcde"),
                ("n", 1),
            ]
        assert isr(cluster) == (0, 1, 2)


@pytest.mark.parametrize("rules", ["2.8", "3.9", "4.2"])
@pytest.mark.parametrize("more", [1, 2])
def test_g7_an_unclean_election(rules: str, more: int) -> None:
    with settled(2, "m0", rules=rules, unclean_leader_election=True) as cluster:
        cluster.stop(1)
        for number in range(more):
            cluster.produce(f"lost {number}")
        assert row(cluster, 0) == (1 + more, 1 + more)
        cluster.stop(0)
        cluster.start(1)
        assert (cluster.leader, cluster.state.isr, row(cluster, 1)) == (1, (1,), (1, 1))
        assert is_recovering(cluster)
        cluster.produce("m2")
        cluster.start(0)
        cluster.round(0)
        assert row(cluster, 0) == (1, 1)
        cluster.rest()
        assert values(cluster, 0) == values(cluster, 1) == ["m0", "m2"]
        assert row(cluster, 0) == (2, 2)
        assert not is_recovering(cluster)  # told with the change of the ISR
        assert cluster.controller.unclean_elections == 1


@pytest.mark.parametrize("rules", ["3.6", "3.9", "4.2"])
@pytest.mark.parametrize("first", [1, 2])
def test_g8_the_last_replica_standing(rules: str, first: int) -> None:
    options = {"rules": rules, "min_insync_replicas": 2, "replicas": (2, 1, 0)}
    with settled(3, "c0", "c1", **options) as cluster:
        cluster.kill(0)
        cluster.notice(0)
        number = cluster.produce("c2")
        cluster.rest()
        assert (outcome(cluster, number), cluster.state.isr) == (OK, (2, 1))
        cluster.isolate(1)
        cluster.notice(1)
        assert isr(cluster) == (2,)
        refused = cluster.produce("refused")
        assert outcome(cluster, refused) is ErrorCode.NOT_ENOUGH_REPLICAS
        cluster.produce("x", acks=1)
        assert row(cluster, 2) == (4, 4 if rules == "3.6" else 3)
        cluster.kill(2, lose=3)
        cluster.notice(2)
        has_elr = rules == "4.2"
        assert cluster.leader == NO_LEADER
        state = cluster.state
        assert (state.isr, state.elr) == (((), (2, 1)) if has_elr else ((2,), ()))
        assert state.last_known_elr == ((2,) if has_elr else ())
        for broker in (first, 3 - first):
            cluster.heal(1) if broker == 1 else cluster.start(2)
            if has_elr:
                is_back = not cluster.brokers[1].is_isolated
                assert cluster.leader == (1 if is_back else NO_LEADER)
        cluster.start(0)
        cluster.rest()
        kept = ["c0", "c1", "c2"] if has_elr else ["c0"]
        assert [values(cluster, broker) for broker in (0, 1, 2)] == [kept] * 3
        assert cluster.leader == (1 if has_elr else 2)


def test_g9_a_slow_follower() -> None:
    with settled(3, "m0", lag_time_max_ms=10_000) as cluster:
        cluster.run(300)
        numbers = [cluster.produce(f"m{n}") for n in (1, 2, 3)]
        cluster.run(10_000, stuck=(2,))
        assert (row(cluster, 0), row(cluster, 1)) == ((4, 1), (4, 1))
        assert [outcome(cluster, n) for n in numbers] == [None] * 3
        cluster.run(5_100, stuck=(2,))
        assert isr(cluster) == (0, 1)
        assert [outcome(cluster, n) for n in numbers] == [OK] * 3
        assert row(cluster, 0) == (4, 4)
        number = cluster.produce("m4")
        cluster.run(300, stuck=(2,))
        assert (outcome(cluster, number), row(cluster, 0)) == (OK, (5, 5))
        cluster.run(1_000)
        assert isr(cluster) == (0, 1, 2)
        cluster.produce("m5")
        cluster.run(300, stuck=(2,))
        assert row(cluster, 0) == (6, 5)


@pytest.mark.parametrize("rules", ["3.6", "3.7", "4.2"])
def test_g10_the_minimum_of_in_sync_replicas(rules: str) -> None:
    with settled(3, "m0", rules=rules, min_insync_replicas=2, lag_time_max_ms=10_000) as cluster:
        waits = cluster.produce("m1")
        cluster.run(15_100, stuck=(1, 2))
        assert isr(cluster) == (0,)
        if rules == "3.6":
            assert outcome(cluster, waits) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            assert row(cluster, 0) == (2, 2)
        else:
            assert (outcome(cluster, waits), row(cluster, 0)) == (None, (2, 1))
        refused = cluster.produce("m2")
        assert outcome(cluster, refused) is ErrorCode.NOT_ENOUGH_REPLICAS
        cluster.produce("m3", acks=1)
        assert row(cluster, 0) == (3, 3 if rules == "3.6" else 1)
        cluster.run(15_000, stuck=(1, 2))
        if rules != "3.6":
            assert outcome(cluster, waits) is ErrorCode.REQUEST_TIMED_OUT
        cluster.rest()
        assert isr(cluster) == (0, 1, 2)
        assert (row(cluster, 0), values(cluster, 1)) == ((3, 3), ["m0", "m1", "m3"])


@pytest.mark.parametrize("rules", ["0.10", "1.1", "2.0", "2.8", "4.2"])
def test_g11_a_follower_behind_the_log_start(rules: str) -> None:
    with settled(2, "m0", rules=rules) as cluster:
        cluster.stop(1)
        cluster.produce("m1")
        cluster.produce("m2")
        log = cluster.log(0)
        assert log.maybe_increment_log_start_offset(2, "a test")
        cluster.start(1)
        emptied = False
        for _ in range(6):
            cluster.round(1)
            found = (cluster.log(1).log_start_offset, *row(cluster, 1), epochs(cluster, 1))
            emptied = emptied or found == (2, 2, 2, [])
        assert emptied
        cluster.rest()
        assert (cluster.log(1).log_start_offset, row(cluster, 1)) == (2, (3, 3))
        assert values(cluster, 0) == values(cluster, 1) == ["m2"]


@pytest.mark.parametrize("storage", ["engine", "light"])
@pytest.mark.parametrize("brokers", [2, 3])
def test_g12_committed_records_hide_after_a_failover(storage: Any, brokers: int) -> None:
    with settled(brokers, "m0", storage=storage) as cluster:
        cluster.produce("m1")  # the fetches that wait get it
        cluster.produce("m2")
        for broker in range(1, brokers):
            cluster.answer(broker)
            cluster.round(broker)
        for broker in range(1, brokers):
            cluster.fetch(broker)
        assert (row(cluster, 0), row(cluster, 1)) == ((3, 3), (3, 1))
        cluster.kill(0)
        cluster.notice(0)
        partition = cluster.brokers[1].partition
        assert partition is not None
        assert partition.leader_epoch_start_offset == 3
        if brokers == 2:
            assert row(cluster, 1) == (3, 3)  # the sole replica commits at once
            return
        assert (row(cluster, 1), cluster.consume(1)) == ((3, 1), ["m0"])
        hidden = ErrorCode.OFFSET_NOT_AVAILABLE, -1
        assert partition.fetch_offset(None, LATEST, is_replica=False) == hidden
        assert partition.fetch_offset(None, EARLIEST, is_replica=False) == (OK, 0)
        cluster.fetch(2)
        assert row(cluster, 1) == (3, 3)
        assert partition.fetch_offset(None, LATEST, is_replica=False) == (OK, 3)
