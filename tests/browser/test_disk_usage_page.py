"""DiskUsage in a real browser: a click opens, Escape closes, the list and the map agree."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import DiskUsage

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


def test_clicks_open_down_to_keys_and_values_and_escape_closes(page: Page, show: Show) -> None:
    usage = DiskUsage(SHOP)
    show(usage)
    page.get_by_role("option", name="orders, ").click(position={"x": 6, "y": 6})
    until(page, lambda: usage.at == ["orders"])
    page.get_by_role("option", name="0, 415").click(position={"x": 6, "y": 6})
    until(page, lambda: usage.at == ["orders", "orders-0"])
    page.get_by_role("option", name="903, ").click(position={"x": 6, "y": 6})
    until(page, lambda: usage.at == ["orders", "orders-0", "903"])
    expect(page.locator(".klw-treemap")).to_contain_text("values")
    expect(page.get_by_role("grid", name="Sizes")).to_contain_text("before compression")
    expect(page.locator(".klw-crumb[aria-current]")).to_have_text("segment 903")
    page.keyboard.press("Escape")
    until(page, lambda: usage.at == ["orders", "orders-0"])
    page.get_by_role("button", name="shop-4.3.1").click()
    until(page, lambda: usage.at == [])


def test_keys_alone_go_in_and_out(page: Page, show: Show) -> None:
    usage = DiskUsage(SHOP)
    show(usage)
    page.locator(".klw-treemap").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("option", selected=True)).to_contain_text("clicks")
    expect(page.locator("[aria-live=polite]")).to_contain_text("topic clicks")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, lambda: usage.at == ["orders"])
    page.keyboard.press("Backspace")
    until(page, lambda: usage.at == [])
    grid = page.get_by_role("grid", name="Sizes")
    grid.focus()
    grid.press("End")
    grid.press("Enter")
    until(page, lambda: usage.at == ["returns"])


def test_a_click_on_a_row_of_the_sizes_opens_it_and_a_double_click_goes_no_deeper(
    page: Page, show: Show
) -> None:
    usage = DiskUsage(SHOP)
    show(usage)
    grid = page.get_by_role("grid", name="Sizes")
    grid.get_by_text("orders", exact=True).click()
    until(page, lambda: usage.at == ["orders"])
    page.keyboard.press("Escape")
    until(page, lambda: usage.at == [])
    grid.get_by_text("orders", exact=True).dblclick()
    until(page, lambda: usage.at == ["orders"])
    page.wait_for_timeout(200)
    assert usage.at == ["orders"]


def test_python_is_that_of_what_is_open(page: Page, show: Show) -> None:
    usage = DiskUsage(SHOP, at=["orders", "orders-0", "903"])
    show(usage)
    page.get_by_role("button", name="Python code for these sizes").click()
    expect(page.get_by_role("dialog")).to_contain_text("usage[usage.segment == 903]")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert usage.at[-1] == "903"


def test_without_a_kernel_what_was_read_still_opens_and_the_rest_says_why_not(
    page: Page, show: Show
) -> None:
    usage = DiskUsage(SHOP)
    show(usage)
    page.evaluate("loseKernel()")
    page.get_by_role("option", name="orders, ").click(position={"x": 6, "y": 6})
    expect(page.locator(".klw-crumb[aria-current]")).to_have_text("orders")
    page.get_by_role("option", name="0, 415").click(position={"x": 6, "y": 6})
    expect(page.locator(".klw-gone")).to_contain_text("run the cell again")
    expect(page.locator(".klw-crumb[aria-current]")).to_have_text("orders")


@pytest.mark.parametrize("width", [480, 860, 1440, 1920])
def test_it_fits_narrow_and_wide_pages_in_the_dark_too(page: Page, show: Show, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    show(DiskUsage(SHOP, at=["orders", "orders-0"]), theme="dark")
    assert page.locator(".klw-disk").evaluate("(el) => el.scrollWidth <= el.clientWidth")
    outside = page.evaluate(
        """() => {
          const box = document.querySelector(".klw-treemap").getBoundingClientRect();
          return [...document.querySelectorAll(".klw-tile")].filter((el) => {
            const own = el.getBoundingClientRect();
            return own.right > box.right + 1 || own.bottom > box.bottom + 1;
          }).length;
        }"""
    )
    assert outside == 0
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0
