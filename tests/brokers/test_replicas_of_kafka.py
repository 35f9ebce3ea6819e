"""A cluster of real brokers plays a schedule: what brokers tell is what we read of their disks."""

from pathlib import Path

import pytest

import workbench as wb
from tests.replication_clusters.cluster import Cluster
from tests.replication_clusters.play import Player
from tests.replication_clusters.schedules import PARTITION, Schedule, do, keep, produce, until

# The leader has a record that its only follower, which was killed, gets after its restart.
SHORT = Schedule(
    "short",
    "a follower is killed, and comes back",
    [1, 2],
    [
        until("isr", [1, 2]),
        produce("m0", 1),
        do("kill", 2, lose=0),
        produce("m1", 1),
        keep("apart"),
        do("start", 2),
        until("isr", [1, 2]),
        keep("together"),
    ],
    {"min.insync.replicas": "1"},
)


@pytest.mark.broker
@pytest.mark.slow
def test_a_follower_comes_back_and_has_what_its_leader_has(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with Cluster("4.2.0", tmp_path / "cluster", SHORT.replicas) as cluster:
        played = Player(cluster, kept).play(SHORT)
    assert [one["result"]["offset"] for one in played if one["step"]["do"] == "produce"] == [0, 1]

    def batches(label: str, broker: int) -> list[tuple[int, int, int]]:
        partition = wb.open_log_directory(kept / label / f"broker{broker}")[PARTITION]
        names = ["base_offset", "partition_leader_epoch", "crc"]
        return [tuple(row) for s in partition.segments for row in s.batches.rows[names].tolist()]

    assert batches("apart", 2) == batches("apart", 1)[:1]
    assert batches("together", 2) == batches("together", 1) == batches("apart", 1)
    ends = {b: at["log_end_offset"] for b, at in played[-1]["state"]["replicas"].items()}
    assert ends == {"1": 2, "2": 2}
    assert played[-1]["state"]["isr"] == [1, 2]
