"""One screen: views are made when their tab is opened, and follow one selection."""

from pathlib import Path

import pytest

import workbench as wb
from widgets import LogExplorer, Workbench
from widgets.frame.tab_names import CLEANING, EXPLORE, OVERVIEW

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"


def texts_of(screen: Workbench) -> list[str]:
    place = screen.tabs.children[screen.tabs.selected_index]
    return [each.text for each in place.children if hasattr(each, "text")]


def test_a_view_is_made_when_its_tab_is_opened_and_only_once() -> None:
    screen = Workbench(SHOP)
    assert list(screen.views) == [OVERVIEW]
    made = {}
    for name in screen.titles:
        screen.tab = name
        made[name] = screen.views[name]
        assert screen.tabs.children[screen.tabs.selected_index].children == (made[name],)
    assert list(made) == list(screen.views)
    for name in screen.titles:
        screen.tab = name
        assert screen.views[name] is made[name]


def test_all_views_follow_one_selection() -> None:
    screen = Workbench(SHOP)
    for name in screen.titles:
        screen.tab = name
    screen.explorer.selected = {"partition": "payments-0", "offset": 4736}
    assert screen.views["Transactions"].selected["offset"] == 4736
    assert screen.views["Disk"].selected["partition"] == "payments-0"
    screen.views["Groups"].selected = {"partition": "clicks-0", "offset": 500}
    assert screen.explorer.selected["partition"] == "clicks-0"
    screen.views["Records"].brush = [1_732_600_000_000.0, 1_732_700_000_000.0]
    assert screen.views["Groups"].window == [1_732_600_000_000.0, 1_732_700_000_000.0]


def test_disk_begins_at_the_top_and_is_in_the_address() -> None:
    """The partition that Explore begins with was chosen by nobody."""
    screen = Workbench(SHOP)
    screen.tab = "Disk"
    disk = screen.views["Disk"]
    assert disk.at == []
    screen.explorer.selected = {"partition": "payments-1"}
    assert disk.at == ["payments", "payments-1"]
    disk.at = ["payments"]
    address = dict(screen.bar.get_state("_address")["_address"]["parts"])
    assert address["at"] == "payments"
    screen.bar.answer_move(-1)
    assert disk.at == ["payments", "payments-1"]
    screen.bar.answer_open(address)
    assert disk.at == ["payments"]
    other = Workbench(SHOP)
    other.bar.answer_open(address)
    assert (other.tab, other.views["Disk"].at) == ("Disk", ["payments"])


def test_records_searches_the_topic_that_is_selected_while_its_tab_is_open() -> None:
    screen = Workbench(SHOP)
    screen.explorer.selected = {"partition": "orders-1", "offset": 3}
    screen.tab = "Records"
    records = screen.views["Records"]
    assert (records.topic, records.selected["offset"]) == ("orders", 3)
    screen.explorer.selected = {"partition": "customers-0"}
    assert (records.topic, records.selected["partition"]) == ("customers", "customers-0")
    screen.tab = "Explore"
    search = records.search
    screen.explorer.selected = {"partition": "clicks-0"}
    assert records.search is search  # nobody sees it: no search begins
    screen.tab = "Records"
    assert records.topic == "clicks"


def test_another_topic_in_records_is_selected_in_every_view() -> None:
    screen = Workbench(SHOP)
    screen.explorer.selected = {"partition": "orders-1", "offset": 3}
    screen.tab = "Records"
    screen.views["Records"].topic = "customers"
    assert screen.explorer.selected["partition"] == "customers-0"
    assert screen.views["Records"].selected["offset"] is None


def test_cleaning_is_that_of_the_selected_partition() -> None:
    screen = Workbench(SHOP)
    screen.explorer.selected = {"partition": "customers-1"}
    screen.tab = CLEANING
    first = screen.views[CLEANING]
    assert first.partition.name == "customers-1"
    screen.explorer.selected = {"partition": "customers-0"}
    assert screen.views[CLEANING].partition.name == "customers-0"
    screen.tab = EXPLORE
    screen.explorer.selected = {"partition": "orders-1"}
    assert screen.views[CLEANING].partition.name == "customers-0"  # made when it is looked at
    screen.tab = CLEANING
    assert screen.views[CLEANING].partition.name == "orders-1"


def test_what_cannot_be_shown_is_said_in_its_tab(tmp_path: Path) -> None:
    screen = Workbench(wb.open_log_directory(tmp_path))
    for name in screen.titles:
        screen.tab = name
        assert name in screen.views or texts_of(screen), name
    screen.tab = CLEANING
    assert texts_of(screen) == ["Select a partition above, or in Explore."]
    with pytest.raises(LookupError, match="no tab Nowhere; tabs: Overview"):
        screen.tab = "Nowhere"


@pytest.mark.parametrize("name", ["era-0.8.2.2", "era-2.8.2", "damaged"])
def test_it_opens_any_directory(name: str) -> None:
    screen = Workbench(SAMPLES / name)
    for tab in screen.titles:
        screen.tab = tab
        assert tab in screen.views or texts_of(screen), tab


def test_disks_of_several_brokers_have_a_tab_of_replicas() -> None:
    brokers = [SAMPLES / "two-brokers" / f"broker{number}" for number in (1, 2)]
    screen = Workbench(brokers)
    assert "Replicas" not in Workbench(SHOP).titles
    for name in screen.titles:
        screen.tab = name
        assert name in screen.views or "no __cluster_metadata-0" in str(texts_of(screen)), name
    screen.tab = "Replicas"
    view = screen.views["Replicas"]
    view.wait()
    assert view.comparison["ledger-0"].verdict == "loss"
    view.answer_show("2", offset="1")
    assert screen.tab == EXPLORE
    assert screen.explorer.selected["partition"] == str(brokers[1] / "ledger-0")
    assert screen.explorer.selected["offset"] == 1
    roots = [n for n in screen.explorer.get_state()["_directory"]["nodes"] if n["kind"] == "root"]
    assert [node["chip"] for node in roots] == ["broker 1", "broker 2"]

    # Neither two directories of one partition nor two node ids are a mistake here.
    screen.explorer.verify_all().wait()
    assert screen.explorer.get_state("_findings")["_findings"] == []
    assert screen.views["Files"].findings == []


def test_one_of_several_brokers_is_picked_and_is_on_the_way_back() -> None:
    brokers = [SAMPLES / "two-brokers" / f"broker{number}" for number in (1, 2)]
    screen = Workbench(brokers)
    screen.explorer.selected = {"partition": str(brokers[1] / "ledger-0")}
    screen.bar.show_values = False
    screen.bar.answer_pick("broker", "broker 2")
    assert (screen.broker, screen.bar.broker) == ("2", "2")
    assert [root.path for root in screen.explorer.logs.roots] == [str(brokers[1])]
    assert screen.explorer.selected["partition"] == "ledger-0"  # the same replica
    assert screen.explorer.show_values is screen.bar.show_values is False
    alone = Workbench(brokers[1])
    for name in screen.titles:
        screen.tab = name
        if name not in {OVERVIEW, "Replicas"}:
            alone.tab = name
            view, other = screen.views.get(name), alone.views.get(name)
            for each in filter(None, (view, other)):
                if hasattr(each, "wait"):
                    each.wait()
            assert (view and view.describe()) == (other and other.describe()), name
    screen.tab = "Replicas"
    screen.views["Replicas"].wait()
    screen.views["Replicas"].answer_show("1", offset="1")  # a replica that is not shown
    assert screen.broker == ""
    assert screen.explorer.selected["offset"] == 1
    assert screen.explorer.selected["partition"] in screen.explorer.logs
    screen.bar.answer_move(-1)
    assert (screen.broker, screen.tab) == ("2", "Replicas")
    screen.bar.answer_open({"tab": EXPLORE, "broker": "1"})
    assert (screen.broker, screen.tab) == ("1", EXPLORE)
    screen.bar.answer_pick("broker", "all")
    assert screen.broker == ""
    with pytest.raises(LookupError, match="no broker 7"):
        screen.bar.answer_pick("broker", "7")
    assert Workbench(SHOP).bar.get_state("_brokers")["_brokers"] == []


def test_a_saved_notebook_shows_the_explorers_picture() -> None:
    data = Workbench(SHOP)._repr_mimebundle_()
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["text/plain"] == LogExplorer(SHOP).describe()


def test_findings_are_one_list_for_the_explorer_and_the_tab_of_all() -> None:
    screen = Workbench(SAMPLES / "damaged")
    screen.tab = "Findings"
    view = screen.views["Findings"]
    view.verify_all().wait()
    assert view.listed() == screen.explorer.get_state("_findings")["_findings"]
    outside = next(each for each in view.listed() if each["partition"] is None)
    view.answer_show(None, None, None, outside["path"])
    assert screen.tab == EXPLORE
    assert screen.explorer.file == outside["path"]
    screen.tab = "Findings"
    view.kind, view.topic = "crc", "flipped-byte"
    (row,) = view.listed()
    place = {"partition": row["partition"], "segment": int(row["segment"])}
    view.selected = place | {"position": row["batch_position"], "offset": None}
    assert screen.explorer.selected["position"] == row["batch_position"]
    assert view.to_png().startswith(b"\x89PNG")
    assert view.describe() == f"FindingView(damaged: {len(view.verifier.book.rows)} findings)"
