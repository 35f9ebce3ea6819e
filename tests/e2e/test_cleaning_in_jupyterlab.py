"""The notebooks on compaction in JupyterLab, driven by a real browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from notebooks.build import sources
from tests.browser.bridge import chromium
from tests.e2e.jupyter import Notebook, jupyterlab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

PROJECT = Path(__file__).parents[2]
SHOTS = PROJECT / "build" / "screenshots"
NOT_OURS = ("favicon", "service-worker", "Failed to load resource")
COMPACTION, WHY = "04_step_through_a_compaction", "03_why_was_it_not_compacted"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A page, and the address of a JupyterLab with the notebooks."""
    errors: list[str] = []
    home = tmp_path_factory.mktemp("jupyter")
    work = home / "work" / "notebooks"
    work.mkdir(parents=True)
    for source in sources():
        if source.stem in {COMPACTION, WHY}:
            shutil.copy(source.with_suffix(".ipynb"), work)
    (home / "work" / "sample_data").symlink_to(PROJECT / "sample_data")
    SHOTS.mkdir(parents=True, exist_ok=True)
    with (
        jupyterlab(work, home, None) as address,
        chromium(tmp_path_factory.mktemp("profile"), width=1360, height=1000) as context,
    ):
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        yield page, address
    assert not [each for each in errors if not any(word in each for word in NOT_OURS)]


def in_sight(notebook: Notebook, title: str) -> Locator:
    """A player, scrolled into sight; JupyterLab takes cells off the page that are not."""
    found = notebook.page.locator(".klw-player").filter(has_text=title).first
    for _ in range(60):
        if found.count() and found.is_visible():
            break
        notebook.page.mouse.wheel(0, 500)
        notebook.page.wait_for_timeout(100)
    found.scroll_into_view_if_needed()
    return found


def test_a_compaction_is_played_and_agrees_with_what_was_done(pages: tuple[Page, str]) -> None:
    notebook = Notebook(*pages, f"{COMPACTION}.ipynb")
    notebook.run_all()
    page = notebook.page
    page.mouse.move(680, 600)
    player = in_sight(notebook, "Clean prices-0")
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
    assert notebook.value("left == stays") is True
    assert notebook.value("[each.name for each in both.why(5)]") == [
        "TOMBSTONE_HORIZON_SET",
        "TOMBSTONE_HORIZON_PASSED",
    ]


def test_the_cleaners_view_and_the_explorer_follow_each_other(pages: tuple[Page, str]) -> None:
    notebook = Notebook(*pages, f"{WHY}.ipynb")
    notebook.run_all()
    page = notebook.page
    page.mouse.move(680, 600)
    view = page.locator(".klw-cleaner").first
    for _ in range(40):
        if view.count() and view.is_visible():
            break
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(100)
    view.scroll_into_view_if_needed()
    view.locator(".klw-region").nth(4).click()
    notebook.until(
        lambda: notebook.value("explorer.selected")["segment"] == 1055,
        "the explorer did not follow",
    )
    page.screenshot(path=SHOTS / "notebook-why.png")
    notebook.run("explorer.selected = {'partition': PARTITION, 'segment': 608}")
    expect(view.locator('.klw-region[aria-selected="true"] b')).to_have_text("608")
