"""PlaceBar in a real browser: a place is typed or picked, and refusals are told."""

from pathlib import Path

from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets.frame.place_bar import PlaceBar
from workbench.runtime.times import LONGEST_TIME

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def test_a_place_is_picked_by_keys(page: Page, show: Show) -> None:
    moves: list[int] = []
    bar = PlaceBar(wb.open_log_directory(SHOP), move=moves.append)
    show(bar)
    segment = page.get_by_label("Segment, by its base offset")
    expect(segment).to_be_disabled()
    topic = page.get_by_label("Topic", exact=True)
    topic.fill("payments")
    topic.press("Enter")
    until(page, lambda: bar.selected["partition"] == "payments-0")
    expect(page.get_by_label("Partition", exact=True)).to_have_value("payments-0")
    expect(topic).to_have_value("payments")
    offset = page.get_by_label("Offset", exact=True)
    offset.fill("4736")
    offset.press("Enter")
    until(page, lambda: bar.selected["offset"] == 4736)
    offset.fill("many")
    offset.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("expected a number, found 'many'")
    offset.press("Escape")
    expect(offset).to_have_value("4736")
    page.get_by_role("button", name="Hide keys, values and headers").click()
    until(page, lambda: not bar.show_values)
    expect(page.get_by_role("button", name="Back")).to_be_disabled()


def test_what_became_of_an_offset_is_one_click_away(page: Page, show: Show) -> None:
    logs = wb.open_log_directory(SHOP)
    chosen = {"partition": "payments-0", "segment": None, "position": None, "offset": 4736}
    bar = PlaceBar(logs, move=lambda _by: None, selected=chosen)
    bridge = show(bar)
    page.get_by_role("button", name="What became of this offset?").click()
    told = page.get_by_role("region", name="What became of the offset")
    expect(told).to_contain_text(logs["payments-0"].fate(4736).conclusion)
    expect(told).to_contain_text("read_committed")
    bar.selected = chosen | {"offset": 12}
    bridge.push()
    expect(told).to_be_hidden()  # it was about another one
    bar.selected = chosen | {"offset": None}
    bridge.push()
    expect(page.get_by_role("button", name="What became of this offset?")).to_be_hidden()


def test_a_zone_holds_for_what_is_shown_and_typed(page: Page, show: Show) -> None:
    bar = PlaceBar(wb.open_log_directory(SHOP), move=lambda _by: None)
    bridge = show(bar)
    page.get_by_label("Time zone of every view").select_option("America/Sao_Paulo")
    until(page, lambda: bar.zone == "America/Sao_Paulo")
    bridge.push()
    start = page.get_by_label("From, a time in America/Sao_Paulo")
    start.fill("2026-11-21 12:00")
    start.press("Enter")
    until(page, lambda: bar.times == [1_795_273_200_000, LONGEST_TIME])  # 15:00 UTC
    expect(start).to_have_value("2026-11-21T12:00:00-03")
    page.get_by_label("Time zone of every view").select_option("UTC")
    until(page, lambda: bar.zone == "UTC")
    bridge.push()
    start = page.get_by_label("From, a time in UTC")
    expect(start).to_have_value("2026-11-21T15:00:00Z")
    start.fill("2026-11-21")
    start.press("Enter")
    until(page, lambda: bar.address_of_times() == {"from": "2026-11-21T00:00:00Z", "to": ""})
    bar.zone = "Asia/Kolkata"  # as a link says
    bridge.push()
    expect(page.get_by_label("From, a time in Asia/Kolkata")).to_have_value(
        "2026-11-21T05:30:00+05:30"
    )
    assert bar.address_of_times()["zone"] == "Asia/Kolkata"


def test_a_range_of_time_is_typed_and_cleared(page: Page, show: Show) -> None:
    bar = PlaceBar(wb.open_log_directory(SHOP), move=lambda _by: None)
    show(bar)
    start, stop = page.get_by_label("From, a time in UTC"), page.get_by_label("To, a time in UTC")
    clear = page.get_by_role("button", name="All times")
    expect(clear).to_be_hidden()
    start.fill("2024-11-26 10:30")
    start.press("Enter")
    until(page, lambda: bar.times == [1_732_617_000_000, LONGEST_TIME])
    expect(start).to_have_value("2024-11-26T10:30:00Z")
    expect(stop).to_have_value("")
    stop.fill("2024-11-26")
    stop.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is empty")
    stop.fill("2024-11-27")
    stop.press("Enter")
    until(page, lambda: bar.times == [1_732_617_000_000, 1_732_665_600_000])
    expect(stop).to_have_value("2024-11-27")
    expect(page.get_by_role("alert")).to_be_hidden()
    clear.click()
    until(page, lambda: bar.times == [])
    expect(start).to_have_value("")
