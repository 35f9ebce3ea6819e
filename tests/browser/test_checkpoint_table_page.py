"""CheckpointTable in a real browser: the marked cells, what a row says, the filter, the check."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import CheckpointTable

SAMPLES = Path(__file__).parents[2] / "sample_data"
DAMAGED = SAMPLES / "damaged"


def test_a_row_says_what_each_file_says_and_what_a_broker_would_do(page: Page, show: Show) -> None:
    table = CheckpointTable(DAMAGED)
    show(table)
    grid, now = page.get_by_role("grid", name="Partitions"), page.locator(".klw-now")
    row = grid.get_by_role("row").filter(has_text="checkpoints-ahead-0")
    marked = ["checkpoints-ahead-0", "100,000", "100,000"]
    expect(row.locator("[data-kind^=tone-]")).to_have_text(marked)
    row.click()
    until(page, lambda: table.selected["partition"] == "checkpoints-ahead-0")
    expect(now).to_contain_text("recovery point 100,000; expected at most 72")
    expect(now).to_contain_text("A broker uses the log end offset as the recovery point")
    expect(now.locator(".klw-extent u[data-bad]")).to_have_count(2)
    expect(page.locator("[aria-live=polite]")).to_contain_text("A broker lowers the high watermark")
    grid.press("End")
    expect(now.locator("h4")).to_have_text("zero-tail-0")


def test_rows_are_filtered_by_name_and_by_contradiction(page: Page, show: Show) -> None:
    show(CheckpointTable(DAMAGED))
    rows = page.get_by_role("grid", name="Partitions").locator("[data-row]:visible")
    page.get_by_role("button", name="Contradictions").click()
    expect(rows).to_have_count(6)
    page.get_by_role("searchbox").fill("garbage")
    expect(rows).to_have_count(2)
    page.get_by_role("searchbox").fill("nothing")
    expect(page.locator(".klw-grid .klw-state")).to_have_text("Nothing contradicts the logs.")


def test_large_logs_are_compared_by_the_button(page: Page, show: Show) -> None:
    show(CheckpointTable(DAMAGED, check=False))
    expect(page.locator(".klw-sum")).to_contain_text("not checked yet")
    page.get_by_role("button", name="Read the files again").click()
    expect(page.locator(".klw-sum")).to_contain_text("8 contradictions")
    expect(page.get_by_role("button", name="Read the files again")).to_be_enabled()


@pytest.mark.parametrize("width", [480, 860, 1440, 1920])
def test_it_fits_narrow_and_wide_pages(page: Page, show: Show, width: int, tmp_path: Path) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    first = SAMPLES / "two-brokers" / "broker1"
    twice = [first, shutil.copytree(first, tmp_path / "copy")]
    show(CheckpointTable(wb.open_log_directory(twice)), theme="dark")
    assert page.locator(".klw-checkpoints").evaluate("(el) => el.scrollWidth <= el.clientWidth")
    expect(page.locator(".klw-card-of")).to_have_count(2)
    expect(page.locator(".klw-card-of").last).to_contain_text("does not start")
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0
