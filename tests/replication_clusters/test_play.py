"""What a schedule does to files, without a cluster."""

import struct
from pathlib import Path

import pytest

from tests.replication_clusters.play import Player, remove_last_batches
from tests.replication_clusters.schedules import SCHEDULES


def _batch(offset: int, size: int) -> bytes:
    return struct.pack(">qi", offset, size) + bytes(size)


def test_a_loss_of_power_removes_whole_batches_from_the_end(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(_batch(0, 50) + _batch(3, 20) + _batch(4, 70))
    assert remove_last_batches(log, 0) == []
    assert remove_last_batches(log, 2) == [3, 4]
    assert log.read_bytes() == _batch(0, 50)
    with pytest.raises(ValueError, match="1 batches, not 2"):
        remove_last_batches(log, 2)


def test_a_player_knows_every_step_and_every_broker_of_the_schedules() -> None:
    for schedule in SCHEDULES.values():
        for step in schedule.steps:
            assert hasattr(Player, f"_{step['do']}")
            named = {step[name] for name in ("broker", "to", "from") if name in step}
            assert named <= set(schedule.replicas)
