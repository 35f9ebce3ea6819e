"""What one request may build, and what all requests and responses together may take.

The bytes of a request decide neither: a request of 100 KB can name the same topic 20,000 times.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

ITEM: Final = 512
"""Bytes that an element of a request or response takes in memory, beside its texts."""

_PATIENCE_SECONDS: Final = 2.0
"""While others wait for room, a connection is closed that has taken nothing for so long."""


class TooLargeAnswerError(Exception):
    """The answer to a request takes more memory than one may; the message says what to do."""


class Budget:
    """The bytes that the answer to one request may take.

    Args:
        limit: bytes.
    """

    __slots__ = ("_left", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit

    def charge(self, items: int, size: int = 0) -> None:
        """Take what some elements need, before they are made.

        Args:
            items: how many.
            size: bytes of their texts, and of other data in them.

        Raises:
            TooLargeAnswerError: they are too many.
        """
        self._left -= items * ITEM + size
        if self._left < 0:
            raise TooLargeAnswerError(
                f"The answer to this request takes more than {self._limit} bytes of memory; "
                "ask for less in one request."
            )


@dataclass(slots=True)
class _Sender:
    """A connection to which a response is sent: when it last took some, and what closes it."""

    close: Callable[[], None]
    since: float = field(default_factory=lambda: asyncio.get_running_loop().time())


class Room:
    """The bytes that requests and responses take, from the first to the last of each.

    Everything here runs in the server's event loop. Whoever finds no room waits in line; a
    connection that does not read its response makes room then.

    Args:
        limit: bytes; what is taken at once may exceed it.
        workers: how many answers are made at a time.
    """

    def __init__(self, limit: int, workers: int) -> None:
        self._limit = limit
        self._workers = asyncio.Semaphore(workers)
        self._controller = asyncio.Semaphore(1)
        self._used = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._senders: dict[object, _Sender] = {}

    @property
    def used(self) -> int:
        """Bytes in use."""
        return self._used

    @property
    def left(self) -> int:
        """Bytes that can be taken."""
        return max(0, self._limit - self._used)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def change(self, size: int) -> None:
        """Take bytes, or give them back if ``size`` is negative."""
        self._used += size
        if size < 0 and self._used < self._limit and self._waiting:
            first = self._waiting.popleft()
            if not first.done():
                first.set_result(None)

    def working(self) -> AbstractAsyncContextManager[None]:
        """Make an answer, when it is its turn and there is room; its bytes are taken inside."""
        return self._turn(self._workers)

    def changing(self) -> AbstractAsyncContextManager[None]:
        """Make or delete topics: the same, without holding up others."""
        return self._turn(self._controller)

    @asynccontextmanager
    async def _turn(self, semaphore: asyncio.Semaphore) -> AsyncIterator[None]:
        async with semaphore:
            await self.enter()
            yield

    async def enter(self) -> None:
        """Wait until there is room."""
        while self._used >= self._limit:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS / 4):
                    await future
            except TimeoutError:
                self._close_one()
            finally:
                if future in self._waiting:
                    self._waiting.remove(future)

    def _close_one(self) -> None:
        """Close the connection that has not read for the longest time, if that is long."""
        slowest = min(self._senders.values(), key=lambda each: each.since, default=None)
        now = asyncio.get_running_loop().time()
        if slowest is not None and now - slowest.since > _PATIENCE_SECONDS:
            slowest.since = now
            slowest.close()

    def taken(self) -> "Taken":
        """Return what a connection takes: nothing yet."""
        return Taken(self)

    def sends(self, who: object, close: Callable[[], None]) -> None:
        """Note that a connection begins to send a response, or that its client has taken some."""
        self._senders[who] = _Sender(close)

    def has_sent(self, who: object) -> None:
        """Note that the response was sent, or never will be."""
        self._senders.pop(who, None)


class Taken:
    """What one request with its response takes of the room.

    Args:
        room: the room.
    """

    __slots__ = ("_room", "size")

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    def set(self, size: int) -> None:
        """Take so many bytes, instead of those that were taken before."""
        self._room.change(size - self.size)
        self.size = size
