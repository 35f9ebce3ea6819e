"""Fixtures over the golden cases: every archive is extracted once in a test session."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.golden.archive import extract
from tests.golden.cases import Case, open_case
from tests.golden.served import JavaConsumers, java_consumers
from tests.trees import changes

_MEMORY = Path("/dev/shm")  # noqa: S108 - 82,000 small files come and go ten times as fast there


def _has_room(folder: Path) -> bool:
    return folder.is_dir() and shutil.disk_usage(folder).free > 4 << 30


def _remove_what_a_killed_run_left() -> None:
    for folder in _MEMORY.glob("golden-cases-*-*"):
        number = folder.name.split("-")[2]
        if number.isdigit() and not psutil.pid_exists(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _folder(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make an empty folder, in memory if there is room; remove it afterwards if it is."""
    if not _has_room(_MEMORY):
        yield factory.mktemp("workplace")
        return
    _remove_what_a_killed_run_left()
    into = Path(tempfile.mkdtemp(dir=_MEMORY, prefix=f"golden-cases-{os.getpid()}-"))
    yield into
    shutil.rmtree(into)


@pytest.fixture
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return an empty folder for what writes and syncs many small files."""
    with _folder(tmp_path_factory) as into:
        yield into


@pytest.fixture(scope="module")
def common_workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return one for all tests of a module."""
    with _folder(tmp_path_factory) as into:
        yield into


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Case]]:
    """Return a function from a case's name to the extracted case, shared by the session.

    Tests that change files copy the directory first: when the session ends, every case must be as
    it was extracted.
    """
    if _has_room(_MEMORY):
        _remove_what_a_killed_run_left()
        into = Path(tempfile.mkdtemp(dir=_MEMORY, prefix=f"golden-cases-{os.getpid()}-"))
    else:
        into = tmp_path_factory.mktemp("golden")
    opened: dict[str, tuple[Case, dict[str, tuple[int, int, int]]]] = {}

    def case(name: str) -> Case:
        if name not in opened:
            found = open_case(name, into)
            opened[name] = found, changes(found.path)
        return opened[name][0]

    yield case
    changed = [name for name, (found, extracted) in opened.items()
               if changes(found.path) != extracted]  # fmt: skip
    shutil.rmtree(into)
    assert changed == [], "a test changed files of these cases"


@pytest.fixture(scope="session")
def consumers() -> Iterator[JavaConsumers]:
    """Return consumers in one JVM for all cases."""
    with java_consumers() as found:
        yield found


@pytest.fixture(scope="module")
def aiven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broker's directory and its tier, which Aiven's plugin wrote; see its case.json."""
    folder = tmp_path_factory.mktemp("aiven")
    extract(Path(__file__).parent / "remote_tiers" / "4.2.0-aiven.tar.xz", folder)
    return folder
