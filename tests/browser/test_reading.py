"""What is on the page can be read: contrast, in both themes and with JupyterLab's own styles."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.contrast import LAB_COLORS, faint_texts
from widgets import CompactionPlayer, LogExplorer

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[2] / "sample_data"
LAB_LISTS = """
.jp-OutputArea-output dl { padding: 0; margin: 0; }
.jp-OutputArea-output dt { float: left; width: 20%; font-weight: bold; }
.jp-OutputArea-output dd { float: left; width: 80%; padding: 0; margin: 0; }
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_of_the_explorer_has_enough_contrast(page: Page, show: Show, theme: str) -> None:
    explorer = LogExplorer(DATA / "shop-4.3.1", show_values=True)
    explorer.selected = {"partition": "orders-0", "offset": 3}
    show(explorer, theme=theme)
    page.add_style_tag(content=LAB_COLORS)
    for tab in ("Batches", "Offset index", "Time index", "Findings", "Bytes", "Records"):
        page.get_by_role("tab", name=tab).click()
        assert faint_texts(page) == [], tab
    page.keyboard.press("?")
    assert faint_texts(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_of_a_player_has_enough_contrast(page: Page, show: Show, theme: str) -> None:
    show(CompactionPlayer(DATA / "shop-4.3.1" / "customers-0", everything=True), theme=theme)
    page.add_style_tag(content=LAB_COLORS)
    page.locator(".klw-player").press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("play or pause")
    assert faint_texts(page) == []


def test_the_keys_have_room_in_jupyterlab(page: Page, show: Show) -> None:
    show(LogExplorer(DATA / "shop-4.3.1"))
    page.evaluate("document.getElementById('root').className = 'jp-OutputArea-output'")
    page.add_style_tag(content=LAB_LISTS)
    page.get_by_role("button", name="Keys (?)").click()
    sheet, name, what = (
        page.locator(each).first.bounding_box()
        for each in (".klw-keys", ".klw-keys dt", ".klw-keys dd")
    )
    assert sheet is not None
    assert name is not None
    assert what is not None
    assert name["x"] - sheet["x"] >= 12
    assert what["x"] > name["x"] + 20
    assert abs(what["y"] - name["y"]) < 4
