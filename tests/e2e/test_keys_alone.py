"""From the overview of the app to one record of a topic, and back, with the keyboard alone.

Every stop on the way shows that it has the focus, and axe has nothing against the pages.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.e2e.apps import opened_overview

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
MOST_STOPS = 120
"""Presses of Tab within which everything on a page is reached."""

FOCUS = """() => {
  const el = document.activeElement, box = el.getBoundingClientRect();
  const style = getComputedStyle(el), name = el.getAttribute("aria-label") ?? el.textContent;
  return {
    what: `${el.tagName} ${el.className} ${name.slice(0, 60)}`,
    isMarked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    isInSight: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0,
  };
}"""
"""What has the focus, whether an outline marks it, and whether it is on the screen."""


class Keys:
    """The keyboard, of which every stop is looked at."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def tab_to(self, wanted: Locator, key: str = "Tab") -> None:
        """Press Tab until something has the focus; every stop on the way is visible."""
        for _ in range(MOST_STOPS):
            if wanted.evaluate("(el) => el === document.activeElement"):
                return
            self.page.keyboard.press(key)
            at = self.page.evaluate(FOCUS)
            if at["what"].startswith("BODY"):  # after the last stop comes the browser itself
                continue
            assert at["isMarked"], f"the focus is not seen: {at['what']}"
            assert at["isInSight"], f"the focus is out of sight: {at['what']}"
        raise AssertionError(f"not reached by Tab: {wanted}")

    def open_tab(self, name: str) -> None:
        """Go along the tabs to one of them, and open it."""
        tabs = self.page.get_by_role("tablist", name="Views").get_by_role("tab")
        self.tab_to(tabs.locator("xpath=self::*[@tabindex='0']").first)
        for _ in range(tabs.count()):
            if name in self.page.evaluate("document.activeElement.textContent"):
                break
            self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("Enter")
        expect(tabs.filter(has_text=name)).to_have_attribute("aria-selected", "true")


@pytest.fixture(name="page", scope="module")
def page_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_overview(SHOP, tmp_path_factory.mktemp("app")) as page:
        yield page


def serious(page: Page) -> list[str]:
    """Return what axe has against what is shown, in light and in dark."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        expect(page.locator(f".klw:visible:not([data-theme={scheme}])")).to_have_count(0)
        for each in Axe().run(page, context=".klw-workbench").response["violations"]:
            if each["impact"] in {"serious", "critical"}:
                found += [f"{scheme}: {each['id']}: {node['html'][:160]}" for node in each["nodes"]]
    return found


def test_from_the_overview_to_a_record_and_back(page: Page) -> None:
    keys, press = Keys(page), page.keyboard.press
    assert serious(page) == []
    sizes = page.get_by_role("grid", name="What fills the disk?")
    keys.tab_to(sizes)
    press("ArrowDown")
    press("Enter")  # the largest topic, on the disk
    expect(page.get_by_role("grid", name="Sizes")).to_be_visible()
    assert serious(page) == []
    topic = page.locator(".klw-placebar").get_by_label("Topic", exact=True)
    keys.tab_to(topic, "Shift+Tab")
    page.keyboard.type("orders")
    press("Enter")
    expect(page.locator(".klw-placebar").get_by_label("Partition", exact=True)).to_have_value(
        "orders-0"
    )
    keys.open_tab("Records")
    browser = page.locator(".klw-browser:visible")
    keys.tab_to(browser.get_by_label("Search for records"))
    page.keyboard.type("offset:903")
    records = browser.get_by_role("grid", name="Records")
    expect(records.locator("[data-row]:visible")).to_have_count(3)  # one of each partition
    press("ArrowDown")  # from the query to the records
    expect(records).to_be_focused()
    press("ArrowDown")
    pane = page.locator(".klw-recordpane:visible")
    expect(pane).to_contain_text("offset 903")
    expect(page.locator(".klw-placebar").get_by_label("Offset", exact=True)).to_have_value("903")
    assert serious(page) == []
    whole = page.get_by_role("region", name="The record in full")
    keys.tab_to(whole)
    press("Escape")
    expect(pane).to_have_count(0)
    expect(records).to_be_focused()
    keys.tab_to(page.get_by_role("button", name="Back (Alt ←)"), "Shift+Tab")
    press("Enter")
    expect(page.locator(".klw-placebar").get_by_label("Offset", exact=True)).to_have_value("903")
