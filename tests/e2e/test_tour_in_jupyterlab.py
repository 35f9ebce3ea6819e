"""The tour in JupyterLab, driven by a real browser: what a new user does first."""

import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import press_quickly
from tests.e2e.jupyter import SHOTS, Notebook
from workbench.cli.lab import TOUR

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

MAP = ".klw-map canvas"
GONE = ".klw-gone"


@pytest.fixture(scope="module")
def tour(lab: tuple[Page, str]) -> Notebook:
    """The tour, open in a browser, with every cell run."""
    notebook = Notebook(*lab, TOUR)
    notebook.run_all()
    return notebook


@pytest.fixture
def notebook(tour: Notebook) -> Notebook:
    """The tour with nothing selected but the partition, the explorer in sight."""
    tour.page.locator(".klw").first.scroll_into_view_if_needed()
    tour.page.locator(MAP).first.scroll_into_view_if_needed()
    tour.run("explorer.selected = {'partition': partition}")
    tour.until(lambda: tour.value("explorer.selected")["position"] is None, "no start")
    return tour


def test_click_a_batch_and_see_its_records(notebook: Notebook) -> None:
    page = notebook.page
    explorer = page.locator(".klw").first
    batch = notebook.click_a_batch()
    page.screenshot(path=SHOTS / "tour-batch.png")

    record = explorer.locator(".klw-row[data-kind~=within]").first
    record.click()
    notebook.until(
        lambda: notebook.value("explorer.selected")["offset"] == batch, "no record selected"
    )
    explorer.get_by_role("tab", name="Bytes").click()
    expect(explorer.locator(".klw-hexrow:visible u[data-edge=true]").first).to_be_visible()
    page.screenshot(path=SHOTS / "tour-bytes.png")

    notebook.run("explorer.selected = {'partition': partition, 'offset': 7}")
    expect(explorer.locator(".klw-about").last).to_contain_text("Batch")
    assert notebook.run(
        "namespace = {}; code = explorer.query['records'].splitlines();"
        "exec('\\n'.join(code[:-1]), namespace);"
        "print(list(eval(code[-1], namespace)['offset']))"
    ).endswith("[7]")


def test_keys_of_the_explorer_do_not_reach_the_notebook(notebook: Notebook) -> None:
    page = notebook.page
    cells = page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")
    explorer = page.locator(".klw").first
    explorer.locator(".klw-map").focus()
    for key in ("d", "d", "b", "a", "x", "ArrowRight"):
        page.keyboard.press(key)
    notebook.until(
        lambda: notebook.value("explorer.selected")["position"] is not None, "the key was lost"
    )
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == cells


def test_keys_that_come_before_the_kernel_has_answered_are_not_lost(notebook: Notebook) -> None:
    press_quickly(notebook.page.locator(".klw-map").first, "ArrowRight", 25, pause=10)
    wanted = notebook.value("explorer.shown.segment.batches[24].position")
    notebook.until(
        lambda: notebook.value("explorer.selected")["position"] == wanted, "a key was lost"
    )


def test_the_explorer_follows_the_theme_of_jupyterlab(notebook: Notebook) -> None:
    page = notebook.page
    explorer = page.locator(".klw").first
    expect(explorer).to_have_attribute("data-theme", "light")
    page.evaluate(
        "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    expect(explorer).to_have_attribute("data-theme", "dark")
    explorer.locator(MAP).scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    page.screenshot(path=SHOTS / "tour-dark.png")


# What follows ends the kernel that the tests above use.


def test_a_saved_notebook_has_pictures_and_a_restarted_kernel_leaves_the_last_one(
    notebook: Notebook,
) -> None:
    page = notebook.page
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    address, name = page.url.split("/doc/")[0], Path(TOUR).name
    exported = urllib.request.urlopen(  # noqa: S310 - our own server
        f"{address}/nbconvert/html/{name}?download=false", timeout=60
    ).read()
    assert exported.count(b"data:image/png;base64") >= 2
    assert b"application/vnd.jupyter.widget" not in exported

    explorer = page.locator(".klw").first
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(explorer.locator(GONE)).to_be_visible()
    others = explorer.locator(".klw-item[aria-level='2']")
    others.last.click()
    expect(explorer.get_by_text("Reading…")).to_have_count(0)
    expect(explorer.locator(MAP)).to_be_visible()
    page.screenshot(path=SHOTS / "tour-restarted.png")

    page.reload()
    reopened = page.locator(".klw").first
    expect(reopened.locator(GONE)).to_be_visible(timeout=60_000)
    reopened.get_by_role("grid", name="Records").press("End")
    expect(reopened.get_by_text("not in the saved picture").first).to_be_visible()
    page.screenshot(path=SHOTS / "tour-reopened.png")
