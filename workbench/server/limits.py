"""What the server takes from clients at most, so that no client can exhaust it."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits of one server.

    Attributes:
        max_connections: connections at a time; further ones are closed at once (Kafka:
            `max.connections`), as are those that leave less than 64 files to open.
        max_request_bytes: size of a request; a larger one ends its connection (Kafka:
            `socket.request.max.bytes`).
        max_queued_bytes: size of all requests above 64 KiB that are being received or handled, and
            do not wait for others; more wait (Kafka: `queued.max.request.bytes`).
        max_fetch_bytes: records in one response, if the first batch is not larger (Kafka:
            `fetch.max.bytes`).
        max_answer_bytes: memory that the answer to one request may take beside records, and what
            naming every topic on the disk takes.
        max_memory_bytes: memory of all requests that are handled, and of responses that are not
            sent yet; then others wait, and clients that do not read are left.
        receive_seconds: time for a request to arrive after its size.
        idle_seconds: time without a request, or without taking a piece of a response (Kafka:
            `connections.max.idle.ms`).
        failed_login_seconds: time until the connection of a client with a wrong password ends
            (Kafka: `connection.failed.authentication.delay.ms`).
        max_wait_ms: the longest time that a fetch waits.
        max_fetch_sessions: incremental fetch sessions (Kafka:
            `max.incremental.fetch.session.cache.slots`).
        max_session_bytes: memory of all fetch sessions together.
        file_threads: threads that read files.
    """

    max_connections: int = 500
    max_request_bytes: int = 2 << 20
    max_queued_bytes: int = 16 << 20
    max_fetch_bytes: int = 8 << 20
    max_answer_bytes: int = 64 << 20
    max_memory_bytes: int = 128 << 20
    receive_seconds: float = 30.0
    idle_seconds: float = 600.0
    failed_login_seconds: float = 0.5
    max_wait_ms: int = 60_000
    max_fetch_sessions: int = 1000
    max_session_bytes: int = 64 << 20
    file_threads: int = 4

    @classmethod
    def for_writing(cls) -> Self:
        """Return the defaults of a server that may write: requests as large as Kafka's."""
        return replace(cls(), max_request_bytes=100 << 20, max_queued_bytes=256 << 20)
