"""What the tests of this folder share: directories and tools. Each test has servers of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import workbench
from tests.golden.archive import extract
from tests.server.tools import Tools
from workbench.server.server import Server

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
ARCHIVES = Path(__file__).parents[1] / "golden" / "archives"


@pytest.fixture
def shop() -> Iterator[Server]:
    """Return a server of the sample data."""
    with workbench.serve(SHOP) as server:
        yield server


@pytest.fixture(scope="session")
def old_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log directory of 0.10.0: messages of magic 0 and 1, topics without an id."""
    into = tmp_path_factory.mktemp("old")
    extract(ARCHIVES / "k0.10.0-formats.tar.xz", into)
    return into / "data"


@pytest.fixture
def old(old_logs: Path) -> Iterator[Server]:
    """Return a server of `old_logs`."""
    with workbench.serve(old_logs) as server:
        yield server


@pytest.fixture(scope="session")
def tools() -> Iterator[Callable[[str], Tools]]:
    """Return a function from a version to its command-line tools."""
    opened: dict[str, Tools] = {}
    with ExitStack() as stack:

        def of(version: str) -> Tools:
            if version not in opened:
                opened[version] = stack.enter_context(closing(Tools(version)))
            return opened[version]

        yield of
