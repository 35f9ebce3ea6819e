"""The tasks of an analyst: each takes at most three clicks from the overview of the app."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.browser.pages import until
from tests.e2e.apps import opened_overview

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
MOST = 3
DECIDED = "Is it cleaned and deleted as configured?"


class Clicks:
    """Clicks from the overview on, counted; every task begins there."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def tab(self, name: str) -> Locator:
        return self.page.get_by_role("tab", name=name).first

    @property
    def conclusion(self) -> Locator:
        return self.page.locator(".klw-conclusion:visible")

    def begin(self) -> None:
        """Go to the overview; this click is not counted."""
        self.tab("Overview").click()
        expect(self.page.locator(".klw-overview:visible")).to_be_visible()
        self.count = 0

    def on(self, what: Locator) -> None:
        """Click something near its upper left corner: inside a tile of a treemap are others."""
        what.click(position={"x": 8, "y": 8})
        self.count += 1

    def on_row(self, table: str, text: str) -> None:
        """Click a row of the overview, and before that turn the wheel until it is in sight."""
        grid = self.page.get_by_role("grid", name=table)
        row = grid.get_by_text(text, exact=True)
        grid.hover()
        grid.evaluate("e => [e, ...e.querySelectorAll('*')].forEach(each => (each.scrollTop = 0))")

        def is_in_sight() -> bool:
            self.page.mouse.wheel(0, 0 if row.count() else 52)
            return row.count() > 0

        until(self.page, is_in_sight)
        stands = "e => e.isConnected && Math.round(e.getBoundingClientRect().top)"
        places = [row.first.evaluate(stands)]

        def has_come_to_rest() -> bool:  # a turn of the wheel moves a list when it is drawn next
            self.page.evaluate("() => new Promise(done => setTimeout(done, 100))")
            places.append(row.first.evaluate(stands))
            return len(places) > 3 and len({*places[-3:]}) == 1

        until(self.page, has_come_to_rest)
        self.on(row.first)


@pytest.fixture(name="clicks", scope="module")
def clicks_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clicks]:
    """The sample with one byte damaged, in the app."""
    logs = tmp_path_factory.mktemp("logs") / "shop"
    shutil.copytree(SHOP, logs)
    segment = wb.open_log_directory(logs)["orders-2"].segments[0]
    with Path(segment.path).open("r+b") as file:
        file.seek(segment.size // 2)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 0x40]))
    with opened_overview(logs, tmp_path_factory.mktemp("app")) as page:
        yield Clicks(page)


def fills_the_disk(clicks: Clicks) -> None:
    page = clicks.page
    clicks.on(page.locator(".klw-overview:visible").get_by_role("option", name="clicks").first)
    expect(page.locator(".klw-disk:visible .klw-crumb[aria-current]")).to_have_text("clicks")


def a_record_by_a_json_field(clicks: Clicks) -> None:
    clicks.on(clicks.tab("Records"))
    browser = clicks.page.locator(".klw-browser:visible")
    browser.get_by_label("Topic", exact=True).select_option("orders")
    clicks.count += 2  # open the list, choose
    query = browser.locator("input.klw-query, input[type=search], input[type=text]").first
    query.fill('$.customer_id = "C-12079"')  # offsets 2, 935 and 1430 of orders-0
    query.press("Enter")
    expect(browser.get_by_text("3 of 5,199 records")).to_be_visible()
    records = browser.get_by_role("grid", name="Records").locator("[data-row]:visible")
    expect(records).to_have_count(3)
    expect(records.last).to_contain_text("1,430")


def is_damaged(clicks: Clicks) -> None:
    clicks.on_row("What is damaged?", "crc")
    expect(clicks.page.locator(".klw-map canvas:visible")).to_be_visible()


def why_not_compacted(clicks: Clicks) -> None:
    clicks.on_row(DECIDED, "customers-0")
    expect(clicks.conclusion).to_contain_text("the log is not cleaned: min.cleanable.dirty.ratio")


def what_compaction_would_drop(clicks: Clicks) -> None:
    clicks.on_row(DECIDED, "customers-0")
    clicks.on(clicks.page.get_by_role("tab", name="What a cleaning would drop"))
    expect(clicks.page.locator(".klw-said:visible")).to_contain_text("626 of 822 records")


def why_not_deleted(clicks: Clicks) -> None:
    clicks.on_row(DECIDED, "payments-0")
    expect(clicks.conclusion).to_contain_text("retention deletes ")
    rules = clicks.page.locator(".klw-cleaner:visible").get_by_role("grid", name="Rules")
    expect(rules.get_by_text("retention.ms").first).to_be_visible()


def what_a_broker_would_do(clicks: Clicks) -> None:
    clicks.on(clicks.tab("What if"))
    card = clicks.page.locator(".klw-whatif .klw-overcard[data-name=loading]")
    expect(card).to_have_attribute("data-state", "done")
    expect(card.get_by_text("loads", exact=True).first).to_be_visible()


def why_a_group_starts_over(clicks: Clicks) -> None:
    clicks.on_row("Groups by lag", "suggestions")
    view = clicks.page.locator(".klw-coordinators:visible")
    clicks.on(view.get_by_role("tab", name="Why"))
    expect(view.get_by_role("grid", name="Rules").locator("[data-row]").first).to_be_visible()


def what_became_of_an_offset(clicks: Clicks) -> None:
    place = clicks.page.locator(".klw-placebar")
    for field, text in (("Topic", "customers"), ("Offset", "1000000")):
        typed = place.get_by_label(field, exact=True)
        expect(typed).to_be_enabled()
        clicks.on(typed)
        typed.fill(text)
        typed.press("Enter")
        expect(place.get_by_label("Partition", exact=True)).to_have_value("customers-0")
    expect(place.locator(".klw-fate")).to_contain_text("customers-0 offset 1000000")


TASKS = {
    "what fills the disk": fills_the_disk,
    "one record by a JSON field": a_record_by_a_json_field,
    "what is damaged": is_damaged,
    "why not compacted": why_not_compacted,
    "why not deleted": why_not_deleted,
    "what would compaction drop": what_compaction_would_drop,
    "what would a broker do": what_a_broker_would_do,
    "why did a group start over": why_a_group_starts_over,
    "what became of an offset": what_became_of_an_offset,
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_at_most_three_clicks(clicks: Clicks, task: str) -> None:
    clicks.begin()
    TASKS[task](clicks)
    assert 0 < clicks.count <= MOST
