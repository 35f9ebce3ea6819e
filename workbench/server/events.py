"""What a server reports while it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from workbench.inspection.findings import Finding
from workbench.server.protocol.frames import Request

MOST_FRAME_BYTES: Final = 1 << 16
"""Bytes kept of a request, and of a response; of larger ones the beginning."""


@dataclass(frozen=True, slots=True)
class RequestDone:
    """A request that was answered, or that ended its connection.

    Attributes:
        client: host and port.
        client_id: as the client names itself; None: it does not.
        api, version: the request; None: it has no valid header.
        request_bytes, response_bytes: sizes of the frames.
        request_queue_time_ms: until a thread worked at it.
        local_time_ms: in which the server worked at it: read, handled and encoded it.
        remote_time_ms: in which it waited for others: for records, or for members of a group.
        response_send_time_ms: until the client's side had taken the response.
        total_time_ms: from its last byte to the last of the response.
        problem: why it was not answered; None: it was.

    Kafka: RequestMetrics (4.0): RequestQueueTimeMs, LocalTimeMs, RemoteTimeMs,
    ResponseSendTimeMs, TotalTimeMs.
    """

    client: str
    client_id: str | None
    api: str | None
    version: int | None
    request_bytes: int
    response_bytes: int
    request_queue_time_ms: float
    local_time_ms: float
    remote_time_ms: float
    response_send_time_ms: float
    total_time_ms: float
    problem: str | None = None


class Exchange(NamedTuple):
    """A request and its response as bytes and as read.

    Attributes:
        request_bytes: size of the request's frame.
        frame: the request without its size, at most `MOST_FRAME_BYTES` of it; empty if it was not
            read, or holds a password.
        request: the request; None: it is invalid, or part of a login.
        values: the fields of the response.
        parts: the bytes of the response with its size.
    """

    request_bytes: int
    frame: bytes = b""
    request: Request | None = None
    values: Mapping[str, Any] | None = None
    parts: Sequence[bytes] = ()


Event = RequestDone | Finding | str
"""A request; something on the disk that is left out; or a note as text."""
