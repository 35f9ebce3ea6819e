"""A live directory in a real browser: what is written appears and is marked; nothing else moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.bridge import Bridge, Show
from tests.browser.pages import until
from tests.log.logs import end_transaction, in_transaction
from tests.log_manager.managers import Managed
from widgets import LogExplorer, RecordBrowser, TransactionLanes
from widgets.live.directory_changes import DirectoryChanges
from widgets.view.packing import unpack
from workbench.log.log import Log

pytestmark = pytest.mark.browser

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(name="managed")
def managed_(tmp_path: Path) -> Iterator[Managed]:
    config = {"orders": {"segment.bytes": 14_000}}
    managed = Managed(tmp_path / "shop", topic_configs=config)
    with managed.manager:
        yield managed


def append(log: Log, batches: int) -> None:
    for _ in range(batches):
        log.append([(b"k", bytes(100)) for _ in range(5)])


def look(explorer: LogExplorer, bridge: Bridge) -> None:
    assert explorer.follower is not None
    explorer.follower.stop()  # no timer: the test looks by itself
    explorer.look()
    bridge.push()


def test_what_is_written_appears_and_the_selection_stays(
    managed: Managed, page: Page, show: Show
) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    managed.manager.get_or_create_log("quiet-0")
    append(log, 12)
    explorer = LogExplorer(managed.manager.directories[0], selected={"partition": "orders-0"})
    bridge = show(explorer)
    follow = page.get_by_role("button", name="Follow: show what is written")
    page.locator(".klw-map").focus()
    page.keyboard.press("f")
    expect(follow).to_have_attribute("aria-pressed", "true")
    until(page, lambda: explorer.follow)
    look(explorer, bridge)
    expect(page.locator(".klw-followed")).to_contain_text("UTC · nothing new")

    page.get_by_role("tab", name="Batches").click()
    batches = page.get_by_role("grid", name="Batches")
    batches.locator("[data-row='2']").click()
    chosen = int(unpack(explorer.get_state("_segment")["_segment"]["batches"]["position"])[2])
    until(page, lambda: explorer.selected["position"] == chosen)
    append(log, 4)
    managed.manager.get_or_create_log("orders-1")
    look(explorer, bridge)
    expect(batches).to_have_attribute("aria-rowcount", "16")
    expect(batches.locator("[data-row='2']")).to_have_attribute("aria-selected", "true")
    expect(batches.locator("[data-kind='new']:visible")).to_have_count(0)  # they are further down
    expect(page.locator(".klw-followed")).to_contain_text("2 partitions changed")
    expect(page.locator(".klw-item[data-fresh=true] b")).to_have_text(["0", "1"])
    expect(page.locator(".klw-legend")).to_contain_text("new")
    assert explorer.selected["position"] == chosen

    # A list that shows its end shows the new end.
    batches.press("End")
    expect(batches.locator("[data-row='15']")).to_be_visible()
    append(log, 3)
    look(explorer, bridge)
    expect(batches.locator("[data-row='18']")).to_be_visible()
    expect(batches.locator("[data-row='18']")).to_have_attribute("data-kind", "new")
    expect(batches.locator("[data-row='18']")).to_contain_text("new")
    page.get_by_role("tab", name="Records").click()
    records = page.get_by_role("grid", name="Records")
    records.press("End")
    expect(records.locator("[data-row='94']")).to_contain_text("94")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / "following.png"))

    # A new segment is in the strip at once.
    append(log, 20)
    look(explorer, bridge)
    expect(page.get_by_role("application", name="orders-0: 2 segments")).to_be_visible()
    page.keyboard.press("f")
    until(page, lambda: not explorer.follow)
    expect(follow).to_have_attribute("aria-pressed", "false")


def test_a_list_of_records_grows_and_neither_selection_nor_scroll_position_moves(
    managed: Managed, page: Page, show: Show
) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    append(log, 40)
    view = RecordBrowser(managed.manager.directories[0], topic="orders")
    view.wait()
    bridge = show(view)
    grid = page.get_by_role("grid").first
    expect(grid).to_have_attribute("aria-rowcount", "200")
    grid.locator("[data-row='3']").click()
    until(page, lambda: view.selected["offset"] == 3)
    grid.evaluate("(el) => { el.scrollTop = 2000; }")
    expect(grid.locator("[data-row='90']")).to_be_visible()
    append(log, 4)
    view.relist(view.logs.listed_again(), DirectoryChanges(frozenset(["orders-0"])))
    view.wait()
    bridge.push()
    expect(grid).to_have_attribute("aria-rowcount", "220")
    page.wait_for_timeout(150)  # the answer where the selected record is
    assert grid.evaluate("(el) => el.scrollTop") == 2000
    assert view.selected["offset"] == 3
    grid.evaluate("(el) => { el.scrollTop = 0; }")
    expect(grid.locator("[data-row='3']")).to_have_attribute("aria-selected", "true")


def test_records_that_are_written_stay_in_sight_or_are_counted(
    managed: Managed, page: Page, show: Show
) -> None:
    log = managed.manager.get_or_create_log("orders-0")

    def write(batches: int) -> None:
        for _ in range(batches):
            managed.clock.advance(1000)
            append(log, 1)

    write(40)
    view = RecordBrowser(managed.manager.directories[0], topic="orders", newest_first=True)
    view.wait()
    bridge = show(view)
    grid, new = page.get_by_role("grid").first, page.locator(".klw-newrows")
    first = grid.locator("[data-row='0']")
    expect(first).to_contain_text("199")
    expect(page.locator(".klw-followed")).to_have_text(
        "a log is being written: the newest come first"
    )
    page.get_by_role("button", name="Follow: show what is written").click()
    until(page, lambda: view.follow)
    bridge.push()
    expect(page.locator(".klw-followed")).to_contain_text("following since")

    def more(batches: int) -> None:
        write(batches)
        assert view.follower is not None
        view.follower.stop()
        view.look()
        view.wait()
        bridge.push()

    more(4)
    expect(first).to_contain_text("219")  # who sees the newest sees the newest
    expect(new).to_be_hidden()
    page.mouse.move(*middle(grid))
    page.mouse.wheel(0, 1200)
    row = grid.locator("[data-row='60']")
    expect(row).to_contain_text("159")
    place = row.bounding_box()
    more(3)
    moved = grid.locator("[data-row='75']")
    expect(moved).to_contain_text("159")  # who reads elsewhere is left there
    assert moved.bounding_box() == place
    expect(new).to_have_text("↑ 15 new records")
    new.click()
    expect(first).to_contain_text("234")
    expect(new).to_be_hidden()

    # With the oldest first, the end is below.
    page.get_by_role("button", name="Oldest first").click()
    until(page, lambda: not view.newest_first)
    view.wait()
    bridge.push()
    page.wait_for_function("model.get('_result').status === 'done'")
    more(1)
    expect(new).to_have_text("↓ 5 new records")
    new.click()
    expect(grid.locator("[data-row='239']")).to_contain_text("239")
    more(1)
    expect(grid.locator("[data-row='244']")).to_be_visible()


def test_the_explorer_stays_at_the_end_of_the_log_also_when_a_segment_is_rolled(
    managed: Managed, page: Page, show: Show
) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    append(log, 30)  # two segments
    place = {"partition": "orders-0", "segment": 0}
    explorer = LogExplorer(managed.manager.directories[0], selected=place)
    bridge = show(explorer)
    page.get_by_role("button", name="Follow: show what is written").click()
    until(page, lambda: explorer.selected["segment"] == log.segments[-1].base_offset)
    bridge.push()
    grid = page.get_by_role("grid", name="Records")
    last = grid.locator("[data-row]:visible").last
    expect(last).to_contain_text("149")
    append(log, 2)
    look(explorer, bridge)
    expect(last).to_contain_text("159")
    page.mouse.move(*middle(grid))
    page.mouse.wheel(0, -600)
    until(page, lambda: "159" not in last.inner_text())
    append(log, 2)
    look(explorer, bridge)
    new = page.locator(".klw-newrows")
    expect(new).to_have_text("↓ 10 new records")
    page.screenshot(path=str(SHOTS / "explorer-following.png"))
    new.click()
    expect(last).to_contain_text("169")
    append(log, 25)  # rolls
    look(explorer, bridge)
    until(page, lambda: explorer.selected["segment"] == log.segments[-1].base_offset)
    bridge.push()
    expect(last).to_contain_text(str(log.log_end_offset - 1))


def middle(grid: Locator) -> tuple[float, float]:
    """Return the middle of a table, for the pointer."""
    box = grid.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_lanes_of_transactions_grow_and_the_zoom_stays(
    managed: Managed, page: Page, show: Show
) -> None:
    log = managed.manager.get_or_create_log("orders-0")
    for sequence in range(8):
        log.append_as_leader(in_transaction(7, 2 * sequence, 2))
        end_transaction(log, 7, commit=True)
    view = TransactionLanes(managed.manager.directories[0])
    bridge = show(view)
    expect(page.locator(".klw-top")).to_contain_text("8 transactions of 1 producer")
    page.locator(".klw-lanes").focus()
    page.keyboard.press("+")
    until(page, lambda: len(view.window) == 2)
    window = list(view.window)
    log.append_as_leader(in_transaction(9, 0, 2))
    view.relist(view.logs.listed_again(), DirectoryChanges(frozenset(["orders-0"])))
    bridge.push()
    expect(page.locator(".klw-top")).to_contain_text("9 transactions of 2 producers")
    page.wait_for_timeout(150)
    assert view.window == window
