"""What all handlers of one server share."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.groups.classic.messages import RequestContext
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    TransactionCoordinator,
)
from workbench.runtime.error_codes import ErrorCode
from workbench.server.broker.broker import WritableBroker
from workbench.server.budget import ITEM, Budget, Room, Taken
from workbench.server.fetch_sessions import FetchSessions, FetchWaiters
from workbench.server.limits import ServerLimits
from workbench.server.logs.catalog import TopicCatalog
from workbench.server.protocol.frames import Request
from workbench.server.request_trace import RequestTrace
from workbench.server.served_transactions import ServedTransactions
from workbench.server.session_groups import SessionGroups

NOT_HERE: Final = "This server does not host this topic-partition."
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Serving:
    """What handlers work with.

    Attributes:
        catalog: the topics.
        groups: groups of this session and those on the disk, or the engine's.
        transactions: the transactional ids.
        limits: the limits.
        room: what requests and responses take.
        changes: lets requests wait until a partition has more to read.
        fetch_sessions: the incremental fetch sessions.
        broker: the engine; None: the server is read-only.
        has_users: whether clients authenticate.
    """

    catalog: TopicCatalog
    groups: SessionGroups | GroupCoordinatorService
    transactions: ServedTransactions | TransactionCoordinator
    limits: ServerLimits
    room: Room
    changes: FetchWaiters
    fetch_sessions: FetchSessions
    broker: WritableBroker | None = None
    has_users: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One request with what is needed to answer it.

    Attributes:
        serving: what handlers work with.
        request: the request.
        client: the client, as group coordinators see it.
        address: host and port that the client is connected to.
        trace: measures the request.
        budget: the memory that its answer may take.
        taken: the memory that request and answer take.
    """

    serving: Serving
    request: Request
    client: RequestContext
    address: tuple[str, int]
    trace: RequestTrace
    budget: Budget
    taken: Taken

    async def wait(self, future: Future[_Result], *done_with: str) -> _Result:
        """Wait for others, such as members of a group; meanwhile they have this request's memory.

        Args:
            future: what is awaited.
            done_with: large fields of the request that are no longer read.
        """
        for name in done_with:
            self.request.values.pop(name, None)
        self.taken.leave(ITEM)
        return await self.trace.remote(asyncio.wrap_future(future))

    @property
    def broker(self) -> WritableBroker:
        """The engine, of a server that may write."""
        assert self.serving.broker is not None
        return self.serving.broker


Values = Mapping[str, Any]
"""A response: a class of `server.protocol.responses`, or any fields of it."""
BlockingHandler = Callable[[Call, Any], Values]
"""Answers in a thread of its own, because it reads files or takes locks.

It is given the fields of the request as a class of `server.protocol.requests`.
"""
WaitingHandler = Callable[[Call, Any, "InThread"], Coroutine[Any, Any, Values]]
"""Answers when something else has happened; what blocks it does in a thread."""
InThread = Callable[..., Coroutine[Any, Any, Any]]
"""Runs a function in a thread that may block."""


class Served(NamedTuple):
    """How a request is served.

    Attributes:
        handler: makes the response; None if `waits` does.
        waits: makes it where that waits for records, or for members of a group.
        refusal: the error of a read-only server; None: that answers, too.
        is_quick: returns whether the handler neither waits nor works for long, and needs no thread;
            None: it does.
        is_change: whether it makes, changes or deletes topics.
    """

    handler: BlockingHandler | None = None
    waits: WaitingHandler | None = None
    refusal: ErrorCode | None = None
    is_quick: Callable[[Call, Any], bool] | None = None
    is_change: bool = False
