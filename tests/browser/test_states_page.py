"""What stands where there is nothing to show: one sentence, in the look that all views share."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.gallery import BROKERS, SHOP
from widgets import (
    CheckpointTable,
    DiskUsage,
    FindingView,
    GroupView,
    LogExplorer,
    RecordBrowser,
    ReplicaLanes,
    RequestView,
    StepPlayer,
    TransactionLanes,
)
from widgets._widget import KafkaWidget
from widgets.frame.tab_state import TabState
from workbench.server.watching.watch import RequestWatch

pytestmark = pytest.mark.browser


def log_without(folder: Path) -> Path:
    """Return a directory with one log, which has no transactions."""
    shutil.copytree(SHOP / "orders-0", folder / "orders-0")
    return folder


def unasked() -> RequestWatch:
    """Return the watch of a server that no client has asked."""
    with wb.serve(SHOP) as server:
        return server.watch()


EMPTY: Final[dict[str, tuple[Callable[[Path], KafkaWidget], str]]] = {
    "checkpoints": (CheckpointTable, "No partitions in this directory."),
    "disk": (DiskUsage, "No partitions in this directory."),
    "explorer": (LogExplorer, "holds no partitions"),
    "findings": (FindingView, "Not verified yet."),
    "group": (lambda folder: GroupView(log_without(folder)), "No group has committed"),
    "records": (RecordBrowser, "No topic here."),
    "requests": (lambda _folder: RequestView(unasked()), "No requests yet."),
    "steps": (lambda _folder: StepPlayer([], []), "No steps recorded."),
    "transactions": (lambda folder: TransactionLanes(log_without(folder)), "no transaction in"),
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_view_is_one_sentence(page: Page, show: Show, tmp_path: Path, name: str) -> None:
    make, text = EMPTY[name]
    show(make(tmp_path))
    note = page.locator(".klw-state:visible")
    expect(note).to_have_count(1)
    expect(note).to_contain_text(text)
    expect(note).to_have_attribute("data-kind", "empty")
    expect(page.locator("[role=grid]:visible [data-row]:visible")).to_have_count(0)
    for theme in ("true", "false"):
        page.evaluate("(isLight) => { document.body.dataset.jpThemeLight = isLight; }", theme)
        found = Axe().run(page, context="#root").response["violations"]
        assert [each for each in found if each["impact"] in {"serious", "critical"}] == []


def test_what_is_read_on_demand_says_so_until_it_is_there(
    page: Page, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widgets._background.MOST_AT_ONCE", 0)
    view = ReplicaLanes([BROKERS / "broker1", BROKERS / "broker2"])
    bridge = show(view)
    note = page.locator(".klw-state:visible")
    expect(note).to_have_text("Nothing was compared yet.")
    page.get_by_role("button", name="Compare headers and stored CRCs").click()
    view.wait()
    bridge.push()
    expect(note).to_have_count(0)
    expect(page.locator(".klw-disklanes")).to_be_visible()


def test_a_search_that_fails_has_the_look_of_a_failure(page: Page, show: Show) -> None:
    show(RecordBrowser(SHOP, topic="orders", query="offset:("))
    note = page.locator(".klw-state:visible")
    expect(note).to_have_attribute("data-kind", "failed")
    expect(note).to_have_attribute("role", "alert")


@pytest.mark.parametrize(
    ("text", "wanted"), [("/logs: no __cluster_metadata-0", "none"), ("no logs", "uppercase")]
)
def test_a_path_stays_as_it_is_written(page: Page, show: Show, text: str, wanted: str) -> None:
    show(TabState("failed", text))
    begins = "(el) => getComputedStyle(el, '::first-letter').textTransform"
    assert page.locator(".klw-state p").evaluate(begins) == wanted
