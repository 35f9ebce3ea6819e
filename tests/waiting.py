"""Waiting for a state, however slow the machine is."""

import time
from collections.abc import Callable
from typing import Final

HANGS_AFTER_S: Final = 180.0
"""Seconds after which what is awaited will not come; no test depends on less."""


def wait_until(holds: Callable[[], object], seconds: float = HANGS_AFTER_S) -> None:
    """Return once something holds.

    Args:
        holds: is called again and again.
        seconds: after which it will not hold.

    Raises:
        AssertionError: it does not hold by then.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it does not hold after {seconds} s"
        time.sleep(0.01)
