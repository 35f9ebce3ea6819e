"""The palette: a few letters find a place in any directory, also in one of 10,000 logs."""

import time
from pathlib import Path

import pytest

import workbench as wb
from tests.waiting import wait_until
from widgets import GroupView, RecordBrowser, Workbench
from widgets.frame.palette import MOST_FOUND, Palette

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
TABS = ("Overview", "Records")


@pytest.fixture(name="screen")
def screen_() -> Workbench:
    return Workbench(SHOP)


def test_names_that_begin_so_come_first_and_groups_when_they_are_read() -> None:
    logs = wb.open_log_directory(SHOP)
    palette = Palette(lambda: logs, TABS)
    palette.find("", None)
    wait_until(lambda: not palette.find("x", None)["is_reading"])
    found = [(kind, name) for kind, name, *_ in palette.find("ord", None)["found"]]
    assert found[0] == ("topic", "orders")
    assert ("group", "order-dashboard") in found
    assert found.index(("partition", "orders-0")) < found.index(("tab", "Records"))
    words = [(kind, name) for kind, name, *_ in palette.find("2 ORD", None)["found"]]
    assert words[0] == ("partition", "orders-2")


@pytest.mark.parametrize("text", ["orders-0 442", "orders 0 442", "orders-0@442", "442"])
def test_an_offset_is_one_of_the_partition_that_is_named_or_selected(text: str) -> None:
    logs = wb.open_log_directory(SHOP)
    found = Palette(lambda: logs, TABS).find(text, "orders-0")["found"]
    assert found[0] == ["offset", "orders-0", "this offset", "442"]


def test_each_kind_leads_to_its_view(screen: Workbench) -> None:
    bar = screen.bar
    bar.answer_go("offset", "orders-1", "12")
    assert screen.tab == "Explore"
    assert (screen.explorer.selected["partition"], screen.explorer.selected["offset"]) == (
        "orders-1",
        12,
    )
    bar.answer_go("group", "suggestions", "")
    view = screen.views[screen.tab]
    assert isinstance(view, GroupView)
    assert view.group == "suggestions"
    bar.answer_go("key", "O-48211", "")
    records = screen.views[screen.tab]
    assert isinstance(records, RecordBrowser)
    records.wait()
    assert records.result["found"] == 1
    bar.answer_go("topic", "payments", "")
    assert screen.explorer.selected["partition"] == "payments-0"
    bar.answer_go("tab", "Disk", "")
    assert screen.tab == "Disk"


def test_ten_thousand_logs_are_searched_as_fast_as_one_types(tmp_path: Path) -> None:
    for number in range(10_000):
        folder = tmp_path / f"topic-with-a-name-{number // 10}-{number % 10}"
        folder.mkdir()
        (folder / f"{0:020}.log").touch()
    logs = wb.open_log_directory(tmp_path)
    palette = Palette(lambda: logs, TABS)
    palette.find("", None)  # names are read once
    wait_until(lambda: not palette.find("x", None)["is_reading"])
    begin = time.process_time()
    found = [palette.find(text, None)["found"] for text in ("t", "topic name", "999", "name-777-3")]
    assert (time.process_time() - begin) / len(found) < 0.2
    assert max(map(len, found)) <= MOST_FOUND + 3
    assert found[-1][0][1] == "topic-with-a-name-777-3"
