"""Cleaning and retention of a log in a real browser: conditions are typed, logs picked."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import until
from widgets import CleanerView, RetentionView, WhatIfView
from widgets._assets import style

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
LATE = 1_795_700_000_000  # ms; 4.9 days after the newest record of payments-0


def retention() -> RetentionView:
    return RetentionView(wb.open_log_directory(SHOP)["payments-0"], now=LATE)


def test_a_configuration_is_typed_and_taken_away(page: Page, show: Show) -> None:
    view = retention()
    show(view)
    typed = page.get_by_label("Configuration", exact=True)
    typed.fill("retentoin.ms=4d")
    typed.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did you mean retention.ms?")
    expect(typed).to_have_value("retentoin.ms=4d")  # to be mended
    typed.fill("retention.ms=4d")
    typed.press("Enter")
    expect(page.locator(".klw-region[data-region=deleted]")).to_have_count(10)
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(typed).to_have_value("")
    expect(page.locator(".klw-gaugetext")).to_contain_text("630 KiB of 630 KiB")
    page.get_by_role("button", name="Remove retention.ms").click()
    expect(page.locator(".klw-region[data-region=kept]")).to_have_count(10)
    assert view.conditions["config"] == {}
    page.get_by_label("Version of Kafka").fill("2.8")
    page.get_by_label("Version of Kafka").press("Enter")
    expect(page.locator(".klw-meant")).to_contain_text("A broker of Kafka 2.8 is assumed")
    page.get_by_role("button", name="As the directories have it").click()
    until(page, lambda: view.conditions["kafka"] is None)
    expect(page.get_by_role("button", name="As the directories have it")).to_be_hidden()


def test_what_a_cleaning_would_drop_is_one_tab_away(page: Page, show: Show) -> None:
    view = CleanerView(wb.open_log_directory(SHOP)["customers-0"], now=LATE)
    view.wait()
    show(view)
    page.get_by_role("tab", name="What a cleaning would drop").click()
    expect(page.locator(".klw-said")).to_contain_text("626 of 822 records are dropped")
    reasons = page.get_by_role("grid", name="Reasons")
    expect(reasons.get_by_text("a later record has the same key")).to_be_visible()


def test_a_log_is_picked_by_name(page: Page, show: Show) -> None:
    view = retention()
    show(view)
    log = page.get_by_label("Log", exact=True)
    log.fill("orders-1")
    log.press("Enter")
    until(page, lambda: view.partition.name == "orders-1")
    expect(log).to_have_value("orders-1")
    log.fill("__cluster_metadata-0")
    log.press("Enter")
    expect(page.locator(".klw-state:visible")).to_contain_text("KRaft manages it")
    expect(page.get_by_role("grid", name="Rules")).to_be_hidden()
    log.fill("customers-0")
    log.press("Enter")
    expect(page.get_by_role("grid", name="Rules")).to_be_visible()


@pytest.mark.parametrize("width", [760, 1440, 2560])
def test_nothing_is_wider_than_the_window(page: Page, show: Show, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(retention())
    expect(page.get_by_role("grid", name="Rules")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_without_a_kernel_shows_the_conditions_and_asks_for_none(
    page: Page, tmp_path: Path
) -> None:
    view = retention()
    view.show({"retention.ms": "4d"}, now=LATE)
    view.to_html(tmp_path / "retention.html")
    page.goto((tmp_path / "retention.html").as_uri())
    expect(page.locator(".klw-setting")).to_contain_text("retention.ms = 4d")
    expect(page.locator(".klw-region[data-region=deleted]")).to_have_count(10)
    assert (
        page.locator(".klw-conditions input:visible, .klw-conditions button:visible").count() == 0
    )


def test_what_a_broker_of_another_version_does_is_asked_by_typing_it(
    page: Page, show: Show
) -> None:
    view = WhatIfView(SHOP, {"retention.ms": "4d"}, now=LATE)
    view.wait()
    bridge = show(view)
    done = page.locator(".klw-overcard[data-state=done]")
    expect(done).to_have_count(4)
    expect(page.get_by_role("button", name="broker starts: yes")).to_be_visible()
    version = page.get_by_label("Version of Kafka")
    version.fill("4.1")
    version.press("Enter")
    until(page, lambda: view.conditions["kafka"] == "4.1")
    view.wait()
    bridge.push()
    expect(done).to_have_count(4)
    expect(page.get_by_role("button", name="broker starts: no")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_rule_is_cut_off(page: Page, show: Show) -> None:
    view = CleanerView(wb.open_log_directory(SHOP)["customers-0"], now=LATE)
    view.wait()
    show(view)
    page.add_style_tag(content=style("players/player.css"))  # of a player in the same notebook
    last = list(view.explanation)[-1].rule
    rules = page.get_by_role("grid", name="Rules")
    expect(rules.get_by_text(last, exact=True)).to_be_in_viewport(ratio=0.9)


def test_a_table_of_reasons_fits_a_notebook(page: Page) -> None:
    logs = wb.open_log_directory(SHOP)
    for table in (
        logs["orders-0"].explain_retention(now=LATE),
        logs["customers-0"].explain_cleaning(now=LATE),
        wb.what_if(logs, {"retention.ms": "1d"}, now=LATE),
    ):
        html = table._repr_html_()
        page.set_content(f"<!doctype html><div style='width: 930px; font-size: 13px'>{html}</div>")
        left_out = "(box) => box.scrollWidth - box.clientWidth"
        assert page.locator(".kafka-log-workbench").evaluate(left_out) == 0
