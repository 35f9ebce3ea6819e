"""The address of the app: it holds what is shown, the browser's way back leads through it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.apps import READY_MS, opened_overview

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(name="page", scope="module")
def page_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_overview(SHOP, tmp_path_factory.mktemp("app")) as page:
        yield page


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tablist", name="Views").get_by_role("tab", name=name, exact=True).click()
    expect_tab(page, name)


def expect_tab(page: Page, name: str) -> None:
    tab = page.get_by_role("tablist", name="Views").get_by_role("tab", name=name, exact=True)
    expect(tab).to_have_attribute("aria-selected", "true", timeout=READY_MS)
    expect(page).to_have_url(re.compile(f"#tab={name.replace(' ', '[+]')}(&|$)"))


def parts(page: Page) -> dict[str, str]:
    """Return what the address says."""
    return {name: each for name, (each,) in parse_qs(page.url.partition("#")[2]).items()}


def paste(page: Page, address: str) -> None:
    """Paste a link into the open tab, as a person does."""
    page.evaluate("(hash) => { location.hash = hash }", address)


def test_back_and_forward_of_the_browser_move_inside_the_app(page: Page) -> None:
    for name in ("Groups", "Files", "Records"):
        open_tab(page, name)
    page.go_back()
    expect_tab(page, "Files")
    page.get_by_role("button", name="Back (Alt ←)").click()
    expect_tab(page, "Groups")
    page.go_forward()
    expect_tab(page, "Files")
    page.get_by_role("button", name="Forward (Alt →)").click()
    expect_tab(page, "Records")
    expect(page.get_by_role("button", name="Forward (Alt →)")).to_be_disabled()


def test_back_brings_query_and_topic_together(page: Page) -> None:
    paste(page, "tab=Records&partition=orders-0&topic=orders")
    box = page.get_by_label("Search for records")
    box.fill("$.ship_to.city=Lisbon")
    expect(page).to_have_url(re.compile("query=%24.ship_to.city%3DLisbon"))
    paste(page, "tab=Records&partition=clicks-0&topic=clicks")
    expect(box).to_have_value("")
    page.go_back()
    expect(box).to_have_value("$.ship_to.city=Lisbon")
    expect(page.locator(".klw-browser").get_by_label("Topic", exact=True)).to_have_value("orders")
    page.go_forward()
    expect(box).to_have_value("")
    expect(page.locator(".klw-browser").get_by_label("Topic", exact=True)).to_have_value("clicks")


def test_a_link_holds_query_order_and_columns(page: Page) -> None:
    link = "tab=Records&partition=orders-1&topic=*&query=Lisbon&sort=-offset&columns=offset%2Cvalue"
    paste(page, link)
    expect(page.get_by_label("Search for records")).to_have_value("Lisbon")
    heads = page.get_by_role("grid", name="Records").get_by_role("columnheader")
    expect(heads.nth(0)).to_have_attribute("aria-sort", "descending")
    expect(heads.nth(1)).to_contain_text("Value")
    assert parts(page)["topic"] == "*"
    page.reload()
    expect(page.get_by_label("Search for records")).to_have_value("Lisbon", timeout=READY_MS)
    expect(page.get_by_role("columnheader").nth(1)).to_contain_text("Value")
    assert parts(page)["columns"] == "offset,value"


def test_a_link_holds_a_group_and_conditions(page: Page) -> None:
    paste(page, "tab=Groups&group=suggestions&at=2026-11-22")
    expect_tab(page, "Groups")
    expect(page.locator(".klw-groups, .klw-group").first).to_contain_text("suggestions")
    assert parts(page)["group"] == "suggestions"
    paste(page, "tab=What if&at=2026-12-24&config=retention.ms=1d, orders:cleanup.policy=compact")
    expect_tab(page, "What if")
    at = page.locator("[aria-label='Time that ages are measured by']:visible")
    expect(at).to_have_value(re.compile("2026-12-24"))
    chips = page.locator(".klw-setting:visible")
    expect(chips).to_have_count(2)
    expect(chips.nth(1)).to_contain_text("orders:cleanup.policy = compact")
    assert parts(page)["config"] == "retention.ms=1d, orders:cleanup.policy=compact"
    page.go_back()
    expect_tab(page, "Groups")
    assert parts(page)["at"].startswith("2026-11-22")


def test_a_zone_is_in_the_link_and_holds_for_every_view(page: Page) -> None:
    paste(page, "tab=Records&partition=orders-0&topic=orders&zone=Asia/Kolkata")
    first = page.get_by_role("grid", name="Records").locator("[data-row='0']")
    expect(first).to_contain_text("+05:30")
    page.get_by_label("Time zone of every view").select_option("America/Sao_Paulo")
    expect(page).to_have_url(re.compile("zone=America%2FSao_Paulo"))
    expect(first).to_contain_text("-03")
    open_tab(page, "Groups")
    expect(page.locator(".klw-coordinators")).to_contain_text(re.compile(r"T[\d:.]+-03"))
    page.get_by_label("Time zone of every view").select_option("UTC")
    expect(page.locator(".klw-coordinators")).not_to_contain_text(re.compile(r"T[\d:.]+-03"))
    expect(page).not_to_have_url(re.compile("zone="))


def test_the_keyboard_alone_leads_anywhere(page: Page) -> None:
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Go to a topic, partition")
    expect(box).to_be_focused()
    page.keyboard.type("suggest")
    group = page.get_by_role("option").filter(has_text="group")
    expect(group).to_have_count(1)
    while group.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / "palette.png"))
    page.keyboard.press("Enter")
    expect_tab(page, "Groups")
    expect(page).to_have_url(re.compile("group=suggestions"))
    page.keyboard.press("Control+k")
    page.keyboard.type("payments-0 4736")
    expect(page.get_by_role("option").first).to_contain_text("4,736")
    page.keyboard.press("Enter")
    expect_tab(page, "Explore")
    expect(page).to_have_url(re.compile("partition=payments-0&segment=[0-9]+&offset=4736"))
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()


def test_a_link_holds_a_story_and_its_step_and_back_leads_past_the_steps(page: Page) -> None:
    paste(page, "tab=Steps&partition=customers-0&story=Cleaning&step=744")
    place = page.locator(".klw-place:visible")
    expect(place).to_contain_text("744 of", timeout=READY_MS)
    page.get_by_role("button", name="Next step").click()
    expect(page).to_have_url(re.compile("story=Cleaning&step=745"))
    page.get_by_role("button", name="Recovery").click()
    expect(page.locator(".klw-player .klw-title")).to_have_text("Recover customers-0 after a crash")
    page.go_back()
    expect(place).to_contain_text("745 of", timeout=READY_MS)
    page.locator(".klw-player").focus()
    page.keyboard.press("f")
    expect(page.locator(".klw-sentence p")).to_be_visible()
    size = page.viewport_size
    assert size is not None
    box = page.locator(".klw-player").bounding_box()
    assert box == {"x": 0, "y": 0, **size}
    page.keyboard.press("Escape")
    paste(page, "tab=Explore&partition=payments-0")
    expect_tab(page, "Explore")


def test_a_wrong_link_says_what_is_wrong_and_the_address_stays_true(page: Page) -> None:
    expect(page).to_have_url(re.compile("segment="))  # the whole of it, not as it was pasted
    before = page.url
    paste(page, "tab=Explore&partition=nowhere-0")
    expect(page.locator(".klw-placebar").get_by_role("alert")).to_contain_text("nowhere-0")
    expect(page).to_have_url(before)
