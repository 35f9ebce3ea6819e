"""Requests in a real browser: the table that grows, and the way of one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import settled, until
from tests.widgets.requested import Client, fetch, watched
from widgets import RequestPlayer, RequestView
from workbench.server.server import Server
from workbench.server.watching.watch import RequestWatch

pytestmark = pytest.mark.browser

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with wb.serve(SHOP) as running:
        yield running


@pytest.fixture(scope="module")
def requests(server: Server) -> RequestWatch:
    return watched(server)


def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(300)
    page.locator("#root").screenshot(path=SHOTS / f"{name}.png")


def of(requests: RequestWatch, api: str, at: int = 0) -> int:
    return [each.number for each in requests if each.done.api == api][at]


@pytest.mark.parametrize(
    ("width", "theme"), [(480, "dark"), (860, "light"), (1440, "light"), (1920, "dark")]
)
def test_a_request_fits_at_any_width(
    page: Page, show: Show, requests: RequestWatch, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    player = RequestPlayer(requests[of(requests, "Fetch") - 1], at=3)
    bridge = show(player, theme=theme)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"request-{width}-{theme}")
    player.at = next(at for at, step in enumerate(player.steps) if step.kind == "records sliced")
    bridge.push()
    settled(page)
    shot(page, f"request-log-{width}-{theme}")


@pytest.mark.parametrize(("width", "theme"), [(480, "light"), (1180, "light"), (1920, "dark")])
def test_the_table_fits_at_any_width(
    page: Page, show: Show, requests: RequestWatch, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(RequestView(requests, selected=of(requests, "Fetch")), theme=theme)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"requests-{width}-{theme}")


def test_a_row_is_chosen_by_click_and_key_and_the_player_follows(
    page: Page, show: Show, requests: RequestWatch
) -> None:
    view = RequestView(requests)
    player = view.player
    show(view)
    grid = page.get_by_role("grid", name="Requests")
    grid.get_by_text("ListOffsets v7").click()
    until(page, lambda: view.selected == of(requests, "ListOffsets"))
    assert player.title.startswith("ListOffsets v7")
    expect(page.locator(".klw-picked")).to_contain_text("Total")
    grid.press("ArrowDown")
    until(page, lambda: view.selected == of(requests, "Metadata"))
    expect(page.locator("[aria-live=polite]")).to_contain_text("Metadata v9")
    view.close()


def test_filters_by_kind_and_client(page: Page, show: Show, requests: RequestWatch) -> None:
    view = RequestView(requests)
    show(view)
    rows = page.get_by_role("grid", name="Requests").locator("[data-row]:visible")
    page.get_by_label("Kind of request").select_option("Fetch")
    fetches = sum(each.done.api == "Fetch" for each in view.requests)
    expect(rows).to_have_count(fetches)
    until(page, lambda: view.kind == "Fetch")
    page.get_by_label("Client's address or id").fill("nobody")
    expect(rows).to_have_count(0)
    expect(page.get_by_role("grid")).to_contain_text("No request matches.")
    view.close()


def test_requests_appear_as_they_come(page: Page, show: Show, server: Server) -> None:
    view = RequestView(server)
    bridge = show(view)
    before = len(view.requests)
    with Client(server, "newcomer") as client:
        fetch(client, 0)
    until(page, lambda: len(view.requests) == before + 1)
    bridge.push()
    expect(page.get_by_role("grid").locator("[data-row]:visible").first).to_contain_text("newcomer")
    view.close()


def test_keys_step_from_the_frame_through_the_log_to_the_response(
    page: Page, show: Show, requests: RequestWatch
) -> None:
    player = RequestPlayer(requests[of(requests, "Fetch") - 1], at=0)
    show(player)
    stages = page.locator(".klw-flow [aria-current=true]")
    expect(stages).to_contain_text("Request")
    expect(page.get_by_role("region", name="Bytes of the request")).to_be_visible()
    page.locator(".klw-player").focus()
    seen: list[str | None] = []
    for at in range(1, len(player.steps)):
        page.keyboard.press("ArrowRight")
        until(page, lambda at=at: player.at == at)  # type: ignore[misc]
        name = stages.locator("b").text_content()
        if not seen or seen[-1] != name:
            seen.append(name)
    assert seen == ["Request", "Handler", "Log", "Handler", "Response"]
    expect(page.get_by_role("region", name="Bytes of the response")).to_be_visible()
    expect(page.locator(".klw-phead")).to_contain_text("the first 65,536 are kept")


def test_a_stage_leads_to_its_first_step_and_a_side_can_be_kept(
    page: Page, show: Show, requests: RequestWatch
) -> None:
    player = RequestPlayer(requests[of(requests, "Fetch") - 1], at=0)
    show(player)
    page.locator(".klw-flow").get_by_role("button", name="Log").click()
    until(page, lambda: player.steps[player.at].kind == "segment found")
    expect(page.locator(".klw-logbox")).to_be_visible()
    page.get_by_role("group", name="What to show").get_by_role("button", name="Request").click()
    expect(page.locator(".klw-logbox")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    until(page, lambda: player.steps[player.at].kind == "index probed")
    expect(page.locator(".klw-logbox")).to_be_hidden()


def test_a_field_is_marked_by_click_and_the_next_by_key(
    page: Page, show: Show, requests: RequestWatch
) -> None:
    show(RequestPlayer(requests[of(requests, "Fetch") - 1], at=0))
    fields = page.get_by_role("list", name="Visible fields").first
    fields.get_by_text("correlationId", exact=True).click()
    marked = page.locator(".klw-hexrow u[data-wanted=true]:visible")
    expect(marked).to_have_count(4)
    fields.press("ArrowDown")
    expect(fields.locator("[aria-current=true]")).to_contain_text("clientId")
    expect(marked).to_have_count(2 + len("tea-shop"))


def test_another_partition_is_chosen_in_the_page(
    page: Page, show: Show, requests: RequestWatch
) -> None:
    player = RequestPlayer(requests[of(requests, "Fetch") - 1], at=0)
    show(player)
    page.get_by_label("Partition").select_option("orders-1")
    until(page, lambda: player.story is not None and player.story.partition == "orders-1")
    expect(page.locator(".klw-flow")).to_contain_text("orders-1")


def test_without_a_kernel_all_but_another_partition_is_there(
    page: Page, show: Show, requests: RequestWatch
) -> None:
    player = RequestPlayer(requests[of(requests, "Fetch") - 1], at=3)
    show(player, kernel=False)
    expect(page.locator(".klw-hexrow u[data-wanted=true]:visible").first).to_be_visible()
    page.locator(".klw-player").focus()
    page.keyboard.press("End")
    expect(page.locator(".klw-now h4")).to_have_text("response sent")
    expect(page.locator(".klw-gone")).to_be_hidden()
    page.get_by_label("Partition").select_option("orders-1")
    expect(page.locator(".klw-gone")).to_be_visible()
    assert page.get_by_label("Partition").input_value() == "orders-0"


@pytest.mark.parametrize("kind", [RequestPlayer, RequestView])
def test_leaving_takes_every_listener_away(
    page: Page, show: Show, requests: RequestWatch, kind: type
) -> None:
    show(kind(requests if kind is RequestView else requests[3]))
    page.evaluate("unmount()")
    assert page.evaluate("model.listeners") == 0
