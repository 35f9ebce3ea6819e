"""The schedules that real clusters played, played by the simulated cluster on real logs."""

from pathlib import Path

import pytest

from tests.golden.replication_cases import NAMES, ReplicationCase, open_replication_case
from tests.replication.recorded import Player, epochs_on_disk, records_on_disk


@pytest.mark.parametrize("name", NAMES)
def test_a_simulated_cluster_does_what_the_real_one_did(name: str, tmp_path: Path) -> None:
    """After each step: leader, epoch, ISR, ELR, offsets of each replica, answers to clients."""
    case = open_replication_case(name, tmp_path)
    player = Player(case)
    for number, told in enumerate(case.steps):
        step = told["step"]
        result = player.play(step)
        where = f"step {number}: {step}"
        if step["do"] in {"produce", "answer", "consume"} and step.get("answer") != "later":
            assert result == told["result"], where
        if told["state"] is not None:
            assert player.state() == told["state"], where
        if step["do"] == "keep":
            _compare_logs(case, player, step["as"])


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
