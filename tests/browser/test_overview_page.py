"""Overview in a real browser: numbers, a treemap, and tables whose rows lead on."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import Overview, WhatIfView

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHOP = SAMPLES / "shop-4.3.1"


def test_rows_and_topics_lead_on(page: Page, show: Show) -> None:
    led = []
    view = Overview(SHOP, lead=lambda section, target: led.append((section, target)))
    view.wait()
    show(view)
    expect(page.locator(".klw-overcard[data-state=done]")).to_have_count(10)
    groups = page.get_by_role("grid", name="Groups by lag")
    groups.focus()
    groups.press("ArrowDown")
    groups.press("Enter")
    until(page, lambda: len(led) == 1)
    assert (led[0][0], led[0][1].group) == ("groups", "suggestions")
    transactions = page.get_by_role("grid", name="Open transactions")
    transactions.get_by_text("payments-eu", exact=True).click()
    until(page, lambda: len(led) == 2)
    assert led[1][1].partition == "payments-0"
    page.get_by_role("option", name="payments").click(position={"x": 8, "y": 8})
    until(page, lambda: len(led) == 3)
    assert led[2] == ("sizes", led[2][1]._replace(topic="payments"))
    page.get_by_role("button", name=re.compile(r"stuck: \d")).click()
    expect(page.locator(".klw-overcard[data-name=stuck]")).to_be_focused()


def test_a_day_leads_to_its_records(page: Page, show: Show) -> None:
    led = []
    view = Overview(SHOP, lead=lambda section, target: led.append((section, target.times)))
    view.wait()
    show(view)
    bars = page.locator(".klw-daybar")
    expect(bars).to_have_count(6)
    expect(bars.last).to_contain_text("2026-11-21")
    expect(page.locator(".klw-daygap")).to_have_text("721 days")  # after 2024-11-29
    bars.last.click()
    until(page, lambda: led == [("days", (1_795_219_200_000, 1_795_305_600_000))])
    table = page.get_by_role("grid", name="When was it written?")
    expect(table.locator("[data-row='0']")).to_contain_text("2026-11-21")
    tile = page.get_by_role("option", name="clicks").first
    color = tile.evaluate("(el) => el.style.getPropertyValue('--hue')")
    assert f"background:{color}" in str(bars.last.locator("i").first.get_attribute("style"))


def test_without_a_screen_around_it_rows_lead_nowhere(page: Page, show: Show) -> None:
    view = Overview(SHOP)
    view.wait()
    bridge = show(view)
    page.get_by_role("grid", name="Groups by lag").get_by_text("suggestions").click()
    page.wait_for_timeout(200)
    assert bridge.page.evaluate("model.sent") == []


def test_what_reads_much_waits_for_a_button(
    page: Page, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widgets._background.MOST_AT_ONCE", 3)
    view = Overview(SHOP)
    view.wait()
    bridge = show(view)
    expect(page.locator(".klw-overcard[data-state=asks]")).to_have_count(6)
    expect(page.get_by_text("6 answers take the headers of every log.")).to_be_visible()
    page.get_by_role("button", name="Read the headers of every log").click()
    expect(page.locator(".klw-overcard[data-state=asks]")).to_have_count(0)
    expect(page.locator(".klw-overask")).to_be_hidden()
    view.wait()
    bridge.push()
    expect(page.locator(".klw-overcard[data-state=done]")).to_have_count(10)


@pytest.mark.parametrize("kind", [Overview, WhatIfView])
def test_the_wheel_over_every_table_moves_the_page(
    page: Page, show: Show, kind: type[Overview | WhatIfView]
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    view = kind(SHOP)
    view.wait()
    show(view)
    tables = page.locator(".klw-overgrid .klw-grid")
    count = tables.count()
    assert count > 2
    for at in range(count):
        table = tables.nth(at)
        table.evaluate("(el) => scrollTo(0, el.getBoundingClientRect().top + scrollY - 300)")
        box = table.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 200, box["y"] + box["height"] / 2)
        before = page.evaluate("scrollY")
        end = page.evaluate("document.documentElement.scrollHeight - innerHeight")
        for _ in range(6):  # rows that overflow come first
            page.mouse.wheel(0, 300 if before < end - 1 else -300)
            page.wait_for_timeout(300)  # a gesture ends
            if page.evaluate("scrollY") != before:
                break
        assert page.evaluate("scrollY") != before, table.get_attribute("aria-label")


def test_a_verdict_stands_above_the_numbers_and_numbers_lead_to_their_rows(
    page: Page, show: Show
) -> None:
    led = []
    view = Overview(SHOP, lead=lambda section, target: led.append((section, target.what)))
    view.wait()
    show(view)
    verdict = page.locator(".klw-oververdict")
    expect(verdict).to_contain_text("A broker starts, and within minutes retention deletes")
    tile = page.get_by_role("button", name="deleted after a start")
    assert verdict.bounding_box()["y"] < tile.bounding_box()["y"]  # type: ignore[index]
    tile.click()
    page.get_by_role("button", name="errors in files: 0").click()
    until(page, lambda: led == [("tile", "loss"), ("tile", "error")])


@pytest.mark.parametrize("width", [760, 1280])
def test_numbers_fit_their_tiles(page: Page, show: Show, width: int) -> None:
    view = WhatIfView(SHOP)
    view.wait()
    page.set_viewport_size({"width": width, "height": 900})
    show(view)
    numbers = page.locator(".klw-number-tile b")
    expect(numbers).to_have_count(6)
    for number in numbers.all():
        assert number.evaluate("(el) => el.scrollWidth <= el.parentElement.clientWidth")


@pytest.mark.parametrize("width", [760, 1440, 2560])
def test_nothing_is_wider_than_the_window(page: Page, show: Show, width: int) -> None:
    view = Overview(SAMPLES / "damaged")
    view.wait()
    page.set_viewport_size({"width": width, "height": 900})
    show(view)
    expect(page.locator(".klw-overcard[data-state=done]")).to_have_count(10)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wide = page.evaluate(
        "[...document.querySelectorAll('.klw-overview .klw-grid')]"
        ".filter((each) => each.scrollWidth > each.clientWidth + 1).length"
    )
    assert wide == 0
    cut = page.evaluate(
        "[...document.querySelectorAll('.klw-head > span, .klw-sort, .klw-row > .klw-number')]"
        ".filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent)"
    )
    assert cut == []
    names = page.get_by_role("grid", name="What is damaged?").get_by_text("garbage-metadata-0")
    assert names.first.evaluate("(el) => el.scrollWidth <= el.clientWidth")
