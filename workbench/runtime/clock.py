"""The time that the engine sees: the machine's, or one that a test or a demo sets.

Nothing else in the product reads the machine's date: what is asked for a time is true on any day.

Kafka: Time, SystemTime, MockTime (4.2)
"""

import time
from collections.abc import Callable
from typing import Protocol

_NANOSECONDS = 1_000_000  # in a millisecond


class Clock(Protocol):
    """Gives the time."""

    def now(self) -> int:
        """Return the time, ms since the epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Return the time, ms since the epoch.

        Kafka: Time.milliseconds (4.2)
        """
        return time.time_ns() // _NANOSECONDS


def since_change_ns(changed_ns: int) -> int:
    """Return how long ago a file changed, ns: by the machine's clock, which stamped it.

    Args:
        changed_ns: ``st_mtime_ns`` of the file; a time in the future gives a number below 0.
    """
    return time.time_ns() - changed_ns


class ManualClock:
    """A clock that does not move until it is advanced or set.

    Not thread-safe.

    Attributes:
        listeners: called, without arguments, each time after the clock was moved.
    """

    def __init__(self, now: int = 0) -> None:
        self.listeners: list[Callable[[], None]] = []
        self._now = now

    def now(self) -> int:
        """Return the time, ms since the epoch."""
        return self._now

    def advance(self, ms: int) -> None:
        """Let ``ms`` milliseconds pass.

        Raises:
            ValueError: ``ms`` is negative.

        Kafka: MockTime.sleep (4.2)
        """
        if ms < 0:
            raise ValueError(f"advance() cannot go back by {-ms} ms; use set() for that")
        self.set(self._now + ms)

    def set(self, now: int) -> None:
        """Move the clock to a time, ms since the epoch; the time may be in the past.

        Kafka: MockTime.setCurrentTimeMs (4.2)
        """
        self._now = now
        for listener in tuple(self.listeners):
            listener()
