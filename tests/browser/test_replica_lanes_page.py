"""The lanes of real disks in a real browser: choosing a leader, marks, widths and themes."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import ReplicaLanes

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
