"""Where the time of a request goes, and which partitions it reads.

Kafka: RequestChannel.Request.updateRequestMetrics, RequestMetrics (4.0)
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from workbench.runtime.clock import SystemClock
from workbench.server.protocol.requests import (
    FetchRequestPartition,
)

_Result = TypeVar("_Result")


class RequestTrace:
    """Measures one request, from its last byte on.

    Attributes:
        asked: topic, partition and the fields of each partition that a fetch reads, in this order,
            with those that only its session names.
        problem: why the answer is an error as a whole; None: it is none, or says so itself.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, FetchRequestPartition]] = []
        self.problem: str | None = None
        self._start = time.perf_counter()
        self._queue = self._remote = self._send = 0.0

    @property
    def received_ms(self) -> int:
        """When its last byte was there, epoch ms."""
        return SystemClock().now() - round((time.perf_counter() - self._start) * 1000)

    def queued(self, function: Callable[..., _Result]) -> Callable[..., _Result]:
        """Return a function that counts the time until it is called."""
        asked = time.perf_counter()

        def run(*arguments: Any) -> _Result:
            self._queue += time.perf_counter() - asked
            return function(*arguments)

        return run

    async def remote(self, awaited: Awaitable[_Result]) -> _Result:
        """Wait for others, such as producers or members of a group, and count the time."""
        start = time.perf_counter()
        try:
            return await awaited
        finally:
            self._remote += time.perf_counter() - start

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Count the time in which the response is sent."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._send += time.perf_counter() - start

    def milliseconds(self) -> dict[str, float]:
        """Return the times up to now, by the names of `RequestDone`; all but the last add up to it.

        What is not counted otherwise is the server's own work.
        """
        total = time.perf_counter() - self._start
        local = max(0.0, total - self._queue - self._remote - self._send)
        seconds = {
            "request_queue_time_ms": self._queue,
            "local_time_ms": local,
            "remote_time_ms": self._remote,
            "response_send_time_ms": self._send,
            "total_time_ms": total,
        }
        return {name: round(value * 1000, 3) for name, value in seconds.items()}
