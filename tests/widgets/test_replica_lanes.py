"""ReplicaLanes: what is shown of two real brokers' disks, under either leader."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.comparison.replicas import run, write_replica
from widgets import ReplicaLanes, _background
from widgets.live.directory_changes import DirectoryChanges
from widgets.replication import comparing
from widgets.replication.comparing import Comparing
from workbench.inspection.brokers import listings_by_broker
from workbench.loaders.tables.replica_comparison import ReplicaComparison

DISKS = Path(__file__).parents[2] / "sample_data" / "two-brokers"


@pytest.fixture(scope="module")
def compared() -> ReplicaComparison:
    return wb.compare_replicas({number: DISKS / f"broker{number}" for number in (1, 2)})


def test_the_broker_that_is_ahead_leads_by_default(compared: ReplicaComparison) -> None:
    lanes = ReplicaLanes(compared)
    shown = lanes.get_state("_shown")["_shown"]
    assert (lanes.partition, lanes.leader, shown["verdict"]) == ("ledger-0", "2", "loss")
    assert shown["divergence"] == [pytest.approx(1 / 3), "1"]
    one, two = shown["lanes"]
    assert (one["end"], one["high"]) == ([1, "3"], [1, "3"])
    assert two["end"] == [pytest.approx(2 / 3), "2"]
    assert [run[0] for run in one["epochs"]] == [0]
    assert [run[0] for run in two["epochs"]] == [0, 2]
    assert one["cut"][2] == shown["lost"][2] == "offsets 1 to 2"
    assert two["cut"] is None
    assert shown["outcome"] == (
        "If broker 2 leads: broker 1 truncates to 1 (2 offsets removed)."
        " Committed offsets 1 to 2 would be lost."
    )


def test_another_leader_truncates_the_other_log(compared: ReplicaComparison) -> None:
    lanes = ReplicaLanes(compared)
    before = lanes.to_png()
    lanes.set_state({"leader": "1"})
    one, two = lanes.get_state("_shown")["_shown"]["lanes"]
    assert one["cut"] is None
    assert two["cut"][2] == "offset 1"
    assert "broker 2 truncates to 1" in lanes.describe()
    assert lanes.to_png() != before
    lanes.set_state({"leader": "7"})
    assert "broker '7' has no log of ledger-0" in lanes.get_state("_error")["_error"]
    assert lanes.leader == "1"


def test_a_long_log_has_few_ticks_and_offsets_as_text(tmp_path: Path) -> None:
    first = 1 << 60
    compared = wb.compare_replicas(
        {
            "a": write_replica(tmp_path / "a", run(first, first + 90, 0), start=first),
            "b": write_replica(tmp_path / "b", run(first, first + 70, 0), start=first),
        }
    )
    shown = ReplicaLanes(compared).get_state("_shown")["_shown"]
    assert shown["cells"] == 0
    assert len(shown["ticks"]) <= 11
    assert [lane["end"] for lane in shown["lanes"]] == [
        [1, f"{first + 90:,}"], [pytest.approx(7 / 9), f"{first + 70:,}"],
    ]  # fmt: skip


def test_bad_names_are_refused_and_nothing_is_a_picture(compared: ReplicaComparison) -> None:
    with pytest.raises(LookupError, match="no broker has partition 'orders-9'"):
        ReplicaLanes(compared, partition="orders-9")
    with pytest.raises(LookupError, match="broker '9' has no log"):
        ReplicaLanes(compared, leader="9")
    nothing = ReplicaLanes(ReplicaComparison((), ()))
    assert nothing.describe() == "ReplicaLanes: no partition"
    assert nothing.to_png().startswith(b"\x89PNG")


# Of directories, compared in the background.


def write_brokers(root: Path, count: int = 1) -> list[Path]:
    """Write the disks of two brokers with some partitions: the first differs, the rest lag."""
    paths = [root / "b1", root / "b2"]
    with ExitStack() as stack:
        managers = [stack.enter_context(wb.LogManager([path])) for path in paths]
        for number in range(count):
            for broker, manager in enumerate(managers):
                log = manager.get_or_create_log(f"orders-{number}")
                for each in run(0, 4, 0):
                    log.append_as_follower(each.records, 0)
                for each in run(4, 6 if number else 8 - broker, 1, f"m{0 if number else broker}"):
                    log.append_as_follower(each.records, 1)
    for node_id, path in enumerate(paths, 1):
        text = f"version=1\nnode.id={node_id}\ncluster.id=KOs8FIclSEWfhgk3Xg48hg\n"
        (path / "meta.properties").write_text(text)
        for file in path.glob("*/partition.metadata"):  # the topic ids would differ
            file.unlink()
    return paths


def test_directories_of_several_brokers_are_compared(tmp_path: Path) -> None:
    paths = write_brokers(tmp_path, 3)
    shown: list[dict[str, Any]] = []
    lanes = ReplicaLanes(paths, show=lambda place, _path: shown.append(dict(place)))
    lanes.wait()
    rows = lanes.get_state("_partitions")["_partitions"]
    assert [row[:2] for row in rows] == [
        ["orders-0", "divergence"], ["orders-1", "alike"], ["orders-2", "alike"],
    ]  # fmt: skip
    assert rows[0][2].startswith("Keep the replica of broker 1: ")
    assert lanes.comparison.verdict == "divergence"
    state = lanes.get_state()
    assert state["_progress"] | {"size": 0, "bytes": 0} == {
        "state": "done", "checked": 3, "partitions": 3, "size": 0, "bytes": 0,
    }  # fmt: skip
    assert (lanes.partition, lanes.leader) == ("orders-0", "1")
    assert [row[:3] for row in state["_shown"]["differs"]] == [
        ["2", "different", "4"], ["2", "missing", "7"],
    ]  # fmt: skip
    assert [each[0] for each in state["_shown"]["lanes"][1]["differs"]] == ["different", "missing"]

    second = str(tmp_path / "b2" / "orders-0")
    lanes.answer_show("2", part=0.99)
    assert shown == [lanes.selected]
    assert (lanes.selected["partition"], lanes.selected["offset"]) == (second, 6)
    lanes.selected = {"partition": "orders-2"}
    assert lanes.partition == "orders-2"
    assert "orders-2: alike" in lanes.describe()
    assert lanes.to_png().startswith(b"\x89PNG")


def test_changed_directories_are_marked_and_compared_again_when_asked(tmp_path: Path) -> None:
    paths = write_brokers(tmp_path, 2)
    lanes = ReplicaLanes(paths)
    lanes.wait()
    with wb.LogManager([paths[1]]) as manager:
        log = manager.get_or_create_log("orders-1")
        log.append_as_follower(run(6, 7, 1)[0].records, 1)
    assert lanes.logs is not None
    lanes.relist(lanes.logs.listed_again(), DirectoryChanges(frozenset(["orders-1"])))
    assert lanes.get_state("_about")["_about"]["has_changed"]
    assert lanes.comparison.verdict == "divergence"
    assert lanes.comparison["orders-1"].replica("2").log_end_offset == 6
    lanes.answer_compare(deep=True)
    lanes.wait()
    assert not lanes.get_state("_about")["_about"]["has_changed"]
    assert lanes.comparison["orders-1"].replica("2").log_end_offset == 7


def test_what_was_compared_before_a_cancellation_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_background, "TOLD_EVERY", 0.0)
    listings = listings_by_broker(wb.open_log_directory(write_brokers(tmp_path, 3)).listing)
    brokers = {str(each): listing for each, listing in listings.items()}

    def stop(check: Comparing) -> None:
        if check.kept:
            check.cancel()

    check = Comparing(brokers, stop, deep=True)
    check.start()
    check.wait()
    assert check.status == "canceled"
    assert list(check.kept) == ["orders-0"]


def test_the_worst_are_kept_of_many_and_others_are_compared_when_they_are_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "MOST_PARTITIONS", 2)
    lanes = ReplicaLanes(write_brokers(tmp_path, 4))
    lanes.wait()
    rows = lanes.get_state("_partitions")["_partitions"]
    assert len(rows) == 2
    assert rows[0][1] == "divergence"
    about = lanes.get_state("_about")["_about"]
    assert (about["counts"], about["left_out"]) == ([["divergence", 1], ["alike", 3]], 2)
    (missing, *_) = {f"orders-{number}" for number in range(4)} - {row[0] for row in rows}
    lanes.partition = missing
    lanes.wait()
    assert lanes.get_state("_shown")["_shown"]["verdict"] == "alike"


def test_directories_of_one_broker_are_refused(tmp_path: Path) -> None:
    paths = write_brokers(tmp_path)
    with pytest.raises(LookupError, match="these directories are of one broker"):
        ReplicaLanes(paths[:1])
    with pytest.raises(LookupError, match="no broker has partition 'users-0'"):
        ReplicaLanes(paths, partition="users-0")
