"""What one request may build, and what all requests and responses together may take.

The bytes of a request decide neither: a request of 100 KB can name the same topic 20,000 times.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

ITEM: Final = 512
"""Bytes that an element of a request or response takes in memory, beside its texts."""

_PATIENCE_SECONDS: Final = 2.0
"""While others wait for room, a connection is closed that has taken nothing for so long."""

SMALL: Final = 1 << 16
"""Bytes of a request that does not wait for a place among the large ones."""

MANY_ITEMS: Final = 2_000
"""A request with more elements is answered after others: it may take a second."""

_SMALL_FIRST, _LARGE, _RECEIVED = range(3)  # lines of those that wait for room


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

    Everything here runs in the server's event loop. A caller that finds no room waits in line; a
    connection that does not read its response makes room then. A request that waits for its answer
    to be made has taken room itself: when nothing is made or sent that gives some back, it waits no
    longer, as it would for ever.

    Args:
        limit: bytes; what is taken at once may exceed it.
        workers: how many answers are made at a time; of requests with `MANY_ITEMS`, one.
        queued: bytes of the frames of all requests above `SMALL` that are received or handled.
    """

    def __init__(self, limit: int, workers: int, queued: int) -> None:
        self._limit = limit
        self._queue = _Queue(queued)
        self._workers = asyncio.Semaphore(workers)
        self._large = asyncio.Semaphore(1)
        self._reading = asyncio.Semaphore(1)
        self._controller = asyncio.Semaphore(1)
        self._used = 0
        self._made = 0  # answers that are being made
        self._lines: tuple[deque[asyncio.Future[None]], ...] = (deque(), deque(), deque())
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
        return any(self._lines) or self._queue.is_wanted

    def change(self, size: int) -> None:
        """Take bytes, or give them back if ``size`` is negative."""
        self._used += size
        if size < 0:
            self._wake()

    def reading(self) -> asyncio.Semaphore:
        """Read a large request: one at a time, so that others find a thread."""
        return self._reading

    @asynccontextmanager
    async def working(self, items: int) -> AsyncIterator[None]:
        """Make an answer, when it is its turn and there is room; its bytes are taken inside.

        Args:
            items: elements of the request.
        """
        is_large = items > MANY_ITEMS
        async with self._large if is_large else self._workers:
            await self._wait(_LARGE if is_large else _SMALL_FIRST)
            self._made += 1
            try:
                yield
            finally:
                self._made -= 1
                self._wake()

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Make or delete topics: the same, without holding up others."""
        async with self._controller:
            await self._wait(_LARGE)
            yield

    async def enter(self) -> None:
        """Wait until there is room."""
        await self._wait(_RECEIVED)

    async def _wait(self, line: int) -> None:
        waiting = self._lines[line]
        while not self._is_turn_of(line) or (line == _LARGE and self._lines[_SMALL_FIRST]):
            future = asyncio.get_running_loop().create_future()
            waiting.append(future)
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS / 4):
                    await future
            except TimeoutError:
                self._close_one()
            finally:
                if future in waiting:
                    waiting.remove(future)
        self._wake()

    def _is_turn_of(self, line: int) -> bool:
        is_idle = not (self._made or self._senders)
        return self._used < self._limit or (is_idle and line != _RECEIVED)

    def _wake(self) -> None:
        """Let the first that waits look again, if there may be room for it."""
        for number, waiting in enumerate(self._lines):
            if waiting:
                if self._is_turn_of(number):
                    first = waiting.popleft()
                    if not first.done():
                        first.set_result(None)
                return

    def _close_one(self) -> None:
        """Close the connection that has not read for the longest time, if that is long."""
        slowest = min(self._senders.values(), key=lambda each: each.since, default=None)
        now = asyncio.get_running_loop().time()
        if slowest is not None and now - slowest.since > _PATIENCE_SECONDS:
            slowest.since = now
            slowest.close()

    def taken(self) -> "Taken":
        """Return what a request takes: nothing yet."""
        return Taken(self, self._queue)

    def sends(self, who: object, close: Callable[[], None]) -> None:
        """Note that a connection begins to send a response, or that its client has taken some."""
        self._senders[who] = _Sender(close)

    def has_sent(self, who: object) -> None:
        """Note that the response was sent, or never will be."""
        self._senders.pop(who, None)
        self._wake()


class _Queue:
    """The bytes of large requests; a request that finds none left waits in line."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def is_wanted(self) -> bool:
        return bool(self._line)

    async def enter(self, size: int) -> None:
        while self._used + size > self._limit:
            future = asyncio.get_running_loop().create_future()
            self._line.append(future)
            try:
                await future
            finally:
                self._line.remove(future)
        self._used += size

    def leave(self, size: int) -> None:
        self._used -= size
        for future in self._line:
            if not future.done():
                future.set_result(None)


class Taken:
    """What one request with its response takes of the room.

    Args:
        room: the room.
        queue: where large requests wait for their place.
    """

    __slots__ = ("_queue", "_queued", "_room", "size")

    def __init__(self, room: Room, queue: _Queue) -> None:
        self._room = room
        self._queue = queue
        self._queued = 0
        self.size = 0

    async def enter(self, size: int) -> None:
        """Wait until so large a request may be received."""
        await self._queue.enter(size)
        self._queued = size

    def set(self, size: int) -> None:
        """Take so many bytes, instead of those that were taken before."""
        self._room.change(size - self.size)
        self.size = size

    def leave(self, size: int = 0) -> None:
        """Give back the place among the large requests, and all but some bytes.

        Args:
            size: bytes that the request still takes, while it waits for others.
        """
        self.set(size)
        if self._queued:
            self._queue.leave(self._queued)
            self._queued = 0
