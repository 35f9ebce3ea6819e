"""What all tests share: the golden cases, how hypothesis runs, and that no process dies unseen.

The same examples every time, so that a failure can be repeated: few of them, and many with
`HYPOTHESIS_PROFILE=long` (`make test-long`). `explore` looks for new ones.
"""

import os
import socket
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import dates, deaths, starts
from tests.golden.cases import CASES, asked_again
from tests.golden.conftest import common_workplace, golden, workplace
from tests.kafka_broker import SHORT_LIVED

__all__ = ["common_workplace", "golden", "workplace"]

# No deadline: the machines of a test run are shared.
_ALL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _ALL, derandomize=True, max_examples=30)
settings.register_profile("long", _ALL, derandomize=True, max_examples=500)
settings.register_profile("explore", _ALL, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(SHORT_LIVED))  # to the Java of each driver

deaths.watch()
dates.set_clock(None)

_WAITING = frozenset(
    {"spark", "browser", "notebook", "broker"}
)  # marks of tests that wait for other programs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits for other programs, so that no worker is left alone with it."""
    starts.mark(items)
    items.sort(key=lambda item: _WAITING.isdisjoint(mark.name for mark in item.iter_markers()))
    _ask_one_golden_case_of_each_era(items)


def pytest_collection_finish() -> None:
    """Let kafka-python close the sockets that it drops, as when a broker refuses the connection.

    It leaves them to the garbage collector, which warns of them within any test that comes later.
    """
    if inet := sys.modules.get("kafka.net.inet"):
        inet.KafkaNetSocket.socket = lambda _, *given: _ClosingSocket(*given)


class _ClosingSocket(socket.socket):
    def __del__(self) -> None:
        self.close()


def _ask_one_golden_case_of_each_era(items: list[pytest.Item]) -> None:
    """Mark a test as long that asks of a golden case what it asks of a newer one, too."""
    cases = {case.name: case for case in CASES}
    questions: dict[tuple[str, str], dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        params = item.callspec.params
        names = [value for value in params.values() if isinstance(value, str) and value in cases]
        if len(names) == 1:
            others = repr([each for each in params.items() if each[1] != names[0]])
            questions[item.nodeid.partition("[")[0], others][names[0]] = item
    for asked in questions.values():
        for name in asked_again(cases[name] for name in asked):
            asked[name].add_marker(pytest.mark.long)


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
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Give a test its time, and all fixtures that are made for it: see `tests.dates`."""
    dates.set_clock(item)
    done = yield
    dates.set_clock(None)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail where the output shows that a process of a process crashed."""
    report = yield
    if report.passed and deaths.CRASH in report.capstdout + report.capstderr:
        report.outcome = "failed"
        report.longrepr = "a process of this test crashed: see its output"
    return report
