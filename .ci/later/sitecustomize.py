"""What each Python process of `make test-later` does first: it sleeps by `select`.

`time.sleep` of Python 3.11 names the moment at which to wake, and faketime 0.9.10 takes a moment of
the monotonic clock for one of its own dates: the call fails (EINVAL).
"""

import select
import time
from typing import SupportsIndex


def sleep(seconds: float | SupportsIndex, /) -> None:
    """Sleep for some seconds."""
    select.select((), (), (), float(seconds))


time.sleep = sleep
