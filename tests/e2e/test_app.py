"""`kafka-workbench app`: one screen in a browser, behind a token."""

import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import chromium
from tests.cli.program import run
from tests.e2e.apps import READY_MS, App, end, start, stay_local
from tests.waiting import wait_until
from workbench.cli.app import shown_paths

pytestmark = pytest.mark.browser

PROJECT = Path(__file__).parents[2]
SAMPLE = PROJECT / "sample_data" / "era-2.8.2"
SHOTS = PROJECT / "build" / "screenshots"


@pytest.fixture(name="app", scope="module")
def app_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    app = start(SAMPLE, tmp_path_factory.mktemp("home"))
    yield app
    end(app)


@pytest.fixture(name="page", scope="module")
def page_(app: App, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    errors: list[str] = []
    with chromium(tmp_path_factory.mktemp("profile"), width=1440, height=900) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.on("request", lambda request: stay_local(request.url, app, errors))
        page.on("websocket", lambda socket: stay_local(socket.url, app, errors))
        page.goto(app.address)
        page.wait_for_selector(".klw-overview .klw-tile", timeout=READY_MS)
        yield page
        if not page.is_closed():
            page.close()
    assert not errors


def status_of(address: str, **headers: str) -> int:
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_nobody_gets_in_without_the_token(app: App) -> None:
    assert re.fullmatch(r"http://localhost:\d+/\?token=[0-9a-f]{48}", app.address)
    assert status_of(app.base) == 403
    assert status_of(f"{app.base}?token=wrong") == 403
    assert status_of(app.address, Host="elsewhere.example") == 403
    wait_until(lambda: app.pages() == 0)


def test_port_0_is_a_free_port_and_the_log_of_refusals_has_no_token(tmp_path: Path) -> None:
    log = tmp_path / "log"
    app = start(SAMPLE, tmp_path, 0, log)
    try:
        port = int(app.base.rstrip("/").rpartition(":")[2])
        assert port > 0
        assert status_of(app.address, Host="elsewhere.example") == 403
        token = app.address.partition("=")[2]
        assert status_of(f"{app.base}nowhere?token={token}") == 404
    finally:
        end(app)
    first, *told = log.read_text().splitlines()
    assert first.startswith(f"kafka-workbench: opening {SAMPLE}")
    assert any("Kafka Log Workbench shows" in line for line in told)
    assert token not in log.read_text()


def test_the_screen_shows_the_directory_and_no_code(page: Page, app: App) -> None:
    expect(page).to_have_title("era-2.8.2 · Kafka Log Workbench")
    assert "token" not in page.url
    box = page.locator(".klw-overview").bounding_box()
    assert box is not None
    assert box["width"] > 1400
    wait_until(lambda: app.pages() == 1)
    SHOTS.mkdir(parents=True, exist_ok=True)
    expect(page.locator(".klw-overcard[data-state=done]")).to_have_count(10, timeout=READY_MS)
    page.screenshot(path=str(SHOTS / "app.png"))


def test_the_place_and_the_tabs_stay_while_the_page_scrolls(page: Page) -> None:
    page.mouse.move(4, 500)  # beside the tables, which scroll, too
    page.mouse.wheel(0, 400)
    top = "document.querySelector('.klw-overview').getBoundingClientRect().top"
    wait_until(lambda: page.evaluate(top) < 0)
    place, tabs = page.locator(".klw-placebar"), page.get_by_role("tablist", name="Views")
    tops = [each.bounding_box()["y"] for each in (place, tabs)]  # type: ignore[index]
    assert tops == [0, place.bounding_box()["height"]]  # type: ignore[index]
    page.mouse.wheel(0, -400)
    wait_until(lambda: page.evaluate(top) > 0)


def test_a_row_of_the_overview_leads_to_the_view_that_shows_more(page: Page) -> None:
    page.get_by_role("grid", name="Will the topics be served?").get_by_text("orders").first.click()
    expect(page.locator(".klw-map canvas")).to_be_visible(timeout=READY_MS)
    expect(page.locator(".klw-item[data-kind=partition][aria-selected=true]")).to_be_visible()


def test_the_place_is_chosen_above_and_the_address_keeps_it(page: Page) -> None:
    topic = page.get_by_label("Topic", exact=True).first
    topic.fill("payments")
    topic.press("Enter")
    expect(page.get_by_label("Partition", exact=True).first).to_have_value("payments-0")
    expect(page).to_have_url(re.compile(r"#.*tab=Explore&partition=payments-0"))
    records = page.locator(".klw-lower .klw-grid:visible").first
    expect(records).not_to_contain_text("26 bytes")
    page.get_by_role("button", name="Hide keys, values and headers").click()  # there is one
    expect(records).to_contain_text("26 bytes")
    page.get_by_role("button", name="Show keys, values and headers").click()
    expect(records).not_to_contain_text("26 bytes")
    page.screenshot(path=str(SHOTS / "app-place.png"))
    page.get_by_role("button", name="Back (Alt ←)").click()
    expect(page.get_by_label("Partition", exact=True).first).to_have_value("orders-0")


def test_a_link_with_a_token_opens_the_place_that_it_names(page: Page, app: App) -> None:
    other = page.context.new_page()
    other.goto(f"{app.address}#tab=Explore&partition=payments-0")
    partition = other.get_by_label("Partition", exact=True).first
    expect(partition).to_have_value("payments-0", timeout=READY_MS)
    assert "token" not in other.url
    wait_until(lambda: app.pages() == 2)
    other.close()
    wait_until(lambda: app.pages() == 1)


def test_the_range_of_time_is_in_the_address_and_on_the_way_back(page: Page) -> None:
    start = page.get_by_label("From, a time in UTC")
    start.fill("2020-01-01 12:00")
    start.press("Enter")
    expect(page).to_have_url(re.compile(r"#.*&from=2020-01-01T12%3A00%3A00Z"))
    page.get_by_role("button", name="Back (Alt ←)").click()
    expect(page).not_to_have_url(re.compile("from="))
    expect(start).to_have_value("")


def test_a_partition_is_selected_and_tabs_open_by_keys(page: Page) -> None:
    row = page.locator(".klw-item[data-kind=partition]").last
    row.click()
    expect(row).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Explore").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("grid", name="Records")).to_be_visible()


def test_an_export_goes_to_where_the_command_was_started(page: Page, app: App) -> None:
    page.get_by_role("button", name="Write the listed records to a file").click()
    page.get_by_label("File to write").fill("mine.csv")
    page.get_by_role("button", name="Write the file").click()
    home = Path(psutil.Process(app.process.pid).cwd())
    expect(page.locator(".klw-told")).to_contain_text(str(home / "mine.csv"))
    listed = wb.open_log_directory(SAMPLE)
    topic = page.locator(".klw-browser").get_by_label("Topic", exact=True).input_value()
    lines = (home / "mine.csv").read_text().splitlines()
    assert len(lines) == 1 + listed.scan(topics=topic).count()
    page.keyboard.press("Escape")


def test_it_is_as_light_or_dark_as_the_system(page: Page) -> None:
    for scheme, dark in (("dark", True), ("light", False)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        root = page.locator(".klw:visible").first
        expect(root).to_have_attribute("data-theme", scheme)
        page_color, widget_color = page.evaluate(
            """() => [".klw-app", ".klw"].map((each) => parseInt(
              getComputedStyle(document.querySelector(each)).backgroundColor.match(/\\d+/)[0]))"""
        )
        assert (page_color < 60) is (widget_color < 60) is dark


def test_a_page_says_that_the_command_ended_and_keeps_what_it_shows(page: Page, app: App) -> None:
    app.process.send_signal(signal.SIGINT)
    assert app.process.wait(60) == 0
    expect(page.locator("#state")).to_contain_text("This page has lost its connection")
    expect(page.get_by_role("button", name="Open it again")).to_be_visible()
    expect(page.get_by_role("grid", name="Records")).to_be_visible()
    assert page.locator(".klw-gone:visible").count() == 0
    page.screenshot(path=str(SHOTS / "app-ended.png"))


def test_what_cannot_be_shown_is_refused_before_anything_starts(tmp_path: Path) -> None:
    outcome = run("app", tmp_path / "nothing")
    assert outcome.code == 3
    assert "there is no such file or directory" in outcome.err
    assert shown_paths([]) == [str(PROJECT / "sample_data" / "shop-4.3.1")]
    outcome = run("app", SAMPLE, "--json", "--port=1")
    assert outcome.json == {
        "data": [str(SAMPLE)],
        "show_values": True,
        "host": "localhost",
        "port": 1,
    }
    assert run("app", SAMPLE, "--json", "--hide-values").json["show_values"] is False
