"""A broker's metrics of its logs, by Kafka's names.

Only rare events are counted one by one: flushes and refused appends. Everything else is computed
from the logs when the metrics are read.

Kafka: LogFlushStats, BrokerTopicMetrics (4.2)
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any


class BrokerState(IntEnum):
    """A state by Kafka's name and number, in the order in which a broker passes through them.

    The metric `BrokerState`; a broker's registration has it too.

    Kafka: BrokerState (4.2); BrokerStates (up to 2.7), where RECOVERY was
    RecoveringFromUncleanShutdown
    """

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7
    UNKNOWN = 127


class Meter:
    """A total and its rate per second. Threads may share it.

    Kafka: com.yammer.metrics.core.Meter
    """

    def __init__(self) -> None:
        self._count = 0
        self._start = time.monotonic()
        self._lock = threading.Lock()

    def mark(self, number: int = 1) -> None:
        """Add ``number`` to the total."""
        with self._lock:
            self._count += number

    def values(self) -> dict[str, float]:
        """Return the attributes by their names in JMX."""
        return {"Count": self._count, "MeanRate": _rate(self._count, self._start)}


class Timer:
    """How often something was done, and its durations. Threads may share it.

    Kafka: com.yammer.metrics.core.Timer
    """

    def __init__(self) -> None:
        self._count = 0
        self._sum = self._max = 0.0
        self._min = float("inf")
        self._start = time.monotonic()
        self._lock = threading.Lock()

    @contextmanager
    def time(self) -> Iterator[None]:
        """Time the body of a with statement, even if it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            took = 1000 * (time.perf_counter() - start)
            with self._lock:
                self._count += 1
                self._sum += took
                self._min = min(self._min, took)
                self._max = max(self._max, took)

    def values(self) -> dict[str, float]:
        """Return the attributes by their names in JMX; times in ms, the rate per second."""
        with self._lock:
            count, total = self._count, self._sum
            return {
                "Count": count,
                "MeanRate": _rate(count, self._start),
                "Min": self._min if count else 0.0,
                "Max": self._max,
                "Mean": total / count if count else 0.0,
            }


class LogMetrics:
    """The counts over all logs of a broker. Threads may share it.

    Attributes:
        flushes: the flushes of segments.

    Kafka: LogFlushStats, BrokerTopicStats (4.2)
    """

    def __init__(self) -> None:
        self.flushes = Timer()
        self._rejected = Meter()
        self._rejected_of: dict[str, Meter] = {}
        self._lock = threading.Lock()

    def reject(self, topic: str, size: int) -> None:
        """Count the bytes of an append that was refused because one of its batches is too large.

        A topic's meter, and so its mean rate, begins with the topic's first refusal, as Kafka's.

        Kafka: BrokerTopicMetrics.bytesRejectedRate, MeterWrapper.meter (4.2)
        """
        with self._lock:
            of_topic = self._rejected_of.setdefault(topic, Meter())
        for meter in (self._rejected, of_topic):
            meter.mark(size)

    def values(self) -> dict[str, Any]:
        """Return the metrics by Kafka's names; those of a topic end with its name."""
        with self._lock:
            topics = sorted(self._rejected_of.items())
        return {
            "LogFlushRateAndTimeMs": self.flushes.values(),
            "BytesRejectedPerSec": self._rejected.values(),
            **{f"BytesRejectedPerSec,topic={name}": meter.values() for name, meter in topics},
        }


def _rate(count: int, start: float) -> float:
    elapsed = time.monotonic() - start
    return count / elapsed if elapsed > 0 else 0.0
