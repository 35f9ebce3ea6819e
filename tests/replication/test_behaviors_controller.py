"""PartitionChangeBuilderTest and what ReplicationControlManager checks: RP-87 to RP-91."""

from typing import Any

import pytest

from workbench.files.names import TopicPartition
from workbench.replication.controller import Controller, RegisteredBroker
from workbench.replication.messages import NO_LEADER, AlterPartition, LeaderAndIsr
from workbench.replication.rules import Rules
from workbench.runtime.error_codes import ErrorCode

ORDERS = TopicPartition("orders", 0)
FOUR = (1, 2, 3, 4)


def controller(
    rules: str = "4.2", *, min_isr: int = 3, dead: tuple[int, ...] = (), **state: Any
) -> Controller:
    """Return a controller of four brokers with one partition: leader 1, epoch 100."""
    made = Controller(Rules.of(rules), {"orders": {"min.insync.replicas": min_isr}})
    made.brokers = {broker: RegisteredBroker(broker, broker in dead) for broker in FOUR}
    made.partitions[ORDERS] = LeaderAndIsr(1, 100, FOUR, 200, FOUR)._replace(**state)
    return made


def ask(made: Controller, *isr: int, **request: Any) -> LeaderAndIsr | ErrorCode:
    """Ask for an ISR as the leader."""
    state = made.partitions[ORDERS]
    asked = AlterPartition(state.leader, state.leader_epoch, state.partition_epoch, isr)
    return made.alter_partition(ORDERS, asked._replace(**request))


def changed(made: Controller, *isr: int) -> LeaderAndIsr:
    """Ask for an ISR; the controller must agree."""
    found = ask(made, *isr)
    assert isinstance(found, LeaderAndIsr)
    return found


@pytest.mark.parametrize(("rules", "bumps"), [("4.2", 0), ("3.6", 0), ("3.5", 1), ("2.8", 0)])
def test_when_the_leader_epoch_rises(rules: str, bumps: int) -> None:
    """RP-88: the quorum controller before 3.6 starts an epoch for a shrink; ZooKeeper's did not."""
    made = controller(rules, isr=(1, 2, 3))
    expanded = changed(made, 1, 2, 3, 4)
    assert (expanded.leader_epoch, expanded.partition_epoch) == (100, 201)
    shrunk = changed(made, 1, 2)
    assert (shrunk.leader_epoch, shrunk.partition_epoch) == (100 + bumps, 202)
    assert ask(made, 1, 2) == shrunk  # no change, no record
    made.fence(2)
    by_controller = made.partitions[ORDERS]
    bumps += Rules.of(rules).bumps_epoch_on_shrink
    assert (by_controller.isr, by_controller.leader_epoch) == ((1,), 100 + bumps)


def test_an_isr_below_the_minimum_fills_the_elr() -> None:
    """RP-89."""
    made = controller(dead=(3,))
    state = changed(made, 1, 2)
    assert (state.isr, state.elr, state.last_known_elr) == ((1, 2), (3, 4), ())
    made = controller(dead=(), isr=(1, 2), elr=(3,), last_known_elr=(4,))
    state = changed(made, 1, 2, 3)
    assert (state.isr, state.elr, state.last_known_elr) == ((1, 2, 3), (), ())
    made = controller(isr=(1,), elr=(3,))
    state = changed(made, 1, 4)
    assert (state.isr, state.elr) == ((1, 4), (3,))
    made = controller("3.9", dead=(3,))
    assert changed(made, 1, 2).elr == ()


def test_an_unclean_shutdown_leaves_the_elr() -> None:
    """RP-90: the last known leader is kept only when the partition has none, as by default."""
    made = controller(isr=(1,), elr=(2, 3))
    made.register(3, was_clean=False)
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.elr, state.last_known_elr) == (1, (1,), (2,), ())
    assert state.leader_epoch == 100
    made = controller(isr=(1,), elr=(2, 3))
    assert made.register(3, was_clean=True) == []
    assert made.partitions[ORDERS].elr == (2, 3)


def test_a_replica_of_the_elr_is_elected() -> None:
    """RP-90."""
    made = controller(isr=(1,), elr=(3,))
    made.fence(1)
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.elr, state.leader_epoch) == (3, (3,), (1,), 101)
    assert (made.unclean_elections, state.is_recovering) == (0, False)


def test_all_replicas_are_offline() -> None:
    """RP-91."""
    made = controller(min_isr=4)
    for broker in (4, 3, 2, 1):
        made.fence(broker)
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.elr) == (NO_LEADER, (), FOUR)
    assert state.last_known_elr == (1,)
    made.register(2, was_clean=False)
    assert (made.partitions[ORDERS].elr, made.partitions[ORDERS].last_known_elr) == (
        (1, 3, 4),
        (1,),
    )
    assert made.unfence(2) == []  # it left the ELR
    assert made.unfence(3) == [ORDERS]
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.elr, state.last_known_elr) == (3, (3,), (1, 4), ())


def test_the_last_known_leader_is_elected() -> None:
    """RP-91: an unclean election; a replica of the ELR that is dead is not elected."""
    nobody: dict[str, Any] = {"leader": NO_LEADER, "isr": ()}
    made = controller(dead=(1,), last_known_elr=(1,), **nobody)
    assert made.unfence(1) == [ORDERS]
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.is_recovering) == (1, (1,), True)
    assert (state.last_known_elr, made.unclean_elections) == ((), 1)
    made = controller(dead=(1, 3), elr=(3,), last_known_elr=(1,), **nobody)
    assert made.unfence(1) == []
    assert made.partitions[ORDERS].leader == NO_LEADER


def test_unclean_elections() -> None:
    """RP-87: the first live replica in the order of the assignment, and only if it is allowed."""
    made = controller("3.9", isr=(4,), leader=4)
    assert made.fence(4) == [ORDERS]
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.leader_epoch) == (NO_LEADER, (4,), 101)
    made.set_topic_config("orders", "unclean.leader.election.enable", value=True)
    assert made.partitions[ORDERS].leader == NO_LEADER
    assert made.elect_unclean(ORDERS)
    state = made.partitions[ORDERS]
    assert (state.leader, state.isr, state.is_recovering) == (1, (1,), True)
    assert made.unclean_elections == 1
    assert not made.elect_unclean(ORDERS)  # the leader lives
    assert not changed(made, 1).is_recovering


def test_preferred_leaders() -> None:
    """RP-87: only a live member of the ISR is elected."""
    made = controller(isr=(1, 2), leader=2)
    assert made.elect(ORDERS, 1)
    assert (made.partitions[ORDERS].leader, made.partitions[ORDERS].leader_epoch) == (1, 101)
    assert not made.elect(ORDERS, 3)
    assert made.shut_down(1) == [ORDERS]
    assert (made.partitions[ORDERS].leader, made.partitions[ORDERS].isr) == (2, (2,))
    assert not made.elect(ORDERS, 1)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"leader_epoch": 101, "broker": 2}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 201}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 99, "broker": 2}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"broker": 2, "partition_epoch": 199}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 199, "new_isr": (7,)}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"new_isr": (1, 7)}, ErrorCode.INVALID_REQUEST),
        ({"new_isr": (2, 3)}, ErrorCode.INVALID_REQUEST),
        ({"new_isr": (1, 1)}, ErrorCode.INVALID_REQUEST),
        ({"new_isr": ()}, ErrorCode.INVALID_REQUEST),
        ({"is_recovering": True}, ErrorCode.INVALID_REQUEST),
        ({"new_isr": (1, 3)}, ErrorCode.INELIGIBLE_REPLICA),
        ({"new_isr": (1, 2), "broker_epochs": (1, 9)}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_changes_that_are_refused(request_: dict[str, Any], error: ErrorCode) -> None:
    """RP-14: in the order in which the controller checks."""
    made = controller(dead=(3,))
    before = made.partitions[ORDERS]
    assert ask(made, 1, 2, **request_) is error
    assert made.partitions[ORDERS] == before
    assert made.alter_partition(
        TopicPartition("nothing", 0), AlterPartition(1, 100, 200, (1,))
    ) is (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_a_leader_that_recovers_is_alone() -> None:
    """RP-91."""
    made = controller(isr=(1,), is_recovering=True)
    assert ask(made, 1, 2, is_recovering=True) is ErrorCode.INVALID_REQUEST
    assert changed(made, 1, 2).is_recovering is False
