"""The tour in Notebook 7: another front end, the same widgets."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.jupyter import NOTEBOOK_7, SHOTS, Notebook, notebook_page
from workbench.cli.lab import TOUR

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_tour_opens_in_notebook_7_and_a_click_in_its_explorer_reaches_the_kernel(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with notebook_page(tmp_path_factory, (Path(TOUR).stem,), NOTEBOOK_7) as (page, address):
        notebook = Notebook(page, address, TOUR, NOTEBOOK_7)
        explorer = page.locator(".klw").first
        for _ in range(7):  # up to the explorer, as somebody who reads the tour
            notebook.run_next()
        canvas = explorer.locator(".klw-map canvas")
        expect(canvas).to_be_visible(timeout=60_000)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 84)
        notebook.until(
            lambda: notebook.value("explorer.selected")["position"] is not None,
            "the kernel was not told of the batch",
        )
        batch = notebook.value("explorer.selected_batch().base_offset")
        first = explorer.locator(".klw-row[data-kind~=within] > span:first-child").first
        expect(first).to_have_text(f"{batch:,}")
        page.screenshot(path=SHOTS / "tour-notebook-7.png")
