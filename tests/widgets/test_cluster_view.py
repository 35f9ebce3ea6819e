"""ClusterView without a browser: its moments, what a moment holds, and what it says of old eras."""

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from widgets import ClusterView, Workbench
from workbench.errors import StateUnknownError

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"


def asked(view: ClusterView, at: int) -> Any:
    content, buffers = view.answer_moment(at)
    assert (content["at"], buffers) == (at, [])
    return content["tables"]


def test_every_change_of_the_log_is_in_one_moment() -> None:
    view = ClusterView(SHOP)
    rows = wb.open_log_directory(SHOP).inspect.cluster_changes().to_pylist()
    assert sum(len(moment.changes) for moment in view.moments) == len(rows)
    times = [moment.timestamp for moment in view.moments]
    assert len(set(times)) == len(times)


def test_a_moment_has_the_tables_of_inspect_at_its_offset() -> None:
    view, inspect = ClusterView(SHOP), wb.open_log_directory(SHOP).inspect
    at = max(n for n, moment in enumerate(view.moments) if moment.offset <= 40)
    offset = view.moments[at].offset
    tables = asked(view, at)
    names = [row[0] for row in tables["Topics"]]
    assert names == inspect.topics(offset).column("topic").to_pylist()
    assert "__consumer_offsets" not in names
    assert len(tables["Configurations"]) == inspect.configs(offset).num_rows
    assert tables["Leaders"][0] == ["clicks-0", "1", "0", "1", "1", ""]
    assert view.get_state("_cluster")["_cluster"]["shown"]["at"] == len(view.moments) - 1


def test_a_moment_that_is_not_there_is_an_error() -> None:
    view = ClusterView(SHOP)
    view.receive(view, {"kind": "moment", "id": 1, "at": 100_000}, [])
    assert isinstance(view.last_error, ValueError)


def test_the_code_and_the_picture_are_of_the_moment() -> None:
    view = ClusterView(SHOP)
    view.at = 3
    assert f"topics(at={view.moments[3].offset})" in view.query
    assert f"offset {view.moments[3].offset:,}" in view.describe()
    assert view.to_png().startswith(b"\x89PNG")


def test_a_directory_of_zookeepers_era_says_so_in_its_tab() -> None:
    with pytest.raises(StateUnknownError, match="ZooKeeper"):
        ClusterView(SAMPLES / "era-2.8.2")
    screen = Workbench(SAMPLES / "era-2.8.2")
    screen.tab = "Cluster"
    (place,) = screen.tabs.children[screen.tabs.selected_index].children
    assert "in ZooKeeper alone" in place.text
