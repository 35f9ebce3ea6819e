"""What outlives a fetch: sessions of clients, and requests that wait until there is more to read.

In an incremental fetch session, a client names the partitions once, and gets those that have
changed. Everything of it runs in the server's event loop. Besides Kafka's limit on the number of
sessions, there is one on the bytes of all of them. A request that names what does not exist gets no
session: its client names everything in each request, until it is there.

Kafka: FetchSession, FetchSessionCache, FetchManager, FetchContext, DelayedOperationPurgatory of
DelayedFetch (4.2); KIP-227
"""

import asyncio
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from workbench.files.names import TopicPartition
from workbench.layout.integers import INT32_MAX
from workbench.runtime.clock import Clock, SystemClock
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.requests import (
    FetchRequestData,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
)
from workbench.server.protocol.responses import (
    FetchResponseData,
    FetchResponseFetchableTopic,
    FetchResponsePartitionData,
)

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0  # of a request that asks for a session
FINAL_EPOCH: Final = -1  # of a request that wants none
EVICTION_MS: Final = 120_000
"""A session that was not used for so long makes room, and so does an old one that is small."""

_IDS_SINCE: Final = 13  # version of Fetch
_PARTITION_BYTES: Final = 1024  # of a partition that is kept


def next_epoch(epoch: int) -> int:
    """Return the epoch that follows.

    Kafka: FetchMetadata.nextEpoch (4.2)
    """
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == INT32_MAX else epoch + 1


class Where(NamedTuple):
    """A partition as a request names it: by the topic's id, or before version 13 by its name."""

    topic: str
    partition: int

    @property
    def size(self) -> int:
        """Bytes that a session keeps of it."""
        return _PARTITION_BYTES + len(self.topic)


@dataclass(slots=True)
class CachedPartition:
    """A partition of a session.

    Attributes:
        asked: what the client asked for last.
        high_watermark, log_start_offset: what the client got last.
    """

    asked: FetchRequestPartition
    high_watermark: int = -1
    log_start_offset: int = -1

    def must_respond(self, found: FetchResponsePartitionData) -> bool:
        """Return whether the client must get what was found, and note that it was.

        Kafka: CachedPartition.maybeUpdateResponseData (4.2)
        """
        failed = found["errorCode"] != ErrorCode.NONE
        high, start = found["highWatermark"], found.get("logStartOffset", -1)
        changed = high != self.high_watermark or start != self.log_start_offset
        # After an error the partition is sent again.
        self.high_watermark, self.log_start_offset = (-1 if failed else high), start
        return changed or failed or bool(found["records"])


@dataclass(slots=True)
class FetchSession:
    """A session.

    Attributes:
        number: its id.
        is_privileged: whether a follower has it.
        uses_ids: whether topics are named by their ids.
        created, last_used: ms.
        epoch: what the next request must have.
        partitions: in the order in which they are read.
        size: bytes of them.
    """

    number: int
    is_privileged: bool
    uses_ids: bool
    created: int
    last_used: int
    epoch: int = 1
    partitions: dict[Where, CachedPartition] = field(default_factory=dict)
    size: int = 0

    @property
    def value(self) -> tuple[bool, int, int]:
        """What decides which of two sessions is evicted: the lower one."""
        return self.is_privileged, len(self.partitions), self.number

    @property
    def is_old(self) -> bool:
        """Whether sessions of equals may evict it."""
        return self.last_used - self.created > EVICTION_MS


class FetchContext:
    """The partitions that one request asks for, and how it is answered.

    Args:
        asked: the partitions of the request.
        uses_ids: whether topics are named by their ids.
        session: the session of an incremental request; None: the request names everything.
        cache: where a session is created after the answer; None: none is wanted.
        is_privileged: whether a follower asks.
        error: why there is no answer.
    """

    def __init__(
        self,
        asked: dict[Where, FetchRequestPartition],
        *,
        uses_ids: bool,
        session: FetchSession | None = None,
        cache: "FetchSessions | None" = None,
        is_privileged: bool = False,
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        self.error = error
        self._uses_ids = uses_ids
        self._asked = asked
        self._session = session
        self._epoch = 0 if session is None else session.epoch
        self._cache = cache
        self._is_privileged = is_privileged

    @property
    def partitions(self) -> list[tuple[Where, FetchRequestPartition]]:
        """All partitions that are to be read, with what is asked of each."""
        if self._session is None:
            return list(self._asked.items())
        return [(where, cached.asked) for where, cached in self._session.partitions.items()]

    def respond(self, found: dict[Where, FetchResponsePartitionData]) -> FetchResponseData:
        """Return the response, with the partitions that the client must get.

        Kafka: FetchContext.updateAndGenerateResponseData (4.2)
        """
        session, number = self._session, NO_SESSION
        if session is not None:
            number = session.number
            if session.epoch != self._epoch:  # the client has sent another request meanwhile
                code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
                return {"errorCode": code, "sessionId": number, "responses": []}
            found = dict(_changed(session, found))
        elif self._cache is not None:
            number = self._cache.create(
                {
                    where: CachedPartition(
                        self._asked[where], each["highWatermark"], each.get("logStartOffset", -1)
                    )
                    for where, each in found.items()
                },
                is_privileged=self._is_privileged,
                uses_ids=self._uses_ids,
            )
        topics: list[FetchResponseFetchableTopic] = []
        for topic, items in groupby(found.items(), lambda item: item[0].topic):
            partitions = [each for _, each in items]
            topics.append(
                {"topicId": topic, "partitions": partitions}
                if self._uses_ids
                else {"topic": topic, "partitions": partitions}
            )
        return {"errorCode": ErrorCode.NONE, "sessionId": number, "responses": topics}


def _changed(
    session: FetchSession, found: dict[Where, FetchResponsePartitionData]
) -> Iterator[tuple[Where, FetchResponsePartitionData]]:
    """Yield what the client must get; partitions that had records are read last next time."""
    for where, each in found.items():
        cached = session.partitions.get(where)
        if cached is None or not cached.must_respond(each):
            continue
        if each["records"]:
            del session.partitions[where]
            session.partitions[where] = cached
        yield where, each


class FetchSessions:
    """The sessions of a server.

    Args:
        most: sessions (Kafka: `max.incremental.fetch.session.cache.slots`).
        most_bytes: bytes of all sessions together.
        clock: the time.
    """

    def __init__(self, most: int, most_bytes: int, clock: Clock | None = None) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._clock = clock or SystemClock()
        self.sessions: dict[int, FetchSession] = {}

    def context(
        self, values: FetchRequestData, version: int, exists: Callable[[Where], bool]
    ) -> FetchContext:
        """Return how a request is answered; changes the session that it names.

        Args:
            values: the fields of the request.
            version: of the request.
            exists: returns whether there is a partition.

        Kafka: FetchManager.newContext (4.2)
        """
        number, epoch = values.get("sessionId", NO_SESSION), values.get("sessionEpoch", FINAL_EPOCH)
        uses_ids = version >= _IDS_SINCE
        asked = dict(_named(values["topics"], uses_ids=uses_ids))
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self.sessions.pop(number, None)
            cache = self if epoch == INITIAL_EPOCH and all(map(exists, asked)) else None
            is_follower = _replica_id(values) >= 0
            return FetchContext(asked, uses_ids=uses_ids, cache=cache, is_privileged=is_follower)
        session = self.sessions.get(number)
        error = self._problem(session, epoch, uses_ids=uses_ids)
        if session is None or error is not ErrorCode.NONE:
            return FetchContext({}, uses_ids=uses_ids, error=error)
        forgotten = values.get("forgottenTopicsData", ())
        gone = _forgotten(forgotten, uses_ids=uses_ids)
        if not self._update(session, asked, gone, exists):
            del self.sessions[number]
            error = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            return FetchContext({}, uses_ids=uses_ids, error=error)
        if not session.partitions:
            del self.sessions[number]
            return FetchContext(asked, uses_ids=uses_ids)
        session.last_used = self._clock.now()
        session.epoch = next_epoch(session.epoch)
        return FetchContext(asked, uses_ids=uses_ids, session=session)

    def _problem(self, session: FetchSession | None, epoch: int, *, uses_ids: bool) -> ErrorCode:
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_ids != uses_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        return ErrorCode.NONE

    def _update(
        self,
        session: FetchSession,
        asked: dict[Where, FetchRequestPartition],
        forgotten: Iterable[Where],
        exists: Callable[[Where], bool],
    ) -> bool:
        """Take over what a request changes; return False if there is no room for it.

        Kafka: FetchSession.update (4.2)
        """
        before = session.size
        for where, each in asked.items():
            cached = session.partitions.get(where)
            if cached is not None:
                cached.asked = each
            elif exists(where):
                session.partitions[where] = CachedPartition(each)
                session.size += where.size
            else:
                return False
        for where in forgotten:
            if session.partitions.pop(where, None) is not None:
                session.size -= where.size
        return session.size <= before or self.size <= self._most_bytes

    @property
    def size(self) -> int:
        """Bytes of all sessions."""
        return sum(each.size for each in self.sessions.values())

    def create(
        self, partitions: dict[Where, CachedPartition], *, is_privileged: bool, uses_ids: bool
    ) -> int:
        """Create a session; return its id, or `NO_SESSION` if there is no room.

        Kafka: FetchSessionCacheShard.maybeCreateSession (4.2)
        """
        now = self._clock.now()
        if len(self.sessions) >= self._most and not self._evict(
            (is_privileged, len(partitions), 0), now
        ):
            return NO_SESSION
        size = sum(where.size for where in partitions)
        if self.size + size > self._most_bytes:
            return NO_SESSION
        number = NO_SESSION
        while number == NO_SESSION or number in self.sessions:
            number = random.randint(1, INT32_MAX)  # noqa: S311 - no secret
        self.sessions[number] = FetchSession(
            number, is_privileged, uses_ids, now, now, partitions=partitions, size=size
        )
        return number

    def _evict(self, value: tuple[bool, int, int], now: int) -> bool:
        """Make room for a session, if there is one that is worth less; return whether there was.

        Kafka: FetchSessionCacheShard.tryEvict (4.2)
        """
        if not self.sessions:
            return False
        evicted = min(self.sessions.values(), key=lambda each: (each.last_used, each.number))
        if now - evicted.last_used <= EVICTION_MS:
            is_privileged = value[0]
            found = [
                each
                for each in self.sessions.values()
                if each.is_old or (is_privileged and not each.is_privileged)
            ]
            evicted = min(found, key=lambda each: each.value, default=evicted)
            if not found or value < evicted.value:
                return False
        del self.sessions[evicted.number]
        return True


def _named(
    topics: Iterable[FetchRequestTopic], *, uses_ids: bool
) -> Iterator[tuple[Where, FetchRequestPartition]]:
    for topic in topics:
        name = topic["topicId"] if uses_ids else topic["topic"]
        for each in topic["partitions"]:
            yield Where(name, each["partition"]), each


def _forgotten(topics: Iterable[FetchRequestForgottenTopic], *, uses_ids: bool) -> Iterator[Where]:
    for topic in topics:
        for number in topic["partitions"]:
            yield Where(topic["topicId"] if uses_ids else topic["topic"], number)


def _replica_id(values: FetchRequestData) -> int:
    if "replicaState" in values:
        return values["replicaState"]["replicaId"]
    return values.get("replicaId", -1)


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
