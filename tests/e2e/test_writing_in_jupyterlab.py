"""The notebook on how a log is written, in JupyterLab, driven by a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.jupyter import SHOTS, Notebook, notebook_page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

NAME = "02_how_a_log_is_written"


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """The notebook, open in a browser, with every cell run."""
    with notebook_page(tmp_path_factory, (NAME,)) as (page, address):
        notebook = Notebook(page, address, f"{NAME}.ipynb")
        notebook.run_all()
        yield notebook


def player(notebook: Notebook, title: str) -> Locator:
    """The player of that title, scrolled to."""
    found = notebook.page.locator(f".klw-player[aria-label^='{title}.']").first
    found.scroll_into_view_if_needed()
    return found


def test_what_is_appended_shows_in_the_player_above(writing: Notebook) -> None:
    shown = player(writing, "Append to orders-0")
    before = writing.value("len(player.steps)")
    expect(shown.locator(".klw-place")).to_have_text(f"{before} of {before}")
    writing.run(
        "again = wb.LogManager([DATA], clock=clock, scheduler=ManualScheduler(clock),"
        " observer=steps.append); again.startup(with_tasks=False);"
        "log = again.get_log('orders-0'); sell(1); player.show(steps, ORDERS); again.shutdown()"
    )
    after = writing.value("len(player.steps)")
    assert after > before
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
