"""FindingView in a real browser: what is found appears, is filtered, and leads to its place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import FindingView, LogExplorer

pytestmark = pytest.mark.browser

DAMAGED = Path(__file__).parents[2] / "sample_data" / "damaged"


def test_findings_are_filtered_and_lead_to_their_place(page: Page, show: Show) -> None:
    asked: list[tuple[Mapping[str, Any], str]] = []
    view = FindingView(DAMAGED, show=lambda place, path: asked.append((place, path)))
    bridge = show(view)
    rows = page.get_by_role("grid", name="Findings").locator("[data-row]:visible")
    expect(page.locator(".klw-state:visible")).to_contain_text("Not verified yet.")
    page.get_by_role("button", name="Check every byte of every partition").click()
    until(page, lambda: view.verifier.running is not None)
    view.verify_all().wait()
    bridge.push()
    expect(page.locator(".klw-verify")).to_contain_text("Verified 32 partitions")
    expect(page.locator(".klw-sum")).to_contain_text("32 of 32 partitions verified")
    total = len(view.listed())

    page.get_by_role("button", name="Errors", exact=True).click()
    until(page, lambda: view.severity == "error")
    assert 0 < len(view.listed()) < total
    expect(page.locator(".klw-phead .klw-about")).to_have_text(f"{len(view.listed())} of {total}")
    page.get_by_label("Topic").select_option("flipped-byte")
    until(page, lambda: view.topic == "flipped-byte")
    assert 'topics=["flipped-byte"]' in view.query
    expect(rows).to_have_count(len(view.listed()))

    rows.first.click()
    (row,) = (each for each in view.listed() if each["batch_position"] is not None)
    until(page, lambda: view.selected["position"] == row["batch_position"])
    assert view.selected["partition"] == "flipped-byte-0"
    page.get_by_role("grid", name="Findings").press("Enter")
    until(page, lambda: bool(asked))
    assert asked[0][0] == {
        "partition": "flipped-byte-0",
        "segment": int(row["segment"]),
        "position": row["batch_position"],
    }
    page.keyboard.press("Escape")
    until(page, lambda: (view.severity, view.topic) == ("", ""))


def test_what_changed_after_it_was_verified_is_said(page: Page, show: Show) -> None:
    explorer = LogExplorer(DAMAGED, selected={"partition": "healthy-0"})
    explorer.verify("healthy-0")
    explorer.verifier.book.changed = ["healthy-0"]
    explorer.verifier.relist(explorer.logs.listing, [])
    show(explorer)
    expect(page.locator(".klw-verify > span")).to_have_text(
        "1 verified partition changed since: verify again to check what was written."
    )
    page.get_by_role("tab", name="Findings").click()
    expect(page.locator(".klw-pane:visible .klw-state")).to_contain_text("It has changed since")
    badge = page.get_by_role("treeitem").filter(has_text="healthy").locator(".klw-badge").first
    expect(badge).to_have_attribute("title", "no findings; changed since it was verified")
