"""The notebooks on groups and on replication, and the screen, in JupyterLab, in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.jupyter import SHOTS, Notebook

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

GROUPS = "08_where_do_my_consumers_stand"
VIEWS = {
    "Records": ".klw-browser",
    "Disk": ".klw-disk",
    "Cleaning": ".klw-cleaner",
    "Groups": ".klw-coordinators",
    "Transactions": ".klw-coordinators",
    "Files": ".klw-checkpoints",
    "Explore": ".klw-map",
}
REPLICATION = "09_replication_and_the_high_watermark"


@pytest.fixture(scope="module")
def notebook(lab: tuple[Page, str]) -> Notebook:
    found = Notebook(*lab, f"{GROUPS}.ipynb")
    found.run_all()
    return found


def test_an_expiry_is_played_with_the_keys(notebook: Notebook) -> None:
    page = notebook.page
    player = notebook.in_sight(".klw-offsets", "An expiry")
    expect(player.locator(".klw-records [data-record=tombstone]")).to_have_count(2)
    player.focus()
    page.keyboard.press("ArrowRight")
    expect(player.locator(".klw-now h4")).to_have_text("group removed")
    page.wait_for_timeout(300)
    page.screenshot(path=SHOTS / "notebook-offsets.png")


def test_the_group_and_the_explorer_follow_each_other(notebook: Notebook) -> None:
    page = notebook.page
    view = notebook.in_sight(".klw-coordinators", "Over time")
    lanes = view.locator(".klw-lanes")
    lanes.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    notebook.until(
        lambda: notebook.value("explorer.selected")["offset"] == 500, "the explorer did not follow"
    )
    assert notebook.value("explorer.selected")["partition"] == "clicks-0"
    page.wait_for_timeout(400)
    page.screenshot(path=SHOTS / "notebook-groups.png")
    view.get_by_label("Group", exact=True).select_option("order-dashboard")
    expect(view.locator(".klw-sum")).to_contain_text("lag 2,241")
    notebook.run("explorer.selected = {'partition': 'orders-1', 'offset': 527}")
    expect(view.locator(".klw-now h4")).to_have_text("orders-1")


def test_a_lost_record_is_kept_under_other_rules(notebook: Notebook) -> None:
    page = notebook.page
    address = page.url.partition("/doc/")[0]
    replication = Notebook(page, address, f"{REPLICATION}.ipynb")
    replication.run_all()
    player = replication.in_sight(".klw-replication", "G-1 A restart")
    expect(player.locator(".klw-broken")).to_contain_text("in-sync replica 1 has [m0]")
    player.focus()
    page.keyboard.press("End")
    expect(player.locator(".klw-offset[data-differs=true]")).to_have_count(1)
    page.wait_for_timeout(300)
    page.screenshot(path=SHOTS / "notebook-replication.png")
    player.get_by_role("button", name="4.2").click()
    expect(player.locator(".klw-sum")).to_have_text("rules of 4.2: all promises kept")
    expect(player.locator(".klw-offset[data-differs=true]")).to_have_count(0)
    table = player.get_by_role("grid", name="Offsets after each step")
    expect(table).to_have_attribute("aria-rowcount", "13")


def test_the_screen_opens_each_view_and_one_selection_leads_through_all(
    notebook: Notebook,
) -> None:
    import nbformat

    address = notebook.page.url.partition("/doc/")[0]
    code = "from widgets import Workbench\nscreen = Workbench('../sample_data/shop-4.3.1')\nscreen"
    python = {"name": "python3", "display_name": "Python 3", "language": "python"}
    written = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code)], metadata={"kernelspec": python}
    )
    notebook.page.request.put(
        f"{address}/api/contents/screen.ipynb",
        data={"type": "notebook", "format": "json", "content": written},
    )
    opened = Notebook(notebook.page, address, "screen.ipynb")
    opened.run_all()
    page = opened.page
    for tab, view in VIEWS.items():
        page.locator(".jupyter-widgets .lm-TabBar-tab").filter(has_text=tab).first.click()
        expect(page.locator(view).locator("visible=true").first).to_be_visible(timeout=30_000)
        page.wait_for_timeout(300)
        page.screenshot(path=SHOTS / f"screen-{tab.lower()}.png")
        opened.run("screen.explorer.selected = {'partition': 'payments-0', 'offset': 4736}")
    assert opened.value("screen.views['Transactions'].selected")["offset"] == 4736
