"""What all tests share: the golden cases, and how hypothesis runs.

The same examples every time, so that a failure can be repeated; `HYPOTHESIS_PROFILE=explore` looks
for new ones, more of them.
"""

import os

from hypothesis import HealthCheck, settings

from tests.golden.conftest import common_workplace, golden, workplace

__all__ = ["common_workplace", "golden", "workplace"]

# No deadline: the first call of a kernel compiles it, and the machines of a test run are shared.
_ALL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _ALL, derandomize=True, max_examples=100)
settings.register_profile("explore", _ALL, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
