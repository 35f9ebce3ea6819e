"""The notebooks on compaction and retention in JupyterLab, driven by a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.jupyter import SHOTS, Notebook

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

COMPACTION, WHY = "04_step_through_a_compaction", "03_why_was_it_not_compacted"
RETENTION = "05_retention"


def test_a_compaction_is_played_and_agrees_with_what_was_done(lab: tuple[Page, str]) -> None:
    notebook = Notebook(*lab, f"{COMPACTION}.ipynb")
    notebook.run_all()
    page = notebook.page
    player = notebook.in_sight(".klw-player", "Clean prices-0")
    player.get_by_role("button", name="First step").click()
    notebook.until(lambda: notebook.value("player.at") == 0, "the first step is not shown")
    player.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    notebook.until(lambda: notebook.value("player.at") == 3, "the arrow keys do not step")
    player.get_by_label("Go to the next step of a key or an offset").fill("keemun")
    page.keyboard.press("Enter")
    expect(player.locator(".klw-now")).to_contain_text("keemun")
    page.wait_for_timeout(400)
    page.screenshot(path=SHOTS / "notebook-compaction.png")
    cells = page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")
    player.focus()
    for key in ("d", "d", "b"):
        page.keyboard.press(key)
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == cells
    assert notebook.value("left == kept") is True
    assert notebook.value("[each.name for each in both.why(5)]") == [
        "TOMBSTONE_HORIZON_SET",
        "TOMBSTONE_HORIZON_PASSED",
    ]


def test_a_saved_player_plays_without_its_kernel(lab: tuple[Page, str]) -> None:
    page, _address = lab  # the notebook of the test above
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.reload()
    player = page.locator(".klw-player", has_text="Clean prices-0").first
    expect(player).to_be_attached(timeout=60_000)
    player.scroll_into_view_if_needed()
    player.get_by_role("button", name="First step").click()
    place = player.locator(".klw-place")
    expect(place).to_contain_text(re.compile("^1 of"))
    player.focus()
    for step in (2, 3):
        page.keyboard.press("ArrowRight")
        expect(place).to_contain_text(re.compile(f"^{step} of"))
    page.keyboard.press("f")
    expect(player.locator(".klw-sentence p")).to_be_visible()
    page.screenshot(path=SHOTS / "notebook-saved-player.png")
    page.keyboard.press("Escape")


def test_the_cleaners_view_and_the_explorer_follow_each_other(lab: tuple[Page, str]) -> None:
    notebook = Notebook(*lab, f"{WHY}.ipynb")
    notebook.run_all()
    page = notebook.page
    view = notebook.in_sight(".klw-cleaner")
    view.locator(".klw-region").nth(4).click()
    notebook.until(
        lambda: notebook.value("explorer.selected")["segment"] == 1055,
        "the explorer did not follow",
    )
    page.screenshot(path=SHOTS / "notebook-why.png")
    notebook.run("explorer.selected = {'partition': PARTITION, 'segment': 608}")
    expect(view.locator('.klw-region[aria-selected="true"] b')).to_have_text("608")


def test_a_reader_chooses_a_log_and_sees_why_its_segments_went(lab: tuple[Page, str]) -> None:
    notebook = Notebook(*lab, f"{RETENTION}.ipynb")
    notebook.run_all()
    page = notebook.page
    player = notebook.in_sight(".klw-player", "Retention")
    expect(player).to_contain_text("future: 1 deleted so far")
    expect(player.locator(".klw-now h4")).to_have_text("segment kept")
    page.get_by_role("button", name="quiet", exact=True).click()
    expect(player).to_contain_text("quiet: 3 deleted so far")
    player.focus()
    page.keyboard.press("Home")
    notebook.until(lambda: notebook.value("player.at") == 0, "the first step is not shown")
    steps = notebook.value("len(player.steps)")
    assert steps == notebook.value("len(played['quiet'])")
    expect(player.locator(".klw-place")).to_have_text(f"1 of {steps}")
    page.keyboard.press("ArrowRight")
    expect(player.locator(".klw-now")).to_contain_text("retention.ms")
    page.wait_for_timeout(400)
    page.screenshot(path=SHOTS / "notebook-retention.png")
