"""The line above all views: a place is picked by its parts, and the way back leads through them."""

from pathlib import Path

import pytest

import workbench as wb
from widgets import Workbench
from widgets.frame.place_bar import PlaceBar
from widgets.frame.tab_names import EXPLORE, GROUPS, OVERVIEW, RECORDS
from workbench.runtime.times import LONGEST_TIME

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def screen() -> Workbench:
    return Workbench(SHOP)


def test_each_part_of_a_place_is_picked(screen: Workbench) -> None:
    bar = screen.bar
    bar.answer_pick("topic", "payments")
    assert screen.explorer.selected["partition"] == "payments-0"
    bar.answer_pick("partition", "1")
    assert screen.explorer.selected["partition"] == "payments-1"
    bar.answer_pick("partition", "orders-0")
    bar.answer_pick("segment", " 442 ")
    assert screen.explorer.selected["segment"] == 442
    bar.answer_pick("offset", "902")
    assert screen.explorer.selected["offset"] == 902
    assert bar.selected == screen.explorer.selected
    state = bar.get_state()
    assert state["_topic"] == "orders"
    assert state["_partitions"] == ["orders-0", "orders-1", "orders-2"]
    assert "442" in state["_segments"]
    assert bar.describe() == "PlaceBar: shop-4.3.1 > orders-0 > 442 > 902"


@pytest.mark.parametrize(
    ("part", "text", "said"),
    [
        ("topic", "nope", "no topic nope"),
        ("partition", "99", "no partition 99"),
        ("segment", "443", "has no segment 443"),
        ("offset", "x", "expected a number, found 'x'"),
        ("offset", "99999999", "99999999"),
    ],
)
def test_what_is_not_there_is_refused_and_nothing_changes(
    screen: Workbench, part: str, text: str, said: str
) -> None:
    screen.bar.answer_pick("topic", "orders")
    before = dict(screen.explorer.selected)
    screen.bar.receive(screen.bar, {"kind": "pick", "id": 1, "part": part, "text": text}, [])
    assert said in screen.bar.get_state("_error")["_error"]
    assert screen.explorer.selected == screen.bar.selected == before


def test_the_way_back_leads_through_places_and_tabs() -> None:
    screen = Workbench(SHOP)
    assert screen.bar.get_state("_moves")["_moves"] == {"back": False, "forward": False}
    first = dict(screen.explorer.selected)
    screen.tab = EXPLORE
    screen.bar.answer_pick("topic", "payments")
    screen.bar.answer_move(-1)
    assert (screen.tab, screen.explorer.selected) == (EXPLORE, first)
    screen.bar.answer_move(-1)
    assert screen.tab == OVERVIEW
    screen.bar.answer_move(-1)  # there is nothing before
    assert screen.bar.get_state("_moves")["_moves"] == {"back": False, "forward": True}
    screen.bar.answer_move(1)
    screen.bar.answer_move(1)
    assert (screen.tab, screen.explorer.selected["partition"]) == (EXPLORE, "payments-0")
    screen.bar.answer_move(-1)
    screen.bar.answer_pick("topic", "customers")  # what was forward is gone
    assert screen.bar.get_state("_moves")["_moves"] == {"back": True, "forward": False}


def test_the_tab_of_an_address_opens(screen: Workbench) -> None:
    screen.bar.tab = GROUPS
    assert screen.tab == GROUPS
    screen.bar.tab = "Nowhere"
    assert screen.tab == GROUPS


def test_values_are_shown_in_every_view_or_in_none() -> None:
    screen = Workbench(SHOP, show_values=False)
    screen.tab = EXPLORE
    screen.bar.answer_pick("partition", "orders-0")
    place = "orders-0", "0", 0, 5
    hidden = str(screen.explorer.answer_records(*place))
    screen.tab = RECORDS
    screen.tab = GROUPS
    group = screen.views[GROUPS]
    screen.bar.show_values = True
    assert screen.explorer.lens.show_values
    assert screen.views[RECORDS].show_values
    assert screen.views[GROUPS] is not group
    assert screen.views[GROUPS].lens.show_values
    shown = str(screen.explorer.answer_records(*place))
    assert "customer" in shown
    assert "customer" not in hidden
    screen.views[RECORDS].show_values = False
    assert not screen.bar.show_values
    assert str(screen.explorer.answer_records(*place)) == hidden


def test_the_fate_of_an_offset_is_that_of_its_partition() -> None:
    logs = wb.open_log_directory(SHOP)
    bar = PlaceBar(logs, move=lambda _by: None)
    with pytest.raises(LookupError, match="choose a partition first"):
        bar.answer_fate("5")
    bar.selected = {"partition": "customers-0"}
    told, _ = bar.answer_fate("1000000")
    fate = logs["customers-0"].fate(1_000_000)
    assert told == {"conclusion": fate.conclusion, "rows": fate.rows()}
    with pytest.raises(ValueError, match="expected an offset, found '-1'"):
        bar.answer_fate("-1")


def test_one_range_of_time_is_shown_in_every_view_that_has_times() -> None:
    screen = Workbench(SHOP)
    screen.tab = GROUPS
    screen.bar.answer_times("2024-11-26", "2024-11-26T12:00:00+01:00")
    times = [1_732_579_200_000.0, 1_732_618_800_000.0]
    assert screen.bar.times == screen.views[GROUPS].window == times
    screen.tab = RECORDS
    records = screen.views[RECORDS]
    assert records.brush == times
    records.topic = "payments"
    screen.views[GROUPS].group = "suggestions"
    assert screen.bar.times == records.brush == screen.views[GROUPS].window == times
    assert screen.bar.describe().endswith(
        "from 2024-11-26T00:00:00.000Z to 2024-11-26T11:00:00.000Z"
    )
    records.brush = []
    assert screen.bar.times == screen.views[GROUPS].window == []
    screen.bar.answer_move(-1)
    assert screen.bar.times == records.brush == times
    screen.bar.answer_move(1)
    assert screen.bar.times == []


def test_a_range_has_open_ends_and_refuses_what_is_none() -> None:
    bar = PlaceBar(wb.open_log_directory(SHOP), move=lambda _by: None)
    bar.answer_times("2024-11-26", " ")
    assert bar.times == [1_732_579_200_000.0, float(LONGEST_TIME)]
    bar.answer_times("", "2024-11-26")
    assert bar.times == [0.0, 1_732_579_200_000.0]
    with pytest.raises(ValueError, match="'noon' is not a time"):
        bar.answer_times("noon", "")
    with pytest.raises(ValueError, match="is empty"):
        bar.answer_times("2024-11-26", "2024-11-26")
    assert bar.times == [0.0, 1_732_579_200_000.0]
    bar.answer_times("", "")
    assert bar.times == []


def test_a_day_of_the_overview_leads_to_its_records() -> None:
    screen = Workbench(SHOP)
    overview = screen.views[OVERVIEW]
    overview.wait()
    rows = overview.get_state("_sections")["_sections"]["days"]["rows"]
    overview.answer_lead("days", next(at for at, row in enumerate(rows) if row[0] == "2024-11-26"))
    assert screen.tab == RECORDS
    assert screen.bar.times == [1_732_579_200_000.0, 1_732_665_600_000.0]
    assert (screen.views[RECORDS].topic, screen.views[RECORDS].brush) == ("", screen.bar.times)


def test_an_address_says_what_is_shown_and_shows_it_again() -> None:
    screen = Workbench(SHOP)
    screen.tab = RECORDS
    records = screen.views[RECORDS]
    records.topic = "orders"
    records.query, records.order, records.newest_first = "Lisbon", "offset", True
    records.columns = ["offset", '$["a,b"]', "value"]
    first = screen.bar.get_state("_address")["_address"]
    assert first["parts"] == {
        "tab": "Records", "partition": "orders-0", "segment": "0", "topic": "orders",
        "query": "Lisbon", "sort": "-offset", "columns": 'offset,$["a,b"],value',
    }  # fmt: skip
    screen.tab = GROUPS
    screen.views[GROUPS].group = "suggestions"
    config = "retention.ms=1, orders:cleanup.policy=compact,delete"
    screen.views[GROUPS].answer_conditions([config], "", "2026-01-01")
    there = screen.bar.get_state("_address")["_address"]
    assert there["number"] > first["number"]
    assert there["parts"]["group"] == "suggestions"
    assert there["parts"]["at"] == "2026-01-01T00:00:00.000Z"
    assert there["parts"]["config"] == config
    screen.bar.answer_open({"tab": RECORDS, "topic": "clicks", "partition": "clicks-0"})
    assert (records.query, records.topic, records.columns[0]) == ("", "clicks", "partition")
    for parts in (first["parts"], there["parts"]):
        screen.bar.answer_open(parts)
        assert screen.bar.get_state("_address")["_address"]["parts"] == parts
    other = Workbench(SHOP)
    other.bar.answer_open(first["parts"])
    assert other.views[RECORDS].query == "Lisbon"
    assert other.bar.get_state("_address")["_address"]["parts"] == first["parts"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"tab": "Nowhere"}, "no tab Nowhere"),
        ({"partition": "nowhere-0"}, "unknown partition 'nowhere-0'"),
        ({"partition": "orders-0", "offset": "x"}, "offset is 'x' in the address"),
        ({"from": "noon"}, "'noon' is not a time"),
        ({"tab": "Records", "topic": "nowhere"}, "unknown topic 'nowhere'"),
        ({"tab": "Groups", "group": "nowhere"}, "no record of group 'nowhere'"),
    ],
)
def test_an_address_that_is_wrong_is_refused_and_what_is_shown_is_told(
    parts: dict[str, str], message: str
) -> None:
    screen = Workbench(SHOP)
    screen.bar.receive(None, {"kind": "open", "id": 1, "parts": parts}, [])
    assert message in screen.bar.get_state("_error")["_error"]
    told = screen.bar.get_state("_address")["_address"]["parts"]
    assert told["tab"] == screen.tab
    assert told.get("partition") == screen.explorer.selected["partition"]
