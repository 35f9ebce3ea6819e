"""Every request goes through here: its handler, or the error that clients understand.

Kafka: KafkaApis.handle, KafkaApis.handleError (4.0)
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from workbench.coordinator.groups.classic.messages import RequestContext
from workbench.errors import CoordinatorError, WorkbenchError
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.server.budget import Budget, Taken, TooLargeAnswerError
from workbench.server.handlers import (
    admin_requests,
    config_requests,
    fetch_requests,
    group_requests,
    metadata_requests,
    offset_requests,
    produce_requests,
    producer_requests,
    refusals,
    topic_requests,
    transaction_requests,
)
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol.frames import Request, response_frame
from workbench.server.request_trace import RequestTrace
from workbench.server.serving import (
    BlockingHandler,
    Call,
    InThread,
    Serving,
    Values,
    WaitingHandler,
)

READS: Final[Mapping[int, BlockingHandler]] = {
    **admin_requests.HANDLERS,
    **metadata_requests.HANDLERS,
    **config_requests.HANDLERS,
    **fetch_requests.HANDLERS,
    **group_requests.HANDLERS,
    **offset_requests.HANDLERS,
    **producer_requests.HANDLERS,
}
WRITES: Final[Mapping[int, BlockingHandler]] = {
    **produce_requests.HANDLERS,
    **topic_requests.HANDLERS,
    **transaction_requests.HANDLERS,
    **group_requests.WRITES,
    **offset_requests.WRITES,
}
QUICK: Final[Mapping[int, Callable[[Call, Any], bool]]] = {**produce_requests.QUICK}
"""Returns whether the handler of a request neither waits nor works for long: it needs no thread."""
WAITING: Final[Mapping[int, WaitingHandler]] = {**fetch_requests.WAITING, **group_requests.WAITING}
_OF_TOPIC: Final = 48 << 10  # bytes that the configuration of a topic takes at most, as an answer
_LOG: Final = logging.getLogger("workbench.server")


class EncodedResponse(NamedTuple):
    """A response: its fields, and its bytes."""

    values: Values
    parts: list[bytes]

    @property
    def size(self) -> int:
        """Bytes of the response."""
        return sum(map(len, self.parts))


class KafkaApis:
    """Answers requests.

    Args:
        serving: what handlers work with.
        in_thread: runs a function in a thread that may block.
        in_controller: runs one in the only thread that makes, enlarges and deletes topics: that
            may take seconds, in which the others serve.
    """

    def __init__(self, serving: Serving, in_thread: InThread, in_controller: InThread) -> None:
        self._serving = serving
        self._in_thread = in_thread
        self._in_controller = in_controller
        writes = refusals.HANDLERS if serving.broker is None else WRITES
        self._blocking = {**READS, **writes}
        self._quick = {} if serving.broker is None else QUICK

    async def handle(
        self,
        request: Request,
        client_host: str,
        address: tuple[str, int],
        trace: RequestTrace,
        taken: Taken,
    ) -> EncodedResponse:
        """Return the response to a request.

        Args:
            request: the request.
            client_host: where the client is.
            address: host and port that it is connected to.
            trace: measures the request.
            taken: the memory that the request takes, and then its response.

        Kafka: KafkaApis.handle (4.0)
        """
        client = RequestContext(request.client_id or "", f"/{client_host}", request.version)
        serving = self._serving
        most = serving.limits.max_answer_bytes + _OF_TOPIC * serving.catalog.topic_count
        call = Call(serving, request, client, address, trace, Budget(most), taken)

        is_change = request.api.key in topic_requests.CHANGES
        run = self._in_controller if is_change else self._in_thread

        async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
            return await run(trace.queued(function), *arguments)

        waiting = WAITING.get(request.api.key)
        answer: EncodedResponse
        try:
            if waiting is not None:
                answer = _encoded(request, await waiting(call, request.values, in_thread))
                taken.set(answer.size)
                return answer
            is_quick = self._quick.get(request.api.key)
            if is_quick is not None and is_quick(call, request.values):
                answer = self._answer(call)
                taken.set(answer.size)
                return answer
            room, items = serving.room, request.items
            async with room.changing() if is_change else room.working(items):
                answer = await in_thread(self._answer, call)
                taken.set(answer.size)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, whatever failed
            answer = await in_thread(self._failed, request, error, trace)
            taken.set(answer.size)
        return answer

    def _answer(self, call: Call) -> EncodedResponse:
        return _encoded(
            call.request, self._blocking[call.request.api.key](call, call.request.values)
        )

    def _failed(self, request: Request, error: Exception, trace: RequestTrace) -> EncodedResponse:
        """Kafka: RequestHandlerHelper.handleError (4.0)."""
        code, problem = ErrorCode.UNKNOWN_SERVER_ERROR, ""
        if isinstance(error, CoordinatorError):
            code = code_of(error)
        elif isinstance(error, TooLargeAnswerError):
            code, problem = ErrorCode.INVALID_REQUEST, str(error)
            trace.problem = problem
        elif isinstance(error, OSError):
            code = ErrorCode.KAFKA_STORAGE_ERROR
        if not isinstance(error, WorkbenchError | OSError | TooLargeAnswerError):
            _LOG.error("%s failed", request.api.name, exc_info=error)
        return _encoded(request, error_response(request, code, problem))


def _encoded(request: Request, values: Values) -> EncodedResponse:
    frame = response_frame(request.api, request.version, request.correlation_id, values)
    return EncodedResponse(values, frame)
