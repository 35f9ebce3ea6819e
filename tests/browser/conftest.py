"""One Chromium for the tests of a module; a page for each test, which must report no error.

Not for the whole run: playwright allows one at a time, and tests/e2e starts its own.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.bridge import Bridge, Show, chromium, served
from tests.browser.gallery import entry_of
from tests.browser.pages import STATS
from widgets import LogExplorer
from widgets._widget import KafkaWidget
from widgets.players._player import Player

NOTHING = ".klw > .klw-instead:not([hidden])"
"""What says that there is nothing to draw."""


@pytest.fixture(scope="session")
def harness() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="module")
def browser_context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with chromium(tmp_path_factory.mktemp("chromium")) as context:
        yield context


@pytest.fixture
def page(browser_context: BrowserContext) -> Iterator[Page]:
    page = browser_context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: _stay_local(request.url, errors))
    yield page
    page.close()
    assert not errors


def _stay_local(url: str, errors: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "file://", "data:", "blob:")):
        errors.append(f"a request to {url}")


@pytest.fixture
def show(page: Page, harness: str) -> Show:
    """Return a function that shows a widget in the page and waits for its first picture."""

    def show(widget: KafkaWidget, *, theme: str = "light", **options: object) -> Bridge:
        page.goto(f"{harness}/harness.html")
        page.wait_for_function("window.ready")
        if theme == "dark":
            page.evaluate("document.body.dataset.jpThemeLight = 'false'")
        bridge = Bridge(page, widget)
        bridge.mount(entry=entry_of(widget), **options)
        if _has_picture(widget):
            page.wait_for_function(f"{STATS}.draws > 0 || document.querySelector({NOTHING!r})")
        return bridge

    return show


def _has_picture(widget: KafkaWidget) -> bool:
    """Return whether there is something to draw."""
    if isinstance(widget, LogExplorer):
        return widget.selected["segment"] is not None and widget.file is None
    return not isinstance(widget, Player) or bool(widget.steps)
