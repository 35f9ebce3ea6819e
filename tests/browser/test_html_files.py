"""What `to_html` writes works without a kernel and without a network."""

import base64
import gzip
import re
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.gallery import SHOP, WIDGETS
from tests.browser.pages import STATS
from tests.browser.test_explorer_page import click_batch, shown_rows
from widgets import DiskUsage, LogExplorer, RecordBrowser, ReplicationPlayer
from widgets._file import file_page
from widgets._widget import KafkaWidget
from workbench.errors import OutputError

pytestmark = pytest.mark.browser


def opened(page: Page, widget: KafkaWidget, path: Path, theme: str = "light") -> None:
    """Write a widget's file and open it as a reader does who got it by mail."""
    widget.to_html(path)
    widget.close()
    page.context.set_offline(True)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto(path.as_uri())
    page.wait_for_function(f"{STATS}?.draws > 0")


SAID = """() => {
  globalThis.__said = [];
  new MutationObserver(() => {
    const found = document.body.innerText.match(/not in (this file|the saved picture)/);
    if (found) globalThis.__said.push(found[0]);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
"""Keeps what a page says of rows that it lacks, even for a moment."""


@pytest.fixture(autouse=True)
def _online_again(page: Page) -> object:
    yield
    page.context.set_offline(False)


@pytest.mark.parametrize(
    ("name", "theme"), list(zip(WIDGETS, cycle(["light", "dark"]), strict=False))
)
def test_a_file_draws_in_the_readers_theme(
    page: Page, name: str, theme: str, tmp_path: Path
) -> None:
    widget = WIDGETS[name]()
    described = widget.describe().splitlines()[0]
    opened(page, widget, tmp_path / "widget.html", theme)
    assert page.title().startswith(described[:20])
    assert page.evaluate("document.body.dataset.jpThemeLight") == str(theme == "light").lower()
    expect(page.locator(".klw-gone")).to_be_hidden()


def test_batches_records_and_bytes_of_the_segment_are_in_the_file(
    page: Page, tmp_path: Path
) -> None:
    explorer = LogExplorer(SHOP, selected={"partition": "orders-0", "segment": 442})
    assert explorer.shown is not None
    records = len(explorer.shown.records)
    assert records > 400  # more than the first page
    opened(page, explorer, tmp_path / "orders.html")
    page.evaluate(SAID)
    click_batch(page, 0.5)
    assert len(shown_rows(page)) > 5
    page.get_by_role("grid", name="Records").press("End")
    expect(page.get_by_role("row", name=f"{442 + records - 1:,}").first).to_be_visible()
    assert page.evaluate("__said") == []
    page.get_by_role("tab", name="Bytes").click()
    click_batch(page, 0.7)
    expect(page.get_by_text("base offset").first).to_be_visible()
    expect(page.get_by_role("button", name="Check every byte of this partition")).to_be_hidden()
    expect(page.get_by_role("button", name="Follow")).to_be_hidden()
    page.locator(".klw-item[data-kind=partition]:visible").first.click()  # is not in the file
    expect(page.get_by_role("status")).to_contain_text("open the directory in the workbench")


@pytest.mark.parametrize("name", WIDGETS)
def test_no_button_of_a_file_needs_a_kernel(page: Page, name: str, tmp_path: Path) -> None:
    opened(page, WIDGETS[name](), tmp_path / "widget.html")
    gone = page.locator(".klw-gone")
    for which in page.locator("button:visible:enabled").all():
        if which.is_visible() and which.is_enabled():
            said = which.get_attribute("aria-label") or which.inner_text()
            which.click()
            page.keyboard.press("Escape")
            assert gone.is_hidden(), said
    for which in page.locator("select:visible:enabled, input:visible:enabled").all():
        said = which.get_attribute("aria-label") or ""
        which.evaluate("(el) => el.dispatchEvent(new Event('change', {bubbles: true}))")
        which.press("Enter")
        assert gone.is_hidden(), said


def test_a_search_and_its_first_records_are_in_the_file(page: Page, tmp_path: Path) -> None:
    browser = RecordBrowser(SHOP, topic="orders", query="teapot", show_values=True)
    opened(page, browser, tmp_path / "teapots.html")
    page.evaluate(SAID)
    grid = page.get_by_role("grid", name="Records")
    expect(grid.locator("[data-row]:visible").first).to_contain_text("Teapot")
    grid.press("ArrowDown")
    expect(page.get_by_role("region", name="The record in full")).to_contain_text('"order_id"')
    grid.press("End")
    expect(grid.locator("[aria-selected=true]")).to_contain_text("2024-11-29")
    assert page.evaluate("__said") == []


@pytest.mark.parametrize("name", ["explorer", "records"])
def test_rows_that_are_not_in_a_file_say_so(
    page: Page, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_page, "__defaults__", (0,))  # bytes of answers
    if name == "explorer":
        widget: KafkaWidget = LogExplorer(
            SHOP, selected={"partition": "orders-0", "segment": 442}, show_values=True
        )
    else:
        widget = RecordBrowser(SHOP, topic="orders", show_values=True)
    opened(page, widget, tmp_path / "few.html")
    grid = page.get_by_role("grid", name="Records")
    grid.press("End")
    expect(grid.locator("[data-row]:visible").last).to_contain_text("not in this file")


def test_a_player_plays_in_a_file(page: Page, tmp_path: Path) -> None:
    player = WIDGETS["compaction"]()
    opened(page, player, tmp_path / "compaction.html")
    steps = page.get_by_role("slider")
    before = steps.input_value()
    page.locator(".klw-player").focus()
    page.keyboard.press("ArrowRight")
    expect(steps).not_to_have_value(before)


def test_partitions_open_in_a_file_and_segments_of_the_open_one(page: Page, tmp_path: Path) -> None:
    opened(page, DiskUsage(SHOP, at=["orders", "orders-1"]), tmp_path / "disk.html")
    page.get_by_role("option", name="995, ").click(position={"x": 6, "y": 6})
    expect(page.get_by_role("grid", name="Sizes")).to_contain_text("before compression")
    page.get_by_role("button", name="shop-4.3.1").click()
    page.get_by_role("option", name="payments, ").click(position={"x": 6, "y": 6})
    page.get_by_role("option", name="0, 644").click(position={"x": 6, "y": 6})
    expect(page.locator(".klw-crumb[aria-current]")).to_have_text("payments-0")
    expect(page.locator(".klw-gone")).to_be_hidden()
    page.get_by_role("option", name="0, ").first.click(position={"x": 6, "y": 6})
    expect(page.get_by_role("status")).to_contain_text("open the directory in the workbench")


def content(page: str) -> str:
    packed = re.search(r'type="text/plain">([^<]*)<', page)
    assert packed is not None
    return gzip.decompress(base64.b64decode(packed[1])).decode()


def test_a_file_has_no_byte_that_the_widget_hides() -> None:
    hidden = LogExplorer(SHOP, selected={"partition": "orders-0", "segment": 442})
    shown = LogExplorer(SHOP, selected={"partition": "orders-0", "segment": 442}, show_values=True)
    assert "customer_id" in content(shown.to_html())
    assert "customer_id" not in content(hidden.to_html())


def test_a_file_is_never_written_into_what_is_read_or_over_another(tmp_path: Path) -> None:
    explorer = LogExplorer(SHOP)
    with pytest.raises(OutputError):
        explorer.to_html(SHOP / "widget.html")
    player = ReplicationPlayer("G-1", at=0)
    player.to_html(tmp_path / "widget.html")
    with pytest.raises(OutputError):
        player.to_html(tmp_path / "widget.html")
    player.to_html(tmp_path / "widget.html", overwrite=True, title="Mine & yours")
    assert "<title>Mine &amp; yours</title>" in (tmp_path / "widget.html").read_text()


def test_the_address_of_a_file_names_the_step(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "lookup.html"
    opened(page, WIDGETS["lookup"](), path)
    page.get_by_role("button", name="First step").click()
    page.get_by_role("button", name="Next step").click()
    expect(page).to_have_url(re.compile("#step=2$"))
    page.evaluate("location.hash = 'step=5'")  # a link that is pasted into the open page
    expect(page.locator(".klw-place")).to_contain_text("5 of")
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#step=4")
    expect(page.locator(".klw-place")).to_contain_text("4 of")
