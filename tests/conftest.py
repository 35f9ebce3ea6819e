"""What all tests share: the golden cases, and how hypothesis runs.

The same examples every time, so that a failure can be repeated; `HYPOTHESIS_PROFILE=explore` looks
for new ones, more of them.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.golden.conftest import common_workplace, golden, workplace

__all__ = ["common_workplace", "golden", "workplace"]

# No deadline: the first call of a kernel compiles it, and the machines of a test run are shared.
_ALL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _ALL, derandomize=True, max_examples=100)
settings.register_profile("explore", _ALL, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_WAITING = ("spark", "browser", "notebook", "broker")  # marks of tests that wait for other programs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits for other programs, so that no worker is left alone with it."""
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in _WAITING))
