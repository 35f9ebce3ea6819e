"""The record browser in a real browser, over what a real broker wrote."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import until
from tests.log_manager.managers import Managed
from widgets import RecordBrowser
from workbench.loaders.queries.language import FORMS

pytestmark = pytest.mark.browser

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
SAMPLE = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SAMPLE)


def shown(page: Page) -> list[list[str]]:
    """Return the cells of the visible rows."""
    rows = page.get_by_role("grid", name="Records").locator("[data-row]:visible")
    expect(rows.first).to_be_visible()
    return [row.locator("span").all_inner_texts() for row in rows.all()]


def search(page: Page, query: str) -> None:
    page.get_by_label("Search for records").fill(query)
    page.wait_for_function("(query) => model.get('_result').query === query", arg=query)
    page.wait_for_function("model.get('_result').status === 'done'")


def test_it_finds_while_one_types_and_shows_a_record_in_full(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders")
    show(browser)
    search(page, "$.ship_to.city:portland assam")
    wanted = logs.scan(topics="orders", where=browser.query).to_arrow()
    expect(page.locator(".klw-status")).to_contain_text(f"{len(wanted)} of 5,200 records")
    assert len(shown(page)) == len(wanted)
    expect(page.locator(".klw-row").nth(1)).to_contain_text("Portland")
    assert "Assam" not in str(browser.get_state())  # what a notebook saves
    page.get_by_role("button", name="Hide keys, values and headers").click()
    expect(page.locator(".klw-row").nth(1)).to_contain_text("bytes")
    assert "Assam" not in page.content()
    page.get_by_role("button", name="Show keys, values and headers").click()
    expect(page.locator(".klw-row").nth(1)).to_contain_text("Portland")
    page.get_by_label("Search for records").press("ArrowDown")
    page.keyboard.press("ArrowDown")
    until(page, lambda: browser.selected["offset"] is not None)
    pane = page.get_by_role("region", name="The record in full")
    expect(pane).to_contain_text('"city": "Portland"')
    expect(pane).to_contain_text("trace-id")
    pane.locator("[data-part=value]").get_by_role("button", name="Hex").click()
    expect(pane.locator(".klw-hexline:visible").first).to_contain_text("7b 22 6f 72 64 65 72")
    page.keyboard.press("Escape")
    expect(pane).to_be_hidden()


def test_a_column_head_says_what_is_in_it_and_filters(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    columns = ["offset", "time", "$.ship_to.country", "$.total_cents", "value"]
    browser = RecordBrowser(logs, topic="orders", columns=columns)
    show(browser)
    countries = page.get_by_role("group", name="Commonest values of $.ship_to.country")
    first = countries.get_by_role("button").first
    expect(first).to_have_attribute("title", re.compile("of 500 records"))
    expect(page.locator(".klw-listbar")).to_contain_text("a sample of 500 of 5,200 records")
    for theme in ("light", "dark"):
        page.evaluate(f"document.body.dataset.jpThemeLight = '{str(theme == 'light').lower()}'")
        page.screenshot(path=str(SHOTS / f"column-profiles-{theme}.png"))
    country = first.inner_text()
    first.hover()
    first.click()
    until(page, lambda: browser.query == f'$.ship_to.country="{country}"')
    page.wait_for_function("model.get('_result').status === 'done'")
    found = logs.scan(topics="orders", where=browser.query).count()
    expect(page.locator(".klw-status")).to_contain_text(f"{found:,} of 5,200 records")

    # A brush over the bars is a range.
    bars = page.get_by_role("group", name="$.total_cents from")
    box = bars.bounding_box()
    assert box is not None
    assert round(box["height"]) == 24
    y = box["y"] + 12
    page.mouse.move(box["x"] + 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, y)
    page.mouse.up()
    until(page, lambda: "$.total_cents>=" in browser.query and "$.total_cents<" in browser.query)
    page.wait_for_function("model.get('_result').status === 'done'")
    assert 0 < browser.result["found"] < found

    # Group and count.
    search(page, "")
    page.get_by_role("button", name="Count the records by $.ship_to.country").click()
    sheet = page.get_by_role("dialog", name="Records by $.ship_to.country")
    expect(sheet).to_contain_text("values in 5,200 records")
    row = sheet.locator("[data-row='0']")
    expect(row).to_contain_text(country)
    page.screenshot(path=str(SHOTS / "counted-by-country.png"))
    row.click()
    until(page, lambda: browser.query == f'$.ship_to.country="{country}"')
    page.get_by_role("button", name="Hide keys, values and headers").click()
    expect(countries).to_have_count(0)


def test_what_differs_in_a_selected_time_is_said_and_filters(
    page: Page, show: Show, tmp_path: Path
) -> None:
    managed = Managed(tmp_path / "shop")
    with managed.manager:
        log = managed.manager.get_or_create_log("orders-0")
        for number in range(300):
            managed.clock.advance(1000)
            status = "lost" if 100 <= number < 200 else "paid"
            log.append([(b"k", f'{{"status": "{status}", "city": "Oslo"}}'.encode())])
        browser = RecordBrowser(managed.manager.directories[0], topic="orders")
    show(browser)
    page.wait_for_function("model.get('_result').status === 'done'")
    box = page.locator(".klw-histogram canvas").bounding_box()
    assert box is not None
    y = box["y"] + 30
    page.mouse.move(box["x"] + 0.36 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.move(box["x"] + 0.64 * box["width"], y)
    page.mouse.up()
    page.get_by_role("button", name="Which values differ inside").click()
    sheet = page.get_by_role("dialog", name="What differs?")
    row = sheet.get_by_role("button").filter(has_text="$.status")
    expect(row).to_contain_text("lost")
    expect(row).to_contain_text("100 %")
    expect(sheet).not_to_contain_text("$.city")  # it is the same everywhere
    for theme in ("light", "dark"):
        page.evaluate(f"document.body.dataset.jpThemeLight = '{str(theme == 'light').lower()}'")
        page.screenshot(path=str(SHOTS / f"what-differs-{theme}.png"))
    row.hover()
    row.click()
    until(page, lambda: browser.query == '$.status="lost"')
    expect(sheet).to_be_hidden()


def test_a_brushed_time_selects_and_can_be_searched_alone(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders")
    show(browser)
    page.wait_for_function("model.get('_result').status === 'done'")
    box = page.locator(".klw-histogram canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 30
    page.mouse.move(x, y)
    expect(page.locator(".klw-tip")).to_contain_text("record")
    page.mouse.down()
    page.mouse.move(x + 60, y)
    page.mouse.move(x + 120, y)
    page.mouse.up()
    until(page, lambda: len(browser.brush) == 2)
    page.wait_for_function("model.get('_result').count < 5200")
    expect(page.locator(".klw-status")).to_contain_text("selected")
    times = logs.scan(topics="orders", timestamps=(int(browser.brush[0]), int(browser.brush[1])))
    assert browser.result["count"] == times.count() > 0
    page.locator(".klw-histogram").focus()
    before = browser.brush
    page.keyboard.press("ArrowRight")
    until(page, lambda: browser.brush != before)
    count = browser.result["count"]
    page.get_by_role("button", name="Search this time alone").click()
    until(page, lambda: browser.query.startswith("time:"))
    page.wait_for_function("model.get('_result').status === 'done'")
    assert browser.brush == []
    assert browser.result["found"] == count


def test_sorting_turns_round_and_partitions_can_be_chosen(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=True)
    show(browser)
    page.get_by_role("columnheader", name="Time").locator(".klw-sort").click()
    until(page, lambda: browser.newest_first)
    page.wait_for_function("model.get('_result').status === 'done'")
    times = [row[2] for row in shown(page)]
    assert times == sorted(times, reverse=True)
    page.get_by_role("combobox", name="Partition").select_option("orders-2")
    until(page, lambda: browser.partition == "orders-2")
    page.get_by_role("button", name="Offset").click()
    until(page, lambda: browser.order == "offset")
    page.wait_for_function("model.get('_result').status === 'done'")
    rows = shown(page)
    assert {row[0] for row in rows} == {"2"}
    offsets = [int(row[1].replace(",", "")) for row in rows]
    assert offsets == sorted(offsets)
    page.get_by_role("columnheader", name="Offset").locator(".klw-sort").press("Enter")
    until(page, lambda: browser.newest_first)
    page.wait_for_function("model.get('_result').status === 'done'")
    last = logs["orders-2"].log_end_offset - 1
    expect(page.get_by_role("row").nth(1)).to_contain_text(f"{last:,}")
    page.get_by_role("columnheader", name="Bytes").locator(".klw-sort").click()
    until(page, lambda: browser.order == "size" and browser.result["status"] == "done")
    page.wait_for_function("model.get('_result').status === 'done'")
    sizes = [int(row[6].replace(",", "")) for row in shown(page)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) > 1
    assert page.get_by_role("columnheader", name="Bytes").get_attribute("aria-sort") == "descending"
    page.get_by_label("Topic", exact=True).select_option("customers")
    until(page, lambda: (browser.topic, browser.partition) == ("customers", ""))


def test_a_long_list_is_read_where_one_looks(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders", order="offset")
    browser.wait(30)
    show(browser)
    grid = page.get_by_role("grid", name="Records")
    grid.focus()
    page.keyboard.press("End")
    until(page, lambda: browser.selected["offset"] is not None)
    last = logs["orders-2"].log_end_offset - 1
    assert (browser.selected["partition"], browser.selected["offset"]) == ("orders-2", last)
    expect(grid.locator("[aria-selected=true]")).to_contain_text(f"{last:,}")


def test_a_query_that_cannot_be_read_says_why(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(RecordBrowser(logs, topic="orders", query="key:O-48212"))
    page.get_by_label("Search for records").fill("key:/(/")
    expect(page.get_by_role("alert").locator("visible=true")).to_contain_text("missing )")
    assert len(shown(page)) >= 1
    page.get_by_label("Search for records").fill("key:nobody")
    expect(page.get_by_text("No record meets this query.")).to_be_visible()
    expect(page.get_by_role("alert").locator("visible=true")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="What a query can say")).to_contain_text("is:tombstone")


def test_a_query_that_cannot_be_read_does_not_say_that_no_record_meets_it(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    show(RecordBrowser(logs, topic="orders"))
    search(page, "no-record-has-this")
    expect(page.get_by_text("No record meets this query.")).to_be_visible()
    page.get_by_label("Search for records").fill("/(/")
    expect(page.get_by_text("Nothing was searched: the query has an error.")).to_be_visible()
    expect(page.get_by_text("No record meets this query.")).to_have_count(0)


def test_without_a_kernel_the_first_rows_stay(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders")
    browser.wait(30)
    show(browser, kernel=False)
    assert len(shown(page)) > 10
    expect(page.get_by_text("The kernel does not know this widget")).to_be_visible()
    grid = page.get_by_role("grid", name="Records")
    grid.focus()
    page.keyboard.press("End")
    expect(grid).to_contain_text("not in the saved picture")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [860, 1440, 1920])
def test_nothing_is_cut_off(
    page: Page, show: Show, logs: wb.LogDirectory, width: int, theme: str
) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=True, query="teapot")
    browser.wait(30)
    browser.selected = {"partition": "orders-1", "offset": 491}
    page.set_viewport_size({"width": width, "height": 1000})
    show(browser, theme=theme)
    expect(page.get_by_role("region", name="The record in full")).to_contain_text("order_id")
    wide = page.evaluate(
        """() => [...document.querySelectorAll(".klw-top > *, .klw-queryrow > *, .klw-phead > *")]
          .filter((el) => el.offsetParent && el.getBoundingClientRect().right > innerWidth - 16)
          .map((el) => el.className)"""
    )
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_query_is_completed_and_the_sheet_shows_what_the_parser_reads(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=True)
    show(browser)
    page.wait_for_function("model.get('_result').status === 'done'")
    field = page.get_by_label("Search for records")
    field.press_sequentially("teapot and $.ship_to.ci")
    offered = page.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(offered.first).to_contain_text("$.ship_to.city")
    field.press("Tab")
    expect(field).to_have_value("teapot and $.ship_to.city")
    field.press_sequentially(" = Portland")
    page.wait_for_function("model.get('_result').query.endsWith('Portland')")
    wanted = logs.scan(topics="orders", where=browser.query).count()
    expect(page.locator(".klw-status")).to_contain_text(f"{wanted} of 5,200 records")
    field.fill("total_cents > 100")
    expect(page.get_by_role("alert")).to_contain_text("$.total_cents > 100")
    page.get_by_role("button", name="What a query can say").click()
    sheet = page.get_by_role("dialog")
    for example, meaning in FORMS:
        expect(sheet).to_contain_text(example)
        expect(sheet).to_contain_text(meaning)


def test_a_search_that_finds_nothing_goes_on_in_all_topics(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="payments", query="assam")
    browser.wait(60)
    show(browser)
    page.get_by_role("button", name="Search all 8 topics").click()
    until(page, lambda: browser.topic == "")
    page.wait_for_function("model.get('_result').found > 0")
    expect(page.get_by_label("Topic", exact=True)).to_have_value("")
    row = page.get_by_role("grid", name="Records").locator("[data-row='0']:visible")
    expect(row.locator("[role=gridcell]").nth(0)).to_have_text(browser.result["rows"][0][0])


def test_the_newest_come_first_and_a_consumers_isolation_level_is_chosen(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="payments", show_values=True)
    show(browser)
    page.get_by_role("button", name="Newest first").click()
    until(page, lambda: (browser.order, browser.newest_first) == ("time", True))
    page.get_by_label("Isolation level").select_option("read_committed")
    until(page, lambda: browser.isolation_level == "read_committed")
    page.wait_for_function("model.get('_result').status === 'done'")
    scan = logs.scan(topics="payments", isolation_level="read_committed")
    assert browser.result["found"] == scan.count() < logs.scan(topics="payments").count()
    times = [row[2] for row in shown(page)]
    assert times == sorted(times, reverse=True)


def headings(page: Page) -> list[str]:
    heads = page.get_by_role("grid", name="Records").get_by_role("columnheader")
    texts = [head.evaluate("(each) => each.firstChild.textContent") for head in heads.all()]
    return [str(text) for text in texts if text]


def test_fields_become_columns_with_what_is_in_them(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=True)
    browser.wait(60)
    show(browser)
    page.get_by_role("button", name="Choose the columns").click()
    sheet = page.get_by_role("dialog", name="Columns")
    sheet.get_by_role("checkbox", name="Headers").click()
    until(page, lambda: "headers" not in browser.columns)
    sheet.get_by_label("Find a field").fill("country")
    sheet.get_by_role("checkbox", name="$.ship_to.country").click()
    until(page, lambda: browser.columns[-1] == "$.ship_to.country")
    sheet.get_by_role("button", name="$.ship_to.country: one place to the left").click()
    until(page, lambda: browser.columns[-2] == "$.ship_to.country")
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="$.ship_to.country")).to_contain_text("distinct")
    names = ["Partition", "Offset", "Time", "Key", "Value", "$.ship_to.country", "Bytes"]
    until(page, lambda: headings(page) == names)
    wanted = [
        json.loads(each["value"]) for each in logs.scan(topics="orders").to_arrow().to_pylist()
    ]
    known = {each["order_id"]: each["ship_to"]["country"] for each in wanted}
    for row in shown(page):
        assert row[5] == known[row[3]]


def test_a_field_of_the_record_is_searched_for_left_out_or_made_a_column(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=True)
    browser.wait(60)
    show(browser)
    page.get_by_role("grid", name="Records").locator("[data-row='0']:visible").click()
    pane = page.get_by_role("region", name="The record in full")
    city = pane.locator("[title='$.ship_to.city'][data-token=string]")
    name = json.loads(city.inner_text())
    city.click()
    page.get_by_role("menuitem", name="Only $.ship_to.city").click()
    until(page, lambda: browser.query == f'$.ship_to.city="{name}"')
    page.wait_for_function("model.get('_result').status === 'done'")
    found = logs.scan(topics="orders", where=browser.query)
    assert browser.result["found"] == found.count() > 0
    first = pane.locator("[data-part=value] .klw-token").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Show as a column").focus()
    page.keyboard.press("Enter")
    until(page, lambda: browser.columns[-1].startswith("$."))
    pane.locator("[title='$.ship_to.country'][data-token=string]").click()
    page.get_by_role("menuitem", name="Without").click()
    until(page, lambda: "-$.ship_to.country=" in browser.query)
    page.wait_for_function("model.get('_result').found === 0")


def done(page: Page, order: str) -> None:
    """Wait until the list is sorted so, and every record was looked at."""
    page.wait_for_function(
        "(order) => model.get('order') === order && model.get('_result').status === 'done'",
        arg=order,
    )


def test_all_records_are_sorted_by_a_field_with_the_keyboard(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(
        logs, topic="orders", columns=["offset", "$.ship_to.city", "value"], show_values=True
    )
    show(browser)
    head = page.get_by_role("columnheader", name="$.ship_to.city")
    records = [
        (json.loads(each["value"])["ship_to"]["city"].casefold(), each["partition"], each["offset"])
        for each in logs.scan(topics="orders").to_arrow().to_pylist()
    ]
    for key, way in ((min, "ascending"), (max, "descending")):
        head.locator(".klw-sort").press("Enter")
        page.wait_for_function(
            "(isDown) => model.get('newest_first') === isDown", arg=way == "descending"
        )
        done(page, "$.ship_to.city")
        expect(head).to_have_attribute("aria-sort", way)
        city = key(records)[0]
        expect(page.get_by_role("grid").locator("[data-row='0']")).to_contain_text(
            city, ignore_case=True
        )
    assert browser.result["count"] == len(records)
    button = head.locator(".klw-sort")
    expect(button).to_be_focused()
    page.get_by_role("button", name="keys, values and headers").click()
    until(page, lambda: browser.order == "time")
    expect(head.locator(".klw-sort")).to_have_count(0)


def test_a_list_that_is_not_complete_says_what_is_sorted(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders", order="size")
    browser.wait(60)
    bridge = show(browser)
    expect(page.get_by_text("Sorted by Bytes")).to_be_hidden()
    browser.set_trait("_result", browser.result | {"status": "canceled"})
    bridge.push()
    found = f"the {browser.result['listed']:,} records found so far"
    expect(page.get_by_text(f"Sorted by Bytes: {found}; the search was stopped.")).to_be_visible()


def test_widths_stay_with_their_columns(page: Page, show: Show, logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders")
    bridge = show(browser)
    key = page.get_by_role("columnheader", name="Key")
    expect(page.locator(".klw-sample")).to_contain_text("500")  # heads are made again for it
    before = key.bounding_box()
    key.locator(".klw-sort").press("Shift+ArrowRight")
    until(page, lambda: "key" in browser.column_widths)
    wider = browser.column_widths["key"]
    assert before is not None
    assert wider > before["width"]
    page.get_by_label("Topic", exact=True).select_option("customers")
    until(page, lambda: browser.topic == "customers")
    browser.columns = ["offset", "value"]
    bridge.push()
    expect(key).to_have_count(0)
    browser.columns = ["value", "key", "offset"]
    bridge.push()
    expect(key).to_have_count(1)
    page.wait_for_function(
        "(wanted) => [...document.querySelectorAll('[role=columnheader]')]"
        ".find((each) => each.ariaLabel === 'Key').offsetWidth === wanted",
        arg=wider,
    )


@pytest.mark.parametrize("width", [760, 1280, 2560])
def test_the_list_fills_the_window_of_the_app(
    page: Page, show: Show, logs: wb.LogDirectory, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 1300})
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => document.body.classList.add('klw-app'))"
    )
    show(RecordBrowser(logs, topic="orders"))
    page.wait_for_function(
        "innerHeight - document.querySelector('.klw').getBoundingClientRect().bottom < 30"
    )
    grid = page.get_by_role("grid", name="Records").bounding_box()
    assert grid is not None
    assert grid["height"] > 800


def test_records_of_two_brokers_have_a_column_that_says_whose_they_are(
    page: Page, show: Show
) -> None:
    """Both have offset 1 of ledger-0: broker 1 wrote m1, and broker 2 n1."""
    folder = SAMPLE.parent / "two-brokers"
    browser = RecordBrowser([folder / "broker1", folder / "broker2"], order="offset")
    browser.wait(30)
    bridge = show(browser)
    grid = page.get_by_role("grid", name="Records")
    expect(grid.get_by_role("columnheader").first).to_have_text("Broker")
    rows = shown(page)
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("1", "0", "0"), ("1", "0", "1"), ("1", "0", "2"), ("2", "0", "0"), ("2", "0", "1"),
    ]  # fmt: skip
    grid.locator("[data-row='4']").click()
    expect(page.locator(".klw-recordpane")).to_contain_text("n1")
    assert bridge.widget.selected["partition"].endswith("broker2/ledger-0")
