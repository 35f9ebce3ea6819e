"""One JupyterLab for all tests here; a page of Chromium and its kernels for each module."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.e2e.jupyter import notebook_page, notebooks_served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab with all notebooks."""
    with notebooks_served(tmp_path_factory) as address:
        yield address


@pytest.fixture(scope="module")
def lab(served: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A page, and the address of the JupyterLab."""
    with notebook_page(tmp_path_factory, served) as page:
        yield page, served
