"""Findings in the browser: the whole text of each, badges in the tree, all partitions at once."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Bridge, Show
from tests.browser.pages import until
from widgets import LogExplorer

pytestmark = pytest.mark.browser

DAMAGED = Path(__file__).parents[2] / "sample_data" / "damaged"


def verify_all(page: Page, bridge: Bridge, explorer: LogExplorer) -> None:
    page.get_by_role("button", name="Check every byte of every partition").click()
    until(page, lambda: explorer.get_state("_verification")["_verification"] != {})
    explorer.verify_all().wait()
    bridge.push()


def test_the_first_finding_is_selected_and_its_whole_text_shown(page: Page, show: Show) -> None:
    explorer = LogExplorer(DAMAGED, selected={"partition": "cut-middle-0"})
    show(explorer)
    page.get_by_role("button", name="Check every byte of this").click()
    rows = page.get_by_role("grid", name="Findings").locator("[data-row]:visible")
    expect(rows).to_have_count(3)
    expect(rows.first).to_have_attribute("aria-selected", "true")
    first, second = explorer.get_state("_findings")["_findings"][:2]
    detail = page.get_by_role("region", name="The selected finding")
    for text in (first["found"], first["expected"], first["broker"], first["path"]):
        expect(detail).to_contain_text(text)
    rows.nth(1).click()
    expect(detail).to_contain_text(second["broker"])
    until(page, lambda: explorer.selected["segment"] == int(second["segment"]))
    page.set_viewport_size({"width": 560, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_findings_reach_the_topic_and_lead_to_their_place(page: Page, show: Show) -> None:
    explorer = LogExplorer(DAMAGED, selected={"partition": "healthy-0"})
    bridge = show(explorer)
    verify_all(page, bridge, explorer)
    expect(page.locator(".klw-verify")).to_contain_text("Verified 32 partitions")
    badge = page.get_by_role("treeitem", name="cut-middle", exact=False).locator(".klw-badge")
    expect(badge).to_have_text("3")
    expect(badge).to_have_attribute("title", "2 errors, 1 warning")
    sound = page.get_by_role("treeitem").filter(has_text="healthy").locator(".klw-badge").first
    expect(sound).to_have_attribute("title", "no findings")
    files = page.get_by_role("treeitem").filter(has_text="Files of the directory")
    page.get_by_role("tree").press("End")
    expect(files.locator(".klw-badge")).to_have_text("5")
    rows = page.get_by_role("grid", name="Findings").locator("[data-row]:visible")
    expect(rows.first).to_contain_text("cut-middle-0")
    assert explorer.selected["partition"] == "healthy-0"
    page.get_by_role("button", name="Show where this is").click()
    until(page, lambda: explorer.selected["partition"] == "cut-middle-0")
    expect(rows.first).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="This partition", exact=True).click()
    expect(rows).to_have_count(3)


def test_a_running_check_says_how_far_it_is_and_can_be_canceled(page: Page, show: Show) -> None:
    explorer = LogExplorer(DAMAGED)
    bridge = show(explorer)
    check = {"checked": 4, "partitions": 32, "bytes": 40_960, "size": 314_368}
    explorer.set_trait("_verification", check | {"state": "running"})
    bridge.push()
    bar = page.locator(".klw-verify")
    expect(bar).to_contain_text("Verifying: 4 of 32 partitions, 40 KiB of 307 KiB, no findings")
    expect(page.get_by_role("progressbar")).to_have_attribute("value", str(40_960 / 314_368))
    expect(page.get_by_role("button", name="Check every byte of every")).to_be_disabled()
    asked = "model.sent.map((each) => each.kind)"
    page.get_by_role("button", name="Cancel").click()
    assert "cancel" in page.evaluate(asked)
    explorer.set_trait("_verification", check | {"state": "canceled"})
    bridge.push()
    expect(bar).to_contain_text("Canceled after 4 of 32 partitions")
    page.get_by_role("button", name="Dismiss").click()
    expect(bar).to_be_hidden()
