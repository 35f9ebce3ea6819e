"""What time it is in a test: no test depends on the day on which it runs.

Where a call is given no time, the product asks `workbench.runtime.times.clock`: in tests a clock
that stands still, but for tests of brokers. Who reads the machine's date has a reason in `REAL`,
and `tests/house/test_dates.py` finds every other. Programs that tests start read it: for these,
`make test-later` runs the tests under another date.
"""

from typing import Final

import pytest

from workbench.runtime import times
from workbench.runtime.clock import ManualClock, SystemClock

TODAY: Final = 1_798_761_600_000  # 2027-01-01

REAL: Final = {
    "tests/benchmarks/": "measured is what a user would do, at the time of the measurement",
    "tests/brokers/": "a broker on this machine writes, expires and deletes by its date",
    "tests/campaign/campaign.py": "the seed of a campaign that has none",
    "tests/engine/test_cleaning_threads.py": "the engine's own threads, with its own clock",
    "tests/engine/test_threads.py": "the engine's own threads, with its own clock",
    "tests/log/test_clock.py": "the machine's clock itself",
    "tests/server/golden_broker.py": "a broker on this machine reads the metadata that it writes",
    "tests/server/intended_differences.py": "a broker on this machine forgets old producers",
    "tests/server/test_security.py": "a client checks today's validity of a certificate",
    "tests/server/test_watching.py": "a server says when a request came",
    "tests/test_docstrings.py": "an example shows the machine's clock",
    "notebooks/03_why_was_it_not_compacted.py": "the time of a reader's own directory",
    "notebooks/05_retention.py": "the time of a reader's own directory",
    "notebooks/11_what_fills_the_disk.py": "the time of a reader's own directory",
}
"""Files and folders that read the machine's date → why."""


def set_clock(item: pytest.Item | None) -> None:
    """Set the time of a test, or of what is done between tests."""
    is_real = item is not None and item.get_closest_marker("broker") is not None
    times.clock = SystemClock() if is_real else ManualClock(TODAY)
