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
    topic_requests,
    transaction_requests,
)
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol.api_keys import (
    ALTER_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
)
from workbench.server.protocol.frames import Request, response_frame
from workbench.server.request_trace import RequestTrace
from workbench.server.serving import Call, InThread, Served, Serving, Values

SERVED: Final[Mapping[int, Served]] = {
    **admin_requests.HANDLERS,
    **metadata_requests.HANDLERS,
    **config_requests.HANDLERS,
    **fetch_requests.HANDLERS,
    **group_requests.HANDLERS,
    **offset_requests.HANDLERS,
    **produce_requests.HANDLERS,
    **producer_requests.HANDLERS,
    **topic_requests.HANDLERS,
    **transaction_requests.HANDLERS,
}
_READ_ONLY: Final = (
    "This server is read-only; kafka-workbench serve --writable takes writes, on a copy."
)
_OF_RESOURCES: Final = frozenset({ALTER_CONFIGS.key, INCREMENTAL_ALTER_CONFIGS.key})
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
        self._is_writable = serving.broker is not None

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

        served = SERVED[request.api.key]
        run = self._in_controller if served.is_change else self._in_thread

        async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
            return await run(trace.queued(function), *arguments)

        answer: EncodedResponse
        try:
            if served.waits is not None:
                answer = _encoded(request, await served.waits(call, request.values, in_thread))
                taken.set(answer.size)
                return answer
            is_quick = served.is_quick if self._is_writable else None
            if is_quick is not None and is_quick(call, request.values):
                answer = self._answer(call, served)
                taken.set(answer.size)
                return answer
            room, items = serving.room, request.items
            async with room.changing() if served.is_change else room.working(items):
                answer = await in_thread(self._answer, call, served)
                taken.set(answer.size)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, whatever failed
            answer = await in_thread(self._failed, request, error, trace)
            taken.set(answer.size)
        return answer

    def _answer(self, call: Call, served: Served) -> EncodedResponse:
        if served.refusal is not None and not self._is_writable:
            return _encoded(call.request, _refused(call.request, served.refusal))
        assert served.handler is not None
        return _encoded(call.request, served.handler(call, call.request.values))

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


def _refused(request: Request, code: ErrorCode) -> Values:
    """Return the response of a broker that gives no right to write.

    Kafka: KafkaApis, where an authorizer denies the operation (4.0)
    """
    key = request.api.key
    if key == INIT_PRODUCER_ID.key and request.values["transactionalId"] is not None:
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    response = error_response(request, code, _READ_ONLY)
    if key in _OF_RESOURCES:
        for each in response["responses"]:
            if each["resourceType"] != config_requests.TOPIC:
                each["errorCode"] = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return response
