"""The table of every tab in a real browser: its order, widths, copies and files."""

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.browser.bridge import Show
from widgets import DiskUsage, LogExplorer, RecordBrowser
from workbench.values.masking import Masks

pytestmark = pytest.mark.browser

SAMPLE = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


@pytest.fixture(scope="module")
def logs() -> wb.LogDirectory:
    return wb.open_log_directory(SAMPLE)


@pytest.fixture
def sizes(page: Page, show: Show, logs: wb.LogDirectory) -> Locator:
    """Return the table of the topics on the disk."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    show(DiskUsage(logs, at=[]))
    return page.get_by_role("grid", name="Sizes")


def cells(table: Locator, column: int) -> list[str]:
    """Return the texts of a column of the visible rows, from the top."""
    rows = table.locator("[data-row]:visible")
    expect(rows.first).to_be_visible()
    found = {
        int(row.get_attribute("data-row") or 0): row.locator("[role=gridcell]").nth(column)
        for row in rows.all()
    }
    return [found[at].text_content() or "" for at in sorted(found)]


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def downloaded(page: Page, table: Locator, item: str) -> str:
    """Return the file that an entry of a table's menu gives."""
    table.get_by_role("button", name="copy, download").click()
    with page.expect_download() as got:
        page.get_by_role("menuitem", name=item).click()
    return Path(got.value.path()).read_bytes().decode()


def test_a_heading_sorts_and_turns_round_and_the_third_time_gives_the_first_order(
    sizes: Locator,
) -> None:
    names = cells(sizes, 0)
    sort = sizes.get_by_role("button", name="Name")
    sort.click()
    heading = sizes.get_by_role("columnheader", name="Name")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert cells(sizes, 0) == sorted(names, key=str.lower) != names
    sort.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert cells(sizes, 0) == sorted(names, key=str.lower, reverse=True)
    sort.click()
    expect(heading).to_have_attribute("aria-sort", "none")
    assert cells(sizes, 0) == names


def test_rows_and_cells_are_copied(page: Page, sizes: Locator) -> None:
    sizes.get_by_role("button", name="Name").click()
    first, second = cells(sizes, 0)[:2]
    sizes.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+c")
    expect(page.locator(".klw-toast")).to_have_text("Copied 1 row")
    assert clipboard(page).split("\t")[0] == first
    page.keyboard.press("Shift+ArrowDown")
    expect(sizes.locator("[aria-selected=true]")).to_have_count(2)
    page.keyboard.press("Control+c")
    expect(page.locator(".klw-toast").last).to_have_text("Copied 2 rows")
    head, *rows = [line.split("\t") for line in clipboard(page).splitlines()]
    assert head == ["Name", "On disk", "Share", "Length", "What"]
    assert [row[0] for row in rows] == [first, second]


def test_a_cell_that_was_clicked_is_copied_alone(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    show(LogExplorer(logs, selected={"partition": "orders-0", "segment": 442}))
    page.get_by_role("tab", name="Batches").click()
    table = page.get_by_role("grid", name="Batches")
    row = table.locator("[data-row='1']:visible")
    row.locator("[role=gridcell]").nth(1).click()
    page.keyboard.press("Control+c")
    batch = logs["orders-0"].segments[1].batches[1]
    expect(page.locator(".klw-toast")).to_have_text(f"Copied: {batch.position}")
    assert clipboard(page) == str(batch.position)


def test_batches_sorted_by_size_lead_to_the_batch_that_was_picked(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    explorer = LogExplorer(logs, selected={"partition": "orders-0", "segment": 442})
    show(explorer)
    page.get_by_role("tab", name="Batches").click()
    table = page.get_by_role("grid", name="Batches")
    table.get_by_role("button", name="Bytes", exact=True).click()
    sizes = logs["orders-0"].segments[1].batches.rows["size"]
    shown = [int(text.replace(",", "")) for text in cells(table, 2)]
    assert shown == sorted(map(int, sizes), reverse=True)[: len(shown)]
    table.locator("[data-row='0']:visible").click()
    page.wait_for_function("model.get('selected').position !== null")
    chosen = explorer.selected["position"]
    rows = logs["orders-0"].segments[1].batches.rows
    assert int(rows["size"][rows["position"] == chosen][0]) == shown[0]


def test_a_column_is_made_wider_by_its_edge_and_by_keys(page: Page, sizes: Locator) -> None:
    heading = sizes.get_by_role("columnheader", name="On disk")
    before = heading.evaluate("(element) => element.offsetWidth")
    box = heading.locator(".klw-grip").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 63, box["y"] + 5)
    page.mouse.up()
    expect(heading).to_have_js_property("offsetWidth", before + 60)
    heading.get_by_role("button").press("Shift+ArrowLeft")
    expect(heading).to_have_js_property("offsetWidth", before + 44)
    cell = sizes.locator("[data-row='0']:visible [role=gridcell]").nth(1)
    expect(cell).to_have_js_property("offsetWidth", before + 44)
    sizes.get_by_role("button", name="copy, download").click()
    page.get_by_role("menuitem", name="Columns and order as they were").click()
    expect(heading).to_have_js_property("offsetWidth", before)


def test_a_table_is_downloaded_as_it_is_sorted(
    page: Page, sizes: Locator, logs: wb.LogDirectory
) -> None:
    sizes.get_by_role("button", name="Name").click()
    rows = list(csv.DictReader(io.StringIO(downloaded(page, sizes, "as CSV"))))
    names = [row["Name"] for row in rows]
    assert names == sorted(names, key=str.lower)
    assert set(logs.topics) <= set(names)
    assert json.loads(downloaded(page, sizes, "as JSON")) == rows


def test_records_are_taken_along_whole_from_pages_that_were_never_shown(
    page: Page, show: Show, logs: wb.LogDirectory
) -> None:
    browser = RecordBrowser(logs, topic="orders", order="offset", show_values=True)
    browser.wait(30)
    show(browser)
    table = page.get_by_role("grid", name="Records")
    rows = list(csv.DictReader(io.StringIO(downloaded(page, table, "as CSV"))))
    stored = logs.scan(topics="orders").to_pandas().sort_values(["partition", "offset"])
    assert [int(row["Offset"]) for row in rows] == stored.offset.tolist()
    assert [row["Value"] for row in rows] == [each.decode() for each in stored.value]


@pytest.mark.parametrize("mask", [None, Masks.of("* value drop")])
def test_what_is_hidden_or_masked_is_not_in_a_copy_or_a_file(
    page: Page, show: Show, logs: wb.LogDirectory, mask: Masks | None
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    browser = RecordBrowser(
        logs, topic="orders", query="key:O-48212", show_values=mask is not None, mask=mask
    )
    browser.wait(30)
    show(browser)
    table = page.get_by_role("grid", name="Records")
    saved = downloaded(page, table, "as JSON")
    assert len(json.loads(saved)) == browser.result["count"] > 0
    table.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    expect(page.locator(".klw-toast").last).to_contain_text("Copied")
    for text in (saved, clipboard(page)):
        assert "order" not in text.lower().replace("orders", "")
