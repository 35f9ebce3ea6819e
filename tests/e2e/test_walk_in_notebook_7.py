"""Three notebooks where else people run them: in Notebook 7."""

from typing import Final

import pytest

from tests.e2e.jupyter import (
    NOTEBOOK_7,
    SHOTS,
    SHOWN,
    Notebook,
    check_widgets,
    notebook_page,
    notebooks_served,
)

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

NOTEBOOKS: Final = ("02_how_a_log_is_written", "05_retention", "11_what_fills_the_disk")


def test_three_notebooks_in_notebook_7(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        notebooks_served(tmp_path_factory, NOTEBOOK_7) as address,
        notebook_page(tmp_path_factory, address) as page,
    ):
        for name in NOTEBOOKS:
            notebook = Notebook(page, address, f"{name}.ipynb", NOTEBOOK_7)
            notebook.run_all()
            check_widgets(page.evaluate(SHOWN))
            page.screenshot(path=SHOTS / f"notebook-7-{name[:2]}.png")
