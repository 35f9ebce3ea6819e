"""The explorer at any width: nothing is cut off, panes have the size that the reader gives them."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.bridge import Show
from widgets import LogExplorer

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"

CUT = """
() => {
  const root = document.querySelector(".klw").getBoundingClientRect(), cut = [];
  for (const el of document.querySelectorAll(".klw button, .klw [role=tab], .klw input")) {
    if (!el.checkVisibility()) continue;
    const box = el.getBoundingClientRect(), name = el.textContent || el.title || el.placeholder;
    let left = root.left, right = root.right;
    for (let up = el.parentElement; up && !up.matches(".klw"); up = up.parentElement) {
      if (getComputedStyle(up).overflowX === "visible") continue;
      const clip = up.getBoundingClientRect();
      [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
    }
    if (box.left < left - 0.5 || box.right > right + 0.5 || el.scrollWidth > el.clientWidth + 1) {
      cut.push(name);
    }
    const next = el.nextElementSibling?.getBoundingClientRect();
    const isBeside = next?.width && next.top < box.bottom && box.top < next.bottom;
    if (isBeside && next.left < box.right - 1) cut.push(`${name} overlaps`);
  }
  return cut;
}
"""


def width_of(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["width"]


def test_no_button_and_no_tab_is_cut(page: Page, show: Show) -> None:
    page.set_viewport_size({"width": 860, "height": 1000})
    show(LogExplorer(SHOP, selected={"partition": "orders-0", "offset": 3}))
    tabs = page.get_by_role("tab")
    for width in (760, 860, 900, 992, 1020, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 1000})
        for name in ("Findings", "Records"):
            tabs.filter(has_text=name).click()
            assert page.evaluate(CUT) == [], (width, name)


def test_below_960_pixels_the_topics_are_above(page: Page, show: Show) -> None:
    page.set_viewport_size({"width": 892, "height": 1000})
    show(LogExplorer(SHOP))
    side, main = (page.locator(each).bounding_box() for each in (".klw-side", ".klw-main"))
    assert side is not None
    assert main is not None
    assert side["y"] + side["height"] <= main["y"] + 1
    assert side["width"] == main["width"]


def test_panes_are_dragged_moved_by_keys_and_set_back(page: Page, show: Show) -> None:
    page.set_viewport_size({"width": 1920, "height": 1100})
    show(LogExplorer(SHOP, selected={"partition": "orders-0", "offset": 3}))
    side, hexes = page.locator(".klw-side"), page.locator(".klw-panes > [data-pane=bytes]")
    first = width_of(side)
    fence = page.get_by_role("separator", name="Width of the topics")
    box = fence.bounding_box()
    assert box is not None
    page.mouse.move(box["x"], box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 300)
    page.mouse.up()
    assert width_of(side) == first + 90
    fence.press("ArrowLeft")
    assert width_of(side) == first + 74
    expect(fence).to_have_attribute("aria-valuenow", str(round(first + 74)))
    fence.press("Enter")
    assert width_of(side) == first
    before = width_of(hexes)
    beside = page.get_by_role("separator", name="Width of the bytes")
    beside.press("ArrowLeft")  # the handle moves left: the pane on its right grows
    assert width_of(hexes) == before + 16
    beside.press("Home")
    expect(beside).to_have_attribute("aria-valuenow", "320")
    foot = page.get_by_role("separator", name="Height of the lists")
    rows = page.get_by_role("grid", name="Records").locator("[data-row]:visible")
    few = rows.count()
    for _ in range(8):
        foot.press("ArrowDown")
    expect(rows).not_to_have_count(few)
    assert rows.count() > few


def test_records_have_the_whole_width_until_a_batch_is_selected(page: Page, show: Show) -> None:
    page.set_viewport_size({"width": 1920, "height": 1000})
    show(LogExplorer(SHOP, selected={"partition": "orders-0"}))
    grid = page.get_by_role("grid", name="Records")
    assert width_of(grid) > 1600
    expect(page.get_by_text("Select a batch to see its bytes.")).to_be_hidden()
    grid.press("ArrowDown")
    expect(page.locator(".klw-hexrow").first).to_be_visible()
    assert width_of(grid) < 1200


def test_a_filter_without_a_match_says_so_and_is_cleared(page: Page, show: Show) -> None:
    show(LogExplorer(SHOP))
    items = page.get_by_role("treeitem").locator("visible=true")
    before = items.count()
    page.get_by_placeholder("Filter topics").fill("no such topic")
    expect(page.get_by_text("No topic, partition or file has “no such topic”")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    expect(items).to_have_count(before)
    expect(page.get_by_placeholder("Filter topics")).to_be_focused()


def test_an_empty_directory_says_what_to_open(page: Page, show: Show, tmp_path: Path) -> None:
    show(LogExplorer(tmp_path))
    note = page.locator(".klw-main .klw-state:visible")
    expect(note).to_contain_text(f"{tmp_path} holds no partitions")
    expect(note).to_contain_text("log.dirs")
    for name in ("Check every byte of this", "Check every byte of every"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()


def test_a_long_name_keeps_the_number_of_its_partition(
    page: Page, show: Show, tmp_path: Path
) -> None:
    name = f"{'payments-outbox-' * 12}-1234"
    shutil.copytree(SHOP / "orders-0", tmp_path / name)
    page.set_viewport_size({"width": 860, "height": 1000})
    show(LogExplorer(tmp_path, selected={"partition": name}))
    heading = page.get_by_role("heading", name=name)
    box, end = heading.bounding_box(), heading.locator("span").last.bounding_box()
    assert box is not None
    assert end is not None
    assert heading.locator("span").last.inner_text().endswith("-1234")
    assert end["x"] + end["width"] <= box["x"] + box["width"] + 1
    assert heading.locator("span").first.evaluate("(el) => el.scrollWidth > el.clientWidth")
