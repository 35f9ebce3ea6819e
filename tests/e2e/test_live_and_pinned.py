"""What came since one looked is said in the app, and what one sees is pinned to the report."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import chromium
from tests.browser.pages import until
from tests.e2e.apps import READY_MS, end, start
from tests.log_manager.managers import Managed

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(name="managed", scope="module")
def managed_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    configs = {"orders": {"segment.bytes": 2000}}
    managed = Managed(tmp_path_factory.mktemp("live") / "data", topic_configs=configs)
    with managed.manager:
        append(managed)
        yield managed


@pytest.fixture(name="page", scope="module")
def page_(managed: Managed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("app")
    SHOTS.mkdir(parents=True, exist_ok=True)
    app = start(Path(managed.manager.directories[0]), folder)
    try:
        with chromium(folder / "profile", width=1280, height=800) as context:
            page = context.new_page()
            page.goto(f"{app.address}#tab=Records&partition=orders-0")
            records = page.get_by_role("grid", name="Records")
            expect(records).to_contain_text("secret", timeout=READY_MS)
            yield page
    finally:
        end(app)


def append(managed: Managed, batches: int = 1) -> None:
    orders = managed.manager.get_or_create_log("orders-0")
    for _ in range(batches):
        orders.append([(b"k", b"secret" * 20) for _ in range(3)])


def test_a_bar_says_what_came_and_leads_to_it(page: Page, managed: Managed) -> None:
    bar = page.get_by_role("region", name="Since you looked")
    expect(bar).to_be_hidden()
    append(managed, 6)
    rolled = bar.get_by_role("button", name="Show what came: 1 segment rolled")
    expect(rolled).to_be_visible()
    expect(bar.get_by_role("button", name="Show what came: 18 records")).to_be_visible()
    records = page.get_by_role("grid", name="Records")
    expect(records).to_have_attribute("aria-rowcount", "3")  # nobody follows yet
    fits = "document.documentElement.scrollHeight <= innerHeight"
    until(page, lambda: page.evaluate(fits))
    page.screenshot(path=str(SHOTS / "since-you-looked.png"))
    bar.get_by_role("button", name="Show what came: 18 records").click()
    expect(records).to_have_attribute("aria-rowcount", "21")
    bar.get_by_role("button", name="Count again from now").click()
    expect(bar).to_be_hidden()
    until(page, lambda: page.evaluate(fits))
    append(managed)
    expect(bar.get_by_role("button", name="Show what came: 3 records")).to_be_visible()


def test_what_is_seen_is_pinned_to_the_report(page: Page, tmp_path: Path) -> None:
    page.get_by_role("button", name="Pin what is shown to a ticket").click()
    page.get_by_role("textbox", name="Note of the pin").fill("three records <at once>")
    page.get_by_role("button", name="Pin what is shown, with the note").click()
    ticket = page.get_by_role("region", name="Ticket")
    expect(ticket.get_by_role("listitem")).to_contain_text("three records <at once>")
    page.screenshot(path=str(SHOTS / "ticket.png"))
    with page.expect_download() as download:
        ticket.get_by_role("button", name="Download the report with the pins").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    assert "secret" not in report.read_text(encoding="utf-8")
    page.goto(report.as_uri())
    pinned = page.get_by_role("region", name="Records: orders-0").first
    expect(pinned).to_contain_text("Note: three records <at once>")
    heads = pinned.get_by_role("columnheader").all_text_contents()
    assert heads[:3] == ["Partition", "Offset", "Time"]
    assert {"Key", "Value", "Headers"}.isdisjoint(heads)
    expect(pinned.get_by_role("row")).not_to_have_count(1)
    page.screenshot(path=str(SHOTS / "ticket-report.png"))
