"""Explore fits the window: neither the page nor the picture above pushes the records out of it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.bridge import chromium
from tests.e2e.apps import READY_MS, end, start

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PROJECT = Path(__file__).parents[2]
SHOTS = PROJECT / "build" / "screenshots"
WINDOWS = [(1280, 800), (1024, 640), (1920, 1080)]  # the second is the first at 125 %


def test_explore_fits_the_window(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    SHOTS.mkdir(parents=True, exist_ok=True)
    app = start(PROJECT / "sample_data" / "shop-4.3.1", tmp_path / "home")
    try:
        for width, height in WINDOWS:
            with chromium(tmp_path / f"profile-{width}", width=width, height=height) as context:
                page = context.new_page()
                page.set_viewport_size({"width": width, "height": height})
                page.goto(f"{app.address}#tab=Explore&partition=orders-0&offset=3")
                records = page.get_by_role("grid", name="Records")
                expect(records).to_contain_text("order_id", timeout=READY_MS)
                box = records.bounding_box()
                assert box is not None
                assert box["height"] >= 5 * 26
                assert box["y"] + box["height"] <= height
                page.mouse.move(box["x"] + 50, box["y"] + 60)
                page.mouse.wheel(0, 400)
                assert page.evaluate("document.documentElement.scrollHeight") <= height
                page.screenshot(path=str(SHOTS / f"explore-{width}.png"))
    finally:
        end(app)
