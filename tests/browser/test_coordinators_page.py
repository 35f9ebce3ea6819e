"""Groups, transactions and a coordinator's steps in a real browser: picking, brushing, keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import STATS, press_quickly, settled, until
from tests.widgets.coordinated import Coordinated
from widgets import GroupView, OffsetsPlayer, TransactionLanes
from workbench.runtime.steps import Step

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
LANES = ".klw-lanebox canvas"

Click = Callable[[float, float], None]


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SHOP)


def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(300)
    page.locator("#root").screenshot(path=SHOTS / f"{name}.png")


def at(page: Page, part: float, y: float) -> tuple[float, float]:
    """Return the point at a part of the time shown, and y pixels below the top of the lanes."""
    box = page.locator(LANES).bounding_box()
    assert box is not None
    return box["x"] + 150 + part * (box["width"] - 228), box["y"] + y


def test_clicking_a_lane_selects_the_record_at_the_committed_offset(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = GroupView(logs, "payment-service")
    show(view)
    page.mouse.click(*at(page, 0.5, 100))
    until(page, lambda: view.selected["partition"] == "orders-1")
    offset = view.selected["offset"]
    assert offset in view.lines["orders-1"].offsets
    facts = page.locator(".klw-now")
    expect(facts).to_contain_text("commit of a transaction")
    expect(facts).to_contain_text(f"{offset:,}")
    page.get_by_role("button", name="record of this commit").click()
    until(page, lambda: view.selected["partition"] == "__consumer_offsets-1")
    line = view.lines["orders-1"]
    assert offset == line.offsets[line.places.tolist().index(view.selected["offset"])]
    expect(facts).to_contain_text("orders-1")  # the lane stays


def test_dragging_across_the_lanes_shows_that_time(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = GroupView(logs, "payment-service")
    bridge = show(view)
    first, last = view.get_state("_story")["_story"]["span"]
    page.mouse.move(*at(page, 0.25, 40))
    page.mouse.down()
    page.mouse.move(*at(page, 0.5, 60), steps=4)
    page.mouse.up()
    until(page, lambda: len(view.window) == 2)
    span = (last - first) * 1.02
    assert view.window[0] == pytest.approx(first + 0.25 * span, abs=span / 100)
    assert view.window[1] == pytest.approx(first + 0.5 * span, abs=span / 100)
    page.locator(".klw-lanes").press("0")
    until(page, lambda: view.window == [])
    view.window = [first + 1000.0, first + 2000.0]
    bridge.push()
    page.wait_for_function(f"{STATS}.view[0] === {first + 1000}")


def test_keys_move_between_commits_and_partitions_and_say_them(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = GroupView(logs, "payment-service")
    show(view)
    lanes = page.locator(".klw-lanes")
    lanes.press("ArrowDown")
    lanes.press("Home")
    press_quickly(lanes, "ArrowRight", 5)
    line = view.lines["orders-0"]
    until(page, lambda: view.selected["offset"] == line.offsets[5])
    lanes.press("ArrowDown")
    until(page, lambda: view.selected["partition"] == "orders-1")
    expect(page.locator("[aria-live=polite]")).to_contain_text("orders-1: commit of a transaction.")
    assert "3 partitions over time" in (lanes.get_attribute("aria-label") or "")


def test_a_selection_of_the_explorer_finds_its_lane_and_commit(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = GroupView(logs, "order-dashboard")
    bridge = show(view)
    view.selected = {"partition": "orders-1", "offset": 527}
    bridge.push()
    page.wait_for_function(f"{STATS}.picked.lane === 1")
    expect(page.locator(".klw-now h4")).to_have_text("orders-1")
    record = view.lines["orders-0"].places[1]
    view.selected = {"partition": "__consumer_offsets-2", "offset": int(record)}
    bridge.push()
    page.wait_for_function(f"{STATS}.picked.lane === 0 && {STATS}.picked.item === 1")
    view.selected = {"partition": "customers-0", "offset": 3}
    bridge.push()
    page.wait_for_function(f"{STATS}.picked.lane === -1")


def test_another_group_can_be_chosen_and_its_rules_read(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = GroupView(logs, "order-dashboard")
    show(view)
    page.get_by_label("Group", exact=True).select_option("suggestions")
    until(page, lambda: view.group == "suggestions")
    rows = page.get_by_role("grid", name="Partitions").locator("[data-row]:visible")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("78,596")
    page.get_by_role("tab", name="Why").click()
    page.get_by_role("row", name="expiry").click()
    expect(page.locator(".klw-now")).to_contain_text("OffsetExpirationCondition")


def test_a_rebalance_is_a_mark_and_a_row_that_leads_to_its_record(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = GroupView(logs, "order-dashboard")
    show(view)
    page.get_by_role("tab", name="Rebalances").click()
    page.get_by_role("row", name="rebalanced").nth(1).click()
    until(page, lambda: view.selected["partition"] == "__consumer_offsets-2")
    assert view.selected["offset"] == 9
    expect(page.locator(".klw-now")).to_contain_text("orders-0, orders-1, orders-2")
    shot(page, "group-rebalances")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 860, 1440, 1920])
def test_a_group_fits_at_any_width(
    page: Page, show: Show, logs: wb.LogDirectory, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(GroupView(logs, "payment-service"), theme=theme)
    lanes = page.locator(".klw-lanes")
    lanes.press("ArrowDown")
    page.get_by_role("group", name="What the lanes show").get_by_role("button", name="Lag").click()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table: Any = page.get_by_role("grid", name="Partitions").bounding_box()
    assert table["height"] > 150
    shot(page, f"group-{width}-{theme}")


def test_leaving_a_group_takes_every_listener_away(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(GroupView(logs, "order-dashboard"))
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


def test_clicking_a_bar_selects_the_first_record_of_its_transaction(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = TransactionLanes(logs)
    bridge = show(view)
    view.window = [4600.0, 4745.0]
    bridge.push()
    page.wait_for_function(f"{STATS}.view[0] === 4600")
    page.mouse.click(*at(page, (4728 - 4600) / 145, 45))
    until(page, lambda: view.selected["offset"] == 4723)
    facts = page.locator(".klw-now")
    expect(facts).to_contain_text("10 in 1 batch")
    page.get_by_role("button", name="marker of this transaction").click()
    until(page, lambda: view.selected["offset"] == 4733)
    expect(facts).to_contain_text("10 in 1 batch")  # the marker belongs to it
    shot(page, "transactions")


def test_what_is_open_leads_to_its_bar(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    view = TransactionLanes(logs, partition="payments-1")
    show(view)
    expect(page.locator(".klw-conclusion")).to_contain_text("1 open transaction")
    page.get_by_role("tab", name="Open").click()
    page.get_by_role("row", name="payments-eu").click()
    until(page, lambda: view.partition == "payments-0")
    until(page, lambda: view.selected["offset"] == 4736)
    expect(page.locator(".klw-now")).to_contain_text("Ongoing and lists the partition")


def test_keys_move_between_transactions_and_say_them(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    view = TransactionLanes(logs)
    show(view)
    lanes = page.locator(".klw-lanes")
    lanes.press("ArrowDown")
    lanes.press("End")
    until(page, lambda: view.selected["offset"] == 4736)
    lanes.press("ArrowLeft")
    until(page, lambda: view.selected["offset"] == 4734)
    said = page.locator("[aria-live=polite]")
    expect(said).to_contain_text("payments-eu: committed transaction, from offset 4,734, marker at")
    lanes.press("ArrowDown")
    expect(said).to_contain_text("payments-us: committed transaction")
    assert "2 producers" in (lanes.get_attribute("aria-label") or "")
    page.get_by_role("tab", name="Partitions").click()
    page.get_by_role("row", name="payments-1").click()
    until(page, lambda: view.partition == "payments-1")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 860, 1440, 1920])
def test_transactions_fit_at_any_width(
    page: Page, show: Show, logs: wb.LogDirectory, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(TransactionLanes(logs), theme=theme)
    page.locator(".klw-lanes").press("ArrowDown")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"transactions-{width}-{theme}")


def test_leaving_transactions_takes_every_listener_away(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(TransactionLanes(logs))
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


@pytest.fixture
def steps(tmp_path: Path) -> list[Step]:
    """A commit, a transaction, a load and an expiry."""
    with Coordinated(tmp_path) as coordinated:
        coordinated.commit(orders_0=42, orders_1=7)
        coordinated.commit(orders_0=50)
        coordinated.commit_transactional(9, orders_0=60)
        coordinated.end(9, is_commit=True)
        coordinated.reload()
        coordinated.expire()
    return coordinated.steps


def test_keys_step_through_a_commit_a_load_and_an_expiry(
    page: Page, show: Show, steps: list[Step]
) -> None:
    player = OffsetsPlayer(steps, title="Offsets of billing", at=0)
    show(player)
    page.locator(".klw-player").focus()
    kinds = [step.kind for step in steps]
    for at in range(1, kinds.index("offset loaded") + 1):
        page.keyboard.press("ArrowRight")
        until(page, lambda at=at: player.at == at)  # type: ignore[misc]
    rows = page.get_by_role("grid", name="Offsets in memory").locator("[data-row]:visible")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("42")
    expect(page.locator(".klw-stages [aria-current=true]")).to_have_text("Memory")
    expect(page.locator(".klw-records [data-record=written]")).to_have_count(1)
    page.get_by_role("button", name="partition unloaded").click()
    expect(rows).to_have_count(0)
    expect(page.locator(".klw-records [data-record=unread]")).to_have_count(5)
    page.get_by_role("button", name="group removed").click()
    until(page, lambda: kinds[player.at] == "group removed")
    expect(page.locator(".klw-records [data-record=tombstone]")).to_have_count(3)
    expect(rows).to_have_count(0)


def test_a_record_of_the_log_leads_to_its_first_step(
    page: Page, show: Show, steps: list[Step]
) -> None:
    player = OffsetsPlayer(steps, at=len(steps) - 1)
    show(player)
    page.locator(".klw-records button", has_text="3").first.click()
    until(page, lambda: steps[player.at].kind == "records appended")
    assert steps[player.at].numbers["at"] == 3
    expect(page.locator(".klw-records [data-now=true]")).to_contain_text("3")


@pytest.mark.parametrize(("width", "theme"), [(480, "dark"), (860, "light"), (1920, "dark")])
def test_a_coordinators_steps_fit_at_any_width(
    page: Page, show: Show, steps: list[Step], width: int, theme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    player = OffsetsPlayer(steps, title="Offsets of billing", at=14)
    show(player, theme=theme)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"offsets-{width}-{theme}")
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0


def test_a_group_is_judged_by_a_time_that_is_typed(page: Page, show: Show) -> None:
    view = GroupView(SHOP, "suggestions")
    show(view)
    conclusion = page.locator(".klw-conclusion")
    expect(conclusion).to_contain_text(
        "resumes in its one partition; a broker started after 2026-11-28T14:54:05Z"
    )
    moment = page.get_by_label("Time that ages are measured by")
    moment.fill("2026-11-28T16:29:00Z")
    moment.press("Enter")
    expect(conclusion).to_contain_text("starts over")
    expect(page.get_by_role("grid", name="Partitions")).to_contain_text("not served")
    moment.fill("some day")
    moment.press("Enter")
    problem = page.get_by_role("group", name="Conditions").get_by_role("alert")
    expect(problem).to_contain_text("some day")
