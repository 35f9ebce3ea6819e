"""The lanes of real disks in a real browser: choosing a leader, marks, widths and themes."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import until
from tests.widgets.test_replica_lanes import write_brokers
from widgets import ReplicaLanes
from widgets.live.directory_changes import DirectoryChanges

pytestmark = pytest.mark.browser

DISKS = Path(__file__).parents[2] / "sample_data" / "two-brokers"
SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


def lanes() -> ReplicaLanes:
    return ReplicaLanes(
        wb.compare_replicas({number: DISKS / f"broker{number}" for number in (1, 2)})
    )


def test_another_leader_by_key_and_by_button(page: Page, show: Show) -> None:
    widget = lanes()
    bridge = show(widget)
    expect(page.locator(".klw-cut")).to_have_count(1)
    expect(page.locator(".klw-outcome")).to_contain_text("Committed offsets 1 to 2 would be lost")
    page.locator(".klw-disklanes").focus()
    page.keyboard.press("ArrowUp")
    until(page, lambda: widget.leader == "1")
    bridge.push()
    expect(page.locator(".klw-outcome")).to_contain_text("broker 2 truncates to 1")
    page.get_by_role("button", name="2", exact=True).click()
    until(page, lambda: widget.leader == "2")
    bridge.push()
    expect(page.locator(".klw-outcome")).to_contain_text("broker 1 truncates to 1")
    expect(page.locator(".klw-divergence text")).to_have_text("differ from 1")


@pytest.mark.parametrize(("width", "theme"), [(860, "light"), (1440, "dark"), (1920, "light")])
def test_it_fits_at_any_width(page: Page, show: Show, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    show(lanes(), theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(150)
    page.locator("#root").screenshot(path=SHOTS / f"replica-lanes-{width}-{theme}.png")
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


def test_a_partition_of_the_list_and_an_offset_of_a_lane(
    page: Page, show: Show, tmp_path: Path
) -> None:
    widget = ReplicaLanes(write_brokers(tmp_path, 3))
    widget.wait()
    bridge = show(widget)
    rows = page.locator(".klw-replicalist .klw-window .klw-row:visible")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("Keep the replica of broker 1")
    expect(page.locator(".klw-advice")).to_contain_text("Keep the replica of broker 1")
    expect(page.locator(".klw-diffmark")).to_have_count(2)
    expect(page.locator(".klw-ranges p")).to_have_count(2)

    page.locator(".klw-disk").nth(1).locator(".klw-run").last.click()
    until(page, lambda: widget.selected["offset"] == 5)
    assert widget.selected["partition"] == str(tmp_path / "b2" / "orders-0")
    page.get_by_role("button", name="Show offset 4 of broker 2 in Explore").click()
    until(page, lambda: widget.selected["offset"] == 4)

    rows.nth(1).click()
    until(page, lambda: widget.partition == "orders-1")
    bridge.push()
    expect(page.locator(".klw-phead h3")).to_have_text("orders-1")
    expect(page.locator(".klw-ranges")).to_have_text("All replicas have the records of broker 1.")
    page.get_by_role("button", name="Show orders-1 of broker 1 in Explore").click()
    until(page, lambda: widget.selected["partition"] == "orders-1")

    assert widget.logs is not None
    widget.relist(widget.logs, DirectoryChanges(frozenset(["orders-1"])))
    bridge.push()
    expect(page.locator(".klw-verify")).to_contain_text("changed since: compare again")
    page.get_by_role("button", name="Compare, and check the CRC of every batch").click()
    until(page, lambda: not widget.get_state("_about")["_about"]["has_changed"])
    widget.wait()
    bridge.push()
    expect(page.locator(".klw-verify")).to_contain_text("Compared 3 partitions")
