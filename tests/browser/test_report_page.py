"""A report opens as a file: light and dark, wide and narrow, without a network."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import workbench as wb

pytestmark = pytest.mark.browser


@pytest.fixture(name="report", scope="module", params=["shop-4.3.1", "damaged"])
def report_(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(wb.open_log_directory(Path("sample_data") / request.param).report())
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_can_be_read(page: Page, report: Path, theme: str, width: int) -> None:
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto(report.as_uri())
    expect(page.get_by_role("heading", name="Will the topics be served?")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wider = "all => all.filter(each => each.scrollWidth > each.clientWidth).length"
    if width == 1280:  # all columns are in sight
        assert page.locator(".table").evaluate_all(wider) == 0
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(", "))) < 384) == (theme == "dark")
    page.get_by_role("link", name="What is stuck?").click()
    expect(page.get_by_role("heading", name="What is stuck?")).to_be_in_viewport()
    assert errors == []
