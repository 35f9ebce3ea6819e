"""Replicas in a real browser: stepping, the table that grows, messages, other rules."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import settled, until
from widgets import ReplicationPlayer

pytestmark = pytest.mark.browser

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
ROWS = "[role=grid][aria-label='Offsets after each step'] [data-row]:visible"


def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(200)
    page.locator("#root").screenshot(path=SHOTS / f"{name}.png")


def test_keys_step_through_two_rounds_and_the_table_grows(page: Page, show: Show) -> None:
    player = ReplicationPlayer("G-0", at=0)
    show(player)
    root = page.locator(".klw-player")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(".klw-message")).to_contain_text("arrives and waits")
    root.focus()
    for at in range(1, 4):
        page.keyboard.press("ArrowRight")
        until(page, lambda at=at: player.at == at)  # type: ignore[misc]
    expect(page.locator(ROWS)).to_have_count(4)
    expect(page.locator(f"{ROWS}[aria-selected=true]")).to_have_text("4fetch 11110" + "1: 1")
    expect(page.locator(".klw-replicas")).to_have_attribute(
        "aria-label",
        "Broker 0, leader: log end offset 1, high watermark 1. Broker 1, follower: log end offset"
        " 1, high watermark 0. Leader 0, ISR 0, 1.",
    )
    expect(page.locator(".klw-sent")).to_have_text("m0 ✓")
    expect(page.locator(".klw-arrow[data-kind=moved]")).to_have_count(2)
    page.locator(ROWS).nth(1).click()
    until(page, lambda: player.at == 1)
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page.locator(".klw-arrow[data-kind=travels]")).to_have_count(1)


def test_other_rules_keep_what_the_old_ones_lose(page: Page, show: Show) -> None:
    player = ReplicationPlayer("G-3", at=7)
    bridge = show(player)
    expect(page.locator(".klw-broken")).to_contain_text("follower 1 has 'm2' of epoch 1")
    expect(page.locator(".klw-offset[data-differs=true]")).to_have_count(1)
    page.get_by_role("button", name="2.0").click()
    until(page, lambda: player.rules == "2.0")
    bridge.push()
    expect(page.locator(".klw-broken")).to_be_hidden()
    expect(page.locator(".klw-offset[data-differs=true]")).to_have_count(0)
    expect(page.locator(".klw-sum")).to_have_text("rules of 2.0: all promises kept")
    expect(page.locator(".klw-era [aria-pressed=true]")).to_have_text("2.0")
    expect(page.locator(".klw-era button:focus")).to_have_text("2.0")


def test_without_a_kernel_the_rules_stay_those_that_are_shown(page: Page, show: Show) -> None:
    show(ReplicationPlayer("G-1", at=7), kernel=False)
    page.get_by_role("button", name="4.2").click()
    expect(page.locator(".klw-era [aria-pressed=true]")).to_have_text("0.10")
    page.locator(".klw-player").focus()
    page.keyboard.press("End")
    table = page.get_by_role("grid", name="Offsets after each step")
    expect(table).to_have_attribute("aria-rowcount", "13")


@pytest.mark.parametrize(
    ("name", "at", "width", "theme"),
    [
        ("G-0b", 4, 480, "dark"), ("G-6", 6, 860, "light"), ("G-1", 12, 1440, "dark"),
        ("G-4", 15, 1440, "light"), ("G-8", 13, 1920, "light"),
    ],
)  # fmt: skip
def test_a_scenario_fits_at_any_width(
    page: Page, show: Show, name: str, at: int, width: int, theme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    show(ReplicationPlayer(name, at=at), theme=theme)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll(".klw-message")].some((each) => {
             const box = each.getBoundingClientRect(), root = document.getElementById("root");
             return box.right > root.getBoundingClientRect().right + 1;
           })"""
    )
    assert not overlaps
    shot(page, f"replication-{name}-{width}-{theme}")
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0
