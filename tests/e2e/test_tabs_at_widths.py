"""Every tab of the app over damaged directories: nothing is cut, and places agree."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.apps import opened_overview

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]

DAMAGED = Path(__file__).parents[2] / "sample_data" / "damaged"

CUT = """
() => [...document.querySelectorAll(".klw-head > span, .klw-sort, .klw-row > .klw-number")]
  .filter((el) => el.checkVisibility() && el.scrollWidth > el.clientWidth + 1)
  .map((el) => el.textContent)
"""

OUTSIDE = """
() => [...document.querySelectorAll(".klw button, .klw input, .klw select")]
  .filter((el) => el.checkVisibility() && !el.closest("[role=grid], [role=tablist]"))
  .filter((el) => {
    const { left, right, width } = el.getBoundingClientRect();
    return width > 1 && (left < -1 || right > innerWidth + 1);
  })
  .map((el) => el.title || el.textContent || el.placeholder)
"""


@pytest.fixture(name="page", scope="module")
def page_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_overview(DAMAGED, tmp_path_factory.mktemp("app")) as page:
        yield page


def test_nothing_is_outside_and_no_heading_and_no_number_is_cut_at_any_width(page: Page) -> None:
    tabs = page.get_by_role("tablist", name="Views").get_by_role("tab")
    for tab in tabs.all():
        tab.click()
        page.wait_for_timeout(700)
        for width in (760, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(150)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.evaluate(OUTSIDE) == [], (tab.text_content(), width)
            assert page.evaluate(CUT) == [], (tab.text_content(), width)


def test_tabs_out_of_sight_have_a_mark_and_none_moves_when_one_is_opened(page: Page) -> None:
    page.set_viewport_size({"width": 760, "height": 900})
    views = page.get_by_role("tablist", name="Views")
    views.get_by_role("tab", name="Overview").click()
    expect(views).to_have_attribute("data-more", "")
    expect(views).not_to_have_attribute("data-before", "")
    views.evaluate("(el) => { el.scrollLeft = 10_000 }")
    expect(views).not_to_have_attribute("data-more", "")
    expect(views).to_have_attribute("data-before", "")
    page.set_viewport_size({"width": 1280, "height": 900})
    places = "(el) => [...el.children].map((tab) => tab.getBoundingClientRect().left)"
    before = views.evaluate(places)
    views.get_by_role("tab", name="Explore", exact=True).click()
    expect(views.get_by_role("tab", name="Explore")).to_have_attribute("aria-selected", "true")
    assert views.evaluate(places) == before


def test_files_begins_with_what_contradicts(page: Page) -> None:
    views = page.get_by_role("tablist", name="Views")
    views.get_by_role("tab", name="Files").click()
    grid = page.locator("[role=grid][aria-label=Partitions]:visible")
    expect(grid.locator("[data-row='0']")).to_have_attribute(
        "data-kind", re.compile("tone-(bad|warn)")
    )
    expect(grid.locator("[data-row='0']")).to_be_in_viewport()


def test_findings_are_those_of_the_overview_and_of_explore(page: Page) -> None:
    views = page.get_by_role("tablist", name="Views")
    views.get_by_role("tab", name="Overview").click()
    tile = page.get_by_role("button", name=re.compile(r"errors in files: \d+"))
    (count,) = re.findall(r"\d+", tile.get_attribute("aria-label") or tile.inner_text())
    tile.click()
    grid = page.locator("[role=grid][aria-label=Findings]:visible")
    expect(grid).to_have_attribute("aria-rowcount", count)
    grid.get_by_text("crc", exact=True).first.click()
    page.locator(".klw-allfindings:visible").get_by_text("Show in Explore").click()
    expect(page.locator(".klw-map:visible")).to_be_visible()
    expect(page.locator(".klw-legend:visible").get_by_text("damaged")).to_be_visible()
