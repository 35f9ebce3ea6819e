"""People who use a keyboard, a screen reader or large contrast can use every widget: axe says so.

axe looks at the document, not into a canvas: what a canvas shows is also in a table or a text.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

import widgets
from tests.browser.bridge import Show
from tests.browser.contrast import LAB_COLORS
from tests.browser.gallery import COMPOSED, MORE, WIDGETS

pytestmark = pytest.mark.browser

AGAIN = {"explorer-values", "recovery", "steps"}  # the front ends of others, with other data
CONTRAST = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}


def test_the_gallery_has_every_widget() -> None:
    public = {name for name in widgets.__all__ if isinstance(getattr(widgets, name), type)}
    makers = [*WIDGETS.values(), *MORE.values(), *COMPOSED.values()]
    assert {name for make in makers for name in make.__code__.co_names} & public == public


@pytest.mark.parametrize("name", [name for name in (*WIDGETS, *MORE) if name not in AGAIN])
def test_axe_finds_nothing_serious(page: Page, show: Show, name: str) -> None:
    page.emulate_media(reduced_motion="reduce")  # what still appears has less contrast
    show((WIDGETS | MORE)[name]())
    page.add_style_tag(content=LAB_COLORS)
    axe = Axe()
    found = axe.run(page, context="#root").response["violations"]
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    page.wait_for_selector(".klw[data-theme=dark]")
    found += axe.run(page, context="#root", options=CONTRAST).response["violations"]
    serious = [
        f"{each['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
    assert not serious, "\n".join(serious)
