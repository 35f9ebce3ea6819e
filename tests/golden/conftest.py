"""Fixtures over the golden cases: every archive is extracted once in a test session."""

import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.golden.cases import Case, open_case


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Case]]:
    """Return a function from a case's name to the extracted case, shared by the session.

    Tests that change files copy the directory first.
    """
    into = tmp_path_factory.mktemp("golden")
    opened: dict[str, Case] = {}

    def case(name: str) -> Case:
        if name not in opened:
            opened[name] = open_case(name, into)
        return opened[name]

    yield case
    shutil.rmtree(into)
