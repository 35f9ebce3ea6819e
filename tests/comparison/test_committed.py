"""Bounds of what was committed, with and without the in-sync replicas."""

from pathlib import Path

import workbench as wb
from tests.comparison.replicas import Written, run, write_replica
from workbench.comparison.committed import Committed, LostRange, committed_prefix
from workbench.comparison.disks import BrokerDisks
from workbench.comparison.pairs import compare_all
from workbench.comparison.replica import Replica, read_replica


def read(**brokers: Path) -> list[Replica]:
    found = []
    for name, path in brokers.items():
        disks = BrokerDisks(name, wb.open_log_directory(path).listing)
        (partition,) = disks.logs.values()
        found.append(read_replica(disks, partition))
    return found


def committed(replicas: list[Replica], isr: set[str] | None) -> Committed:
    ahead = max(replicas, key=lambda replica: replica.rank)
    return committed_prefix(replicas, ahead, compare_all(replicas, is_compacted=False), isr)


def test_in_sync_replicas_bound_what_can_be_committed(tmp_path: Path) -> None:
    replicas = read(
        a=write_replica(tmp_path / "a", run(0, 20, 0), high_watermark=8),
        b=write_replica(tmp_path / "b", run(0, 15, 0), high_watermark=10),
        c=write_replica(tmp_path / "c", run(0, 12, 0), high_watermark=5),
    )
    bounds = {
        isr: (found.at_least, found.at_most)
        for isr in (None, "a", "ab", "abc", "c")
        for found in [committed(replicas, None if isr is None else set(isr))]
    }
    assert bounds == {None: (10, 20), "a": (10, 20), "ab": (10, 15), "abc": (10, 12), "c": (10, 12)}


def test_metadata_older_than_a_high_watermark_does_not_lower_it(tmp_path: Path) -> None:
    replicas = read(
        a=write_replica(tmp_path / "a", run(0, 20, 0), high_watermark=18),
        b=write_replica(tmp_path / "b", run(0, 15, 0), high_watermark=10),
    )
    assert committed(replicas, {"a", "b"}) == Committed(18, 18, ())


def test_the_log_start_offset_was_committed(tmp_path: Path) -> None:
    replicas = read(a=write_replica(tmp_path / "a", run(0, 90, 0), start=60))
    assert committed(replicas, None) == Committed(60, 90, ())


def test_only_what_lies_past_the_common_history_is_lost(tmp_path: Path) -> None:
    replicas = read(
        a=write_replica(tmp_path / "a", run(0, 12, 0), high_watermark=11),
        b=write_replica(tmp_path / "b", [*run(0, 9, 0), Written(9, 3, 1, "b")], high_watermark=3),
    )
    found = committed(replicas, None)
    assert found == Committed(9, 12, (LostRange("a", 9, 11, is_on_disk=True),))
