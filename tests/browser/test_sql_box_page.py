"""SqlBox in a real browser: a query is typed by completions, run, sorted, stopped and hidden."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import SqlBox

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def test_a_query_is_completed_run_and_its_result_sorted(page: Page, show: Show) -> None:
    box = SqlBox(SHOP)
    box.wait()
    show(box)
    grid, text = page.get_by_role("grid", name="Result"), page.get_by_label("Query in SQL")
    expect(grid).to_contain_text("orders")
    text.fill("")
    text.press_sequentially("select partition, count(*) as n from ord")
    expect(page.get_by_role("option", name="orders topic")).to_be_visible()
    text.press("Tab")
    expect(text).to_have_value("select partition, count(*) as n from orders")
    text.press_sequentially(" group by all")
    text.press("Control+Enter")
    until(page, lambda: "group by all" in box.query)
    expect(page.locator(".klw-sqlfoot")).to_contain_text("3 rows · 5,200 records read")
    head = grid.get_by_role("button", name="partition")
    head.hover()
    head.click()
    head.click()
    cells = grid.locator("[data-row]:visible [role=gridcell]:first-child")
    expect(cells).to_have_text(["0", "1", "2"])
    page.get_by_role("button", name="The same rows in Python").click()
    expect(page.get_by_role("dialog")).to_contain_text("logs.sql(")
    page.keyboard.press("Escape")
    text.fill("select * from nowhere")
    text.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("unknown topic or table nowhere")
    text.fill("select key from orders limit 3")
    text.press("Control+Enter")
    expect(cells).to_have_count(3)
    page.get_by_role("button", name="Hide keys, values and headers").click()
    expect(page.get_by_role("alert")).to_contain_text("Values are hidden")
    expect(cells).to_have_count(0)
