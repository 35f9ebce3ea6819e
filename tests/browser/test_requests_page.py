"""Requests in a real browser: the table that grows, and the way of one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

import workbench as wb
from tests.browser.bridge import Show
from tests.browser.pages import settled
from tests.widgets.requested import watched
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


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 860, 1440, 1920])
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


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 1180, 1920])
def test_the_table_fits_at_any_width(
    page: Page, show: Show, requests: RequestWatch, theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(RequestView(requests, selected=of(requests, "Fetch")), theme=theme)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"requests-{width}-{theme}")
