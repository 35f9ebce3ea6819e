"""Files of a log directory in the browser: decoded, with their bytes."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.contrast import LAB_COLORS, faint_texts
from tests.browser.pages import until
from widgets import LogExplorer

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def test_a_file_of_the_directory_is_shown_with_its_bytes(page: Page, show: Show) -> None:
    explorer = LogExplorer(SHOP, selected={"partition": "orders-0"})
    show(explorer)
    tree = page.get_by_role("tree")
    tree.press("End")
    tree.press("ArrowRight")
    page.get_by_role("treeitem").filter(has_text="replication-offset").click()
    until(page, lambda: str(explorer.file).endswith("replication-offset-checkpoint"))
    panel = page.get_by_role("region", name="File", exact=True)
    expect(panel).to_contain_text("high watermarks")
    entry = page.get_by_role("grid", name="Entries").get_by_role("row", name="orders-0 1,588")
    entry.click()
    wanted = panel.locator(".klw-hexrow s[data-wanted=true]")
    expect(wanted.first).to_be_visible()
    assert "".join(wanted.all_inner_texts()).startswith("orders 0 1588")
    page.get_by_role("button", name="Back to the partition").click()
    until(page, lambda: explorer.file is None)
    expect(page.get_by_role("heading", name="orders-0")).to_be_visible()


def test_the_files_of_a_partition_are_listed_and_opened(page: Page, show: Show) -> None:
    explorer = LogExplorer(SHOP, selected={"partition": "orders-0"})
    show(explorer)
    page.get_by_role("tab", name="Files").click()
    grid = page.get_by_role("grid", name="Files")
    expect(grid.get_by_role("row", name=".log").first).to_be_visible()
    grid.press("End")
    assert explorer.file is None
    grid.get_by_role("row", name="leader-epoch").click()
    until(page, lambda: str(explorer.file).endswith("orders-0/leader-epoch-checkpoint"))
    expect(page.get_by_role("grid", name="Entries")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [860, 1920])
def test_a_file_can_be_read_at_any_width(page: Page, show: Show, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    show(LogExplorer(SHOP, file=str(SHOP / "meta.properties")), theme=theme)
    page.add_style_tag(content=LAB_COLORS)
    expect(page.locator(".klw-hexrow").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faint_texts(page) == []
