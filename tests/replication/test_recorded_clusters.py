"""The schedules that real clusters played, played by the simulated cluster on real logs."""

from pathlib import Path

import pytest

from tests.golden.replication_cases import NAMES, ReplicationCase, open_replication_case
from tests.replication.recorded import Player, epochs_on_disk, records_on_disk
from tests.replication_clusters.schedules import GROUP_COORDINATOR
from workbench.replication.rules import Rules

COORDINATORS = Path(__file__).parent / "coordinator_cases"
ANSWERED = {"produce", "answer", "consume", "commit", "resumes"}


@pytest.mark.parametrize("name", NAMES)
def test_a_simulated_cluster_does_what_the_real_one_did(name: str, tmp_path: Path) -> None:
    """After each step: leader, epoch, ISR, ELR, offsets of each replica, answers to clients."""
    _play(open_replication_case(name, tmp_path))


@pytest.mark.parametrize("name", [f"{v}-group-coordinator" for v in GROUP_COORDINATOR.versions])
def test_a_simulated_coordinator_answers_what_a_real_one_did(name: str) -> None:
    """Also what a group is told when it asks for its offset."""
    case = ReplicationCase(COORDINATORS / name)
    assert [one["step"] for one in case.steps] == GROUP_COORDINATOR.steps
    _play(case)


def _play(case: ReplicationCase) -> None:
    player = Player(case)
    for number, told in enumerate(case.steps):
        step = told["step"]
        result = player.play(step)
        where = f"step {number}: {step}"
        if step["do"] in ANSWERED and step.get("answer") != "later":
            assert result == told["result"], where
        if told["state"] is not None:
            assert player.state() == told["state"], where
        if step["do"] == "keep":
            _compare_logs(case, player, step["as"])


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("3.")])
def test_followers_tell_their_broker_epoch_from_fetch_15_on(name: str, tmp_path: Path) -> None:
    """KIP-903: FetchRequest.json has `ReplicaEpoch` in version 15; this is what brokers take."""
    truth = open_replication_case(name, tmp_path).truth
    if "highest_fetch" in truth:
        rules = Rules.of(truth["versions"]["broker"])
        assert rules.tells_broker_epoch == (truth["highest_fetch"] >= 15)


def _compare_logs(case: ReplicationCase, player: Player, label: str) -> None:
    for broker in case.brokers:
        one = player.cluster.brokers[broker]
        if one.log is None:
            continue
        kept = case.directory(label, broker)
        ours = player.cluster.records(broker)
        real = [r for r in records_on_disk(kept) if r.offset >= one.log.log_start_offset]
        uses_epochs = player.cluster.rules.uses_epochs
        if not uses_epochs:  # messages of that time have none
            ours = [record._replace(epoch=-1) for record in ours]
        assert ours == real, f"{label}: {broker}"
        if uses_epochs:
            epochs = list(one.log.leader_epochs.entries)
            assert epochs == epochs_on_disk(kept), f"{label}: {broker}"
