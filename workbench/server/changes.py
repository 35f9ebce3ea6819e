"""Lets requests wait until a partition has more to read.

Kafka: DelayedOperationPurgatory of DelayedFetch (4.2)
"""

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress

from workbench.files.names import TopicPartition


class FetchWaiters:
    """What waits for which partitions; everything but `tell` runs in the server's event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._counts: dict[TopicPartition, int] = {}
        self._waiting: dict[TopicPartition, set[asyncio.Future[None]]] = {}

    def use(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake those who wait in this loop."""
        self._loop = loop

    def tell(self, where: TopicPartition) -> None:
        """Wake those who wait for a partition; any thread may call it, and holds no one up."""
        with self._lock:
            self._counts[where] = self._counts.get(where, 0) + 1
            is_awaited = where in self._waiting
        if is_awaited and self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake, where)

    def _wake(self, where: TopicPartition) -> None:
        for future in self._waiting.pop(where, ()):
            if not future.done():
                future.set_result(None)

    def seen(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return how often partitions have changed, to be given to `wait`."""
        return {where: self._counts.get(where, 0) for where in partitions}

    async def wait(self, seen: dict[TopicPartition, int], seconds: float) -> bool:
        """Return whether one of the partitions has changed since it was seen, within a time."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if any(self._counts.get(where, 0) != count for where, count in seen.items()):
                return True
            for where in seen:
                self._waiting.setdefault(where, set()).add(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            for where in seen:
                others = self._waiting.get(where)
                if others is not None:
                    others.discard(future)
                    if not others:
                        del self._waiting[where]
        return True
