"""The decisive step of notebooks, with mouse and keyboard alone: the answer is on the screen."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.jupyter import SHOTS, Notebook
from workbench.cli.lab import TOUR

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]


def opened(lab: tuple[Page, str], name: str) -> Notebook:
    """A notebook with every cell run, from the menu."""
    notebook = Notebook(*lab, f"{name}.ipynb")
    notebook.run_by_menu()
    return notebook


def test_the_tour_leads_to_a_hanging_transaction(lab: tuple[Page, str]) -> None:
    tour = Notebook(*lab, TOUR)
    page = tour.page
    link = tour.in_sight(".jp-RenderedMarkdown a", "Transactions in lanes")
    link.click()
    panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    expect(panel.locator("h1")).to_contain_text("Transactions in lanes")
    notebook = opened(lab, "13_transactions_in_lanes")
    lanes = notebook.in_sight(".klw-coordinators", "655 transactions")
    lanes.get_by_role("tab", name="Open").click()
    lanes.get_by_role("row", name="payments-eu").click()
    explorer = page.locator(".klw").nth(1)
    expect(explorer.locator(".klw-about").last).to_contain_text("4,736")
    assert notebook.value("lanes.selected")["offset"] == 4736
    hanging = notebook.in_sight(".klw-coordinators", "6 offsets below the log end offset")
    expect(hanging.locator(".klw-conclusion")).to_contain_text("'us' keeps the last stable offset")
    page.screenshot(path=SHOTS / "walk-transactions.png")


def test_the_disk_is_opened_down_to_the_overhead_of_a_segment(lab: tuple[Page, str]) -> None:
    notebook = opened(lab, "11_what_fills_the_disk")
    usage = notebook.in_sight(".klw", "shop-4.3.1")
    usage.get_by_role("option", name="payments, ").click(position={"x": 30, "y": 9})
    sizes = usage.get_by_role("grid", name="Sizes")
    sizes.get_by_text("1", exact=True).click()
    open_now = usage.locator(".klw-crumb[aria-current]")
    expect(open_now).to_have_text("payments-1")
    expect(sizes.get_by_text("475", exact=True)).to_be_visible()
    sizes.get_by_text("0", exact=True).click()
    expect(sizes.get_by_role("row", name="batch overhead")).to_contain_text("30 %")
    notebook.page.keyboard.press("Escape")
    expect(open_now).to_have_text("payments-1")
    notebook.page.screenshot(path=SHOTS / "walk-disk.png")


def test_damage_is_seen_and_recovery_ends_at_it(lab: tuple[Page, str]) -> None:
    notebook = opened(lab, "12_is_my_data_damaged")
    page = notebook.page
    checkpoints = notebook.in_sight(".klw", "8 contradictions")
    expect(checkpoints).to_contain_text(
        "Records up to offset 99999 were flushed once and are lost."
    )
    explorer = notebook.in_sight(".klw", "flip_a_bit")
    rows = explorer.get_by_role("grid", name="Records")
    expect(rows.get_by_text("the CRC does not match")).to_have_count(1)
    expect(rows.get_by_text("the batch cannot be read")).to_have_count(0)
    player = notebook.in_sight(".klw-player", "Recover orders-0")
    expect(player.locator(".klw-now h4")).to_have_text("invalid batch found")
    player.focus()
    page.keyboard.press("ArrowLeft")
    expect(player.locator(".klw-now h4")).not_to_have_text("invalid batch found")
    page.screenshot(path=SHOTS / "walk-damage.png")


def test_a_fetch_is_followed_from_the_socket_to_the_slice(lab: tuple[Page, str]) -> None:
    notebook = opened(lab, "10_a_request_from_socket_to_segment")
    player = notebook.in_sight(".klw-player", "Fetch v10")
    player.get_by_role("button", name="records sliced").click()
    expect(player.locator(".klw-now")).to_contain_text("at most maxBytes = 4096")
    player.focus()
    notebook.page.keyboard.press("Home")
    expect(player.locator(".klw-now h4")).to_have_text("request received")
    notebook.page.screenshot(path=SHOTS / "walk-request.png")


def test_an_answer_is_folded_until_a_click_and_its_code_runs_in_the_last_cell(
    lab: tuple[Page, str],
) -> None:
    notebook = opened(lab, "07_arrow_duckdb_polars")
    page = notebook.page
    exercises = notebook.in_sight(".jp-RenderedMarkdown", "Try it")
    answer = exercises.locator("details").nth(1)
    fact = answer.get_by_text("35", exact=True)
    expect(fact).to_be_hidden()
    answer.get_by_text("Answer", exact=True).click()
    expect(fact).to_be_visible()
    code = answer.locator("pre").first.inner_text()
    page.locator(".jp-CodeCell .cm-content").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(f"\n{code}")
    page.keyboard.press("Shift+Enter")
    printed = page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output")
    expect(printed).to_have_text("[(35,)]")
