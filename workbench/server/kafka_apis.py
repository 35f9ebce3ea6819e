"""Every request goes through here: its handler, or the error that clients understand.

Kafka: KafkaApis.handle, KafkaApis.handleError (4.0)
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from workbench.coordinator.groups.classic.messages import RequestContext
from workbench.errors import CoordinatorError, WorkbenchError
from workbench.runtime.error_codes import ErrorCode, code_of
from workbench.server.handlers import (
    of_cluster,
    of_configs,
    of_groups,
    of_logs,
    of_offsets,
    of_produce,
    of_producers,
    of_topics,
    of_transactions,
    refusals,
)
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol.frames import Request
from workbench.server.request_trace import RequestTrace
from workbench.server.serving import (
    BlockingHandler,
    Call,
    InThread,
    Serving,
    Values,
    WaitingHandler,
)

_READS: Final[Mapping[int, BlockingHandler]] = {
    **of_cluster.HANDLERS,
    **of_configs.HANDLERS,
    **of_logs.HANDLERS,
    **of_groups.HANDLERS,
    **of_offsets.HANDLERS,
    **of_producers.HANDLERS,
}
_WRITES: Final[Mapping[int, BlockingHandler]] = {
    **of_produce.HANDLERS,
    **of_topics.HANDLERS,
    **of_transactions.HANDLERS,
    **of_groups.WRITES,
    **of_offsets.WRITES,
}
_WAITING: Final[Mapping[int, WaitingHandler]] = {**of_logs.WAITING, **of_groups.WAITING}
_LOG: Final = logging.getLogger("workbench.server")


class KafkaApis:
    """Answers requests.

    Args:
        serving: what handlers work with.
        in_thread: runs a function in a thread that may block.
    """

    def __init__(self, serving: Serving, in_thread: InThread) -> None:
        self._serving = serving
        self._in_thread = in_thread
        writes = refusals.HANDLERS if serving.broker is None else _WRITES
        self._blocking = {**_READS, **writes}

    async def handle(
        self, request: Request, client_host: str, address: tuple[str, int], trace: RequestTrace
    ) -> Values:
        """Return the response to a request.

        Args:
            request: the request.
            client_host: where the client is.
            address: host and port that it is connected to.
            trace: measures the request.

        Kafka: KafkaApis.handle (4.0)
        """
        client = RequestContext(request.client_id or "", f"/{client_host}", request.version)
        call = Call(self._serving, request, client, address, trace)

        async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
            return await self._in_thread(trace.queued(function), *arguments)

        try:
            waiting = _WAITING.get(request.api.key)
            if waiting is not None:
                return await waiting(call, in_thread)
            found: dict[str, Any] = await in_thread(self._blocking[request.api.key], call)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, whatever failed
            return self._handle_error(request, error)
        return found

    def _handle_error(self, request: Request, error: Exception) -> Values:
        """Kafka: RequestHandlerHelper.handleError (4.0)."""
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        if isinstance(error, CoordinatorError):
            code = code_of(error)
        elif isinstance(error, OSError):
            code = ErrorCode.KAFKA_STORAGE_ERROR
        if not isinstance(error, WorkbenchError | OSError):
            _LOG.error("%s failed", request.api.name, exc_info=error)
        return error_response(request, code)
