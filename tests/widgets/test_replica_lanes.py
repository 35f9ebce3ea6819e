"""ReplicaLanes: what is shown of two real brokers' disks, under either leader."""

from pathlib import Path

import pytest

import workbench as wb
from tests.comparison.replicas import run, write_replica
from widgets import ReplicaLanes
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
