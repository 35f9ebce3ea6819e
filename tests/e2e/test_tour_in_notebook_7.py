"""The tour in Notebook 7: another front end, the same widgets."""

import pytest

from tests.e2e.jupyter import NOTEBOOK_7, SHOTS, Notebook, notebook_page, notebooks_served
from workbench.cli.lab import TOUR

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_tour_opens_in_notebook_7_and_a_click_in_its_explorer_reaches_the_kernel(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with (
        notebooks_served(tmp_path_factory, NOTEBOOK_7) as address,
        notebook_page(tmp_path_factory, address) as page,
    ):
        notebook = Notebook(page, address, TOUR, NOTEBOOK_7)
        for _ in range(8):  # up to the explorer, as somebody who reads the tour
            notebook.run_next()
        notebook.click_a_batch()
        page.screenshot(path=SHOTS / "tour-notebook-7.png")
