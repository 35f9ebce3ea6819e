"""Keep the reading and writing of all cleaner threads below a rate.

Kafka: Throttler (4.2)
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

CHECK_INTERVAL_MS: Final = 300
_NS_PER_MS: Final = 1_000_000
_MS_PER_SECOND: Final = 1000
_LONGEST_SLEEP_MS: Final = 3_600_000  # for a rate of 0; the rate may change meanwhile


class Throttler:
    """Limits the combined rate of several threads by making them sleep. Thread-safe.

    Args:
        desired_rate: bytes per second.
        check_interval_ms: shortest time over which the rate is measured.
        nanoseconds: returns the time in ns, from any origin.
        sleep: sleeps for a number of seconds.

    Attributes:
        desired_rate: bytes per second; may be changed.

    Kafka: Throttler (4.2)
    """

    def __init__(
        self,
        desired_rate: float,
        check_interval_ms: int = CHECK_INTERVAL_MS,
        *,
        nanoseconds: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.desired_rate = desired_rate
        self._check_interval_ns = check_interval_ms * _NS_PER_MS
        self._nanoseconds = nanoseconds
        self._sleep = sleep
        self._lock = threading.Lock()
        self._period_start_ns = nanoseconds()
        self._observed = 0

    def maybe_throttle(self, observed: int) -> None:
        """Count bytes, and sleep if there were too many since the last check.

        A thread that calls while another one sleeps waits for it, too.

        Args:
            observed: bytes that were read or written.

        Kafka: Throttler.maybeThrottle (4.2)
        """
        with self._lock:
            self._observed += observed
            elapsed_ns = self._nanoseconds() - self._period_start_ns
            if elapsed_ns <= self._check_interval_ns or self._observed <= 0:
                return
            if self._observed * _MS_PER_SECOND * _NS_PER_MS / elapsed_ns > self.desired_rate:
                wait_ms = self._wait_ms(elapsed_ns // _NS_PER_MS)
                if wait_ms > 0:
                    self._sleep(wait_ms / _MS_PER_SECOND)
            self._period_start_ns = self._nanoseconds()
            self._observed = 0

    def _wait_ms(self, elapsed_ms: int) -> int:
        """Return the time to wait until the bytes are within the rate."""
        rate_per_ms = self.desired_rate / _MS_PER_SECOND
        if rate_per_ms == 0:
            return _LONGEST_SLEEP_MS
        wait_ms = self._observed / rate_per_ms - elapsed_ms
        return math.floor(min(wait_ms, _LONGEST_SLEEP_MS) + 0.5)
