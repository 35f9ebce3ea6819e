"""The notebook on how a log is written, in JupyterLab, driven by a real browser."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.jupyter import SHOTS, Notebook

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

NAME = "02_how_a_log_is_written"


@pytest.fixture(scope="module")
def writing(lab: tuple[Page, str]) -> Notebook:
    """The notebook, open in a browser, with every cell run."""
    notebook = Notebook(*lab, f"{NAME}.ipynb")
    notebook.run_all()
    return notebook


def player(notebook: Notebook, title: str) -> Locator:
    """The player of that title, scrolled to."""
    found = notebook.page.locator(f".klw-player[aria-label^='{title}.']").first
    found.scroll_into_view_if_needed()
    return found


def test_a_list_that_changed_out_of_sight_is_not_blank(writing: Notebook) -> None:
    shown = writing.in_sight(".klw-player", "Append to orders-0")
    for cell in shown.get_by_role("row", selected=True).get_by_role("gridcell").all():
        expect(cell).to_be_visible()


def test_what_is_appended_shows_in_the_player_above(writing: Notebook) -> None:
    shown = player(writing, "Append to orders-0")
    before = writing.value("len(player.steps)")
    expect(shown.locator(".klw-place")).to_have_text(f"{before} of {before}")
    cell = writing.page.locator(".jp-CodeCell").filter(has_text="print(player.step)").first
    cell.locator(".cm-content").click()
    writing.page.keyboard.press("Shift+Enter")
    writing.until(lambda: writing.value("len(player.steps)") > before, "nothing was appended")
    after = writing.value("len(player.steps)")
    expect(shown.locator(".klw-place")).to_have_text(f"{after:,} of {after:,}")
    expect(shown.locator(".klw-now h4")).to_have_text("appended")
    last = writing.value("player.step.numbers['last_offset']")
    expect(shown.locator(".klw-now dl")).to_contain_text(f"{last:,}")
    writing.page.wait_for_timeout(500)
    writing.page.screenshot(path=SHOTS / "writing-append.png")


def test_a_reader_steps_through_a_recovery_to_the_cut(writing: Notebook) -> None:
    page, shown = writing.page, player(writing, "Recover orders-0 after a crash")
    cut = writing.value("recovery.at")
    shown.focus()
    page.keyboard.press("Home")
    writing.until(lambda: writing.value("recovery.at") == 0, "the kernel was not told")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    writing.until(lambda: writing.value("recovery.at") == 3, "a key was lost")
    shown.get_by_role("button", name="segment recovered").click()
    writing.until(lambda: writing.value("recovery.at") == cut, "the kind leads elsewhere")
    expect(shown.locator(".klw-now")).to_contain_text("cut")
    page.screenshot(path=SHOTS / "writing-recovery.png")


def test_a_reader_plays_a_look_up(writing: Notebook) -> None:
    shown = player(writing, "Look up offset 33 in orders-0")
    shown.get_by_role("button", name="25/s").click()
    shown.get_by_role("button", name="First step").click()
    shown.get_by_role("button", name="Play").click()
    last = writing.value("len(lookup.steps)")
    expect(shown.locator(".klw-place")).to_have_text(f"{last} of {last}")
    expect(shown.locator(".klw-now h4")).to_have_text("batch found")
    writing.page.screenshot(path=SHOTS / "writing-look-up.png")


def test_a_reader_moves_the_clock_and_more_segments_go(writing: Notebook) -> None:
    shown = player(writing, "Retention of a day")
    expect(shown.locator(".klw-sum")).to_contain_text("6 hours after closing")
    kept = shown.locator(".klw-seg[data-fate=kept]").get_attribute("title")
    handle = writing.page.locator(".noUi-handle").last
    handle.focus()
    for _ in range(12):
        writing.page.keyboard.press("ArrowRight")
    expect(shown.locator(".klw-sum")).to_contain_text("18 hours after closing")
    assert shown.locator(".klw-seg[data-fate=kept]").get_attribute("title") != kept
    expect(shown.locator(".klw-now h4")).to_have_text("segment kept")
    writing.page.screenshot(path=SHOTS / "writing-retention.png")
