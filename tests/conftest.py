"""What all tests share: the golden cases, how hypothesis runs, and that no process dies unseen.

The same examples every time, so that a failure can be repeated; `HYPOTHESIS_PROFILE=explore` looks
for new ones, more of them.
"""

import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import (
    compiled,  # noqa: F401
    deaths,
)
from tests.golden.conftest import common_workplace, golden, workplace

__all__ = ["common_workplace", "golden", "workplace"]

# No deadline: the first call of a kernel compiles it, and the machines of a test run are shared.
_ALL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _ALL, derandomize=True, max_examples=100)
settings.register_profile("explore", _ALL, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

deaths.watch()

_WAITING = ("spark", "browser", "notebook", "broker")  # marks of tests that wait for other programs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits for other programs, so that no worker is left alone with it."""
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in _WAITING))


@pytest.fixture(autouse=True, scope="session")
def _no_deaths_at_the_end() -> Iterator[None]:
    yield
    _fail_for(deaths.take_deaths())


@pytest.fixture(autouse=True)
def _no_deaths(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail where a process died by a signal that the test has not sent: see `tests.deaths`."""
    yield
    mark = request.node.get_closest_marker("dies")
    _fail_for(deaths.take_deaths(mark.args if mark else ()))


def _fail_for(died: str) -> None:
    if died:
        pytest.fail(died, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail where the output shows that a process of a process crashed."""
    report = yield
    if report.passed and deaths.CRASH in report.capstdout + report.capstderr:
        report.outcome = "failed"
        report.longrepr = "a process of this test crashed: see its output"
    return report
