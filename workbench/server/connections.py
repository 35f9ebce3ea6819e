"""Connections: frames in, frames out, one request after the other, within limits.

A client is read no further while its request is handled and its response is sent, so that a slow
one waits itself and nothing is stored for it.

Kafka: SocketServer, Selector, NetworkReceive (4.0)
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from workbench.file_system.local import most_open_files
from workbench.runtime.error_codes import ErrorCode
from workbench.server.budget import ITEM, SMALL, Room, Taken
from workbench.server.events import MOST_FRAME_BYTES, Exchange, RequestDone
from workbench.server.handlers.metadata_requests import supported_versions
from workbench.server.kafka_apis import EncodedResponse, KafkaApis
from workbench.server.limits import ServerLimits
from workbench.server.protocol.api_keys import API_VERSIONS, PRODUCE
from workbench.server.protocol.frames import (
    MOST_ITEMS,
    SIZE,
    Request,
    UnknownRequestError,
    UnsupportedApiVersionsError,
    read_request,
    response_frame,
)
from workbench.server.request_trace import RequestTrace
from workbench.server.sasl import LARGEST_FRAME, SaslAuthenticator
from workbench.server.sasl import SaslAnswer as LoginAnswer
from workbench.server.security import Passwords
from workbench.server.serving import InThread

_SENT_AT_ONCE: Final = 1 << 16  # bytes of a response
_TINY: Final = 1 << 10  # bytes of a request that is received even when there is no room
_PIECE: Final = 1 << 18  # bytes of a response that are given to the system at a time
_FOR_LOGS: Final = 64  # files that are kept free for logs: one that cannot be opened looks empty
_PAUSE_SECONDS: Final = 0.1  # after a connection that could not be accepted
_HANDSHAKE_SECONDS: Final = 10.0  # of TLS
_LOOK_SECONDS: Final = 0.5  # between two looks at all clients: which have gone, or are too slow?
_NEVER: Final = float("inf")
_CLOSED: Final = -1  # number of a file that is

_LOG: Final = logging.getLogger("workbench.server")


class Observer(NamedTuple):
    """What observes requests.

    Attributes:
        tell: receives each request, what was noted of it, and the bytes of both sides.
        wants_fields: returns whether also the fields of both sides are wanted.
    """

    tell: Callable[[RequestDone, RequestTrace, Exchange], None]
    wants_fields: Callable[[], bool]


class Connections:
    """The connections of one server; everything here runs in its event loop.

    Args:
        apis: answers the requests.
        limits: the limits.
        room: what requests and responses take.
        in_thread: runs a function in a thread that may block.
        observer: what observes requests.
        passwords: the users that may connect; None: everybody.
        advertised: host and port returned to clients; None: those that they connected to.
    """

    def __init__(
        self,
        apis: KafkaApis,
        limits: ServerLimits,
        room: Room,
        in_thread: InThread,
        observer: Observer,
        *,
        passwords: Passwords | None = None,
        advertised: tuple[str, int] | None = None,
    ) -> None:
        self._shared = _Shared(apis, limits, room, in_thread, observer, passwords, advertised)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[_Connection] = set()
        self._highest_file = most_open_files() - _FOR_LOGS

    @property
    def count(self) -> int:
        """How many connections there are."""
        return len(self._tasks)

    def listen(self, listening: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Serve new connections until `close`; those that are too many are closed at once.

        Args:
            listening: does not block.
            tls: encrypts the connections; None: nothing does.

        Kafka: SocketServer.Acceptor (4.0)
        """
        self._listening, self._tls = listening, tls
        self._look(asyncio.get_running_loop())
        self._go_on()

    def _go_on(self) -> None:
        if self._listening.fileno() != _CLOSED:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        """Accept a connection; `loop.sock_accept` would lose one, unclosed, when it is canceled."""
        loop = asyncio.get_running_loop()
        try:
            client, _ = self._listening.accept()
        except BlockingIOError:
            return
        except OSError:  # the client has gone, or no more files can be opened
            loop.remove_reader(self._listening)
            loop.call_later(_PAUSE_SECONDS, self._go_on)
            return
        limits = self._shared.limits
        if len(self._tasks) >= limits.max_connections or client.fileno() >= self._highest_file:
            client.close()
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = loop.create_task(self._serve(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, client: socket.socket) -> None:
        try:
            reader, writer = await _open(client, self._tls)
        except BaseException as error:
            client.close()
            if isinstance(error, OSError):  # the client has gone, or does not speak TLS
                return
            raise  # the server ends
        connection = _Connection(self._shared, reader, writer)
        self._open.add(connection)
        try:
            await connection.run()
        except (OSError, EOFError):
            pass  # the client is gone, or too slow
        except Exception:  # noqa: BLE001 - one connection must not end the others
            _LOG.exception("a connection failed")
        finally:
            self._open.discard(connection)
            writer.close()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave clients that are too slow or have gone: now, and again and again.

        A timer for each request would cost more than the request.
        """
        now = loop.time()
        for connection in list(self._open):
            connection.look(now)
        loop.call_later(_LOOK_SECONDS, self._look, loop)

    async def close(self) -> None:
        """Listen no more, and end all connections."""
        asyncio.get_running_loop().remove_reader(self._listening)
        self._listening.close()
        await asyncio.sleep(0)  # each task begins: it closes its socket then
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _open(
    client: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the streams of a new connection, after the handshake of TLS."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol,
        client,
        ssl=tls,
        ssl_handshake_timeout=None if tls is None else _HANDSHAKE_SECONDS,
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all connections share; see `Connections`."""

    apis: KafkaApis
    limits: ServerLimits
    room: Room
    in_thread: InThread
    observer: Observer
    passwords: Passwords | None
    advertised: tuple[str, int] | None


class _Connection:
    """One connection.

    Attributes:
        deadline: time of the loop up to which the client must send or take what is awaited of it.
        handling: the task in which a request is handled; None: none is.
    """

    def __init__(
        self, shared: _Shared, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._shared = shared
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=_SENT_AT_ONCE)
        # asyncio does it only for sockets that were made with a protocol. Without it, the second
        # part of each response waits 40 ms for the client to confirm the first.
        connected = writer.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = writer.get_extra_info("peername") or ("", 0)
        here = writer.get_extra_info("sockname") or ("", 0)
        self._peer = (str(peer[0]), int(peer[1]))
        self._here = shared.advertised or (str(here[0]), int(here[1]))
        passwords = shared.passwords
        self._login = None if passwords is None else SaslAuthenticator(passwords)
        # What TLS has encrypted is not in the size of the buffer.
        self._is_encrypted = writer.get_extra_info("ssl_object") is not None
        self._time = asyncio.get_running_loop().time
        self.deadline = _NEVER
        self.handling: asyncio.Task[Any] | None = None

    def look(self, now: float) -> None:
        """End the connection if its client is too slow, or has gone while it waits."""
        if now > self.deadline:
            self._writer.transport.abort()
        is_gone = self._reader.at_eof() or self._writer.is_closing()
        if self.handling is not None and is_gone:
            self.handling.cancel()

    async def run(self) -> None:
        while await self._serve_request():
            pass

    async def _serve_request(self) -> bool:
        """Serve the next request; return whether another can follow."""
        limits = self._shared.limits
        self.deadline = self._time() + limits.idle_seconds
        try:
            head = await self._reader.readexactly(SIZE.size)
        except asyncio.IncompleteReadError:
            return False
        (size,) = SIZE.unpack(head)
        largest = limits.max_request_bytes if self._is_known else LARGEST_FRAME
        if not 0 <= size <= largest:
            problem = f"a request of {size} bytes (expected 0 to {largest})"
            self._report(RequestTrace(), Exchange(size), problem)
            return False
        taken = self._shared.room.taken()
        try:
            if size > SMALL:
                self.deadline = _NEVER
                await taken.enter(size)
            return await self._receive(size, taken)
        finally:
            taken.leave()

    async def _receive(self, size: int, taken: Taken) -> bool:
        self.deadline = self._time() + self._shared.limits.receive_seconds
        frame = await self._reader.readexactly(size)
        self.deadline = _NEVER
        if size > _TINY:
            await self._shared.room.enter()
        answering = self._answer(frame, taken)
        del frame  # its answer may be long in coming
        return await answering

    async def _answer(self, frame: bytes, taken: Taken) -> bool:
        trace = RequestTrace()
        size = len(frame)
        asked = Exchange(size, frame[:MOST_FRAME_BYTES] if self._is_known else b"")
        try:
            login = None if self._is_known else self._login
            request = await self._read(frame, taken) if login is None else login.answer(frame)
        except UnsupportedApiVersionsError as error:
            supported = supported_versions(ErrorCode.UNSUPPORTED_VERSION)
            parts = response_frame(API_VERSIONS, 0, error.correlation_id, supported)
            await self._send(parts, trace, asked._replace(parts=parts))
            return True
        except UnknownRequestError as error:
            self._report(trace, asked, str(error))
            return False
        if isinstance(request, LoginAnswer):
            return await self._answer_login(size, request, trace)
        del frame
        answer = await self._handle(request, trace, taken)
        done = asked._replace(request=request, parts=answer.parts)
        if request.api is PRODUCE and request.values["acks"] == 0:
            # The end of its connection shows a producer that it was refused.
            is_refused = _has_error(answer.values)
            problem = "a producer that wants no answer was refused" if is_refused else None
            self._report(trace, done._replace(parts=()), problem)
            return not is_refused
        if self._shared.observer.wants_fields():
            done = done._replace(values=answer.values)
        else:  # they take many times the bytes, and the client may take its time
            done = done._replace(frame=b"", request=request._replace(values={}))
        del asked, request, answer
        await self._send(list(done.parts), trace, done, trace.problem)
        await asyncio.sleep(0)  # others come before what this client has sent ahead
        return True

    async def _read(self, frame: bytes, taken: Taken) -> Request:
        """Return the request in a frame; a large one is read in a thread."""
        taken.set(len(frame) + min(len(frame), MOST_ITEMS) * ITEM)
        if len(frame) > SMALL:
            async with self._shared.room.reading():
                request: Request = await self._shared.in_thread(read_request, frame)
        else:
            request = read_request(frame)
        taken.set(len(frame) + request.items * ITEM)
        return request

    @property
    def _is_known(self) -> bool:
        """Whether the client has logged in, or need not."""
        return self._login is None or self._login.user is not None

    async def _answer_login(self, size: int, answer: LoginAnswer, trace: RequestTrace) -> bool:
        """Send the answer of a SASL exchange; one that failed ends the connection, with a delay.

        Its bytes are given to no observer: they hold the password.
        """
        if answer.problem is not None:
            await asyncio.sleep(self._shared.limits.failed_login_seconds)
        parts = Exchange(size, parts=answer.parts)
        await self._send(answer.parts, trace, parts, answer.problem)
        return answer.problem is None

    async def _handle(self, request: Request, trace: RequestTrace, taken: Taken) -> EncodedResponse:
        """Return the response; canceled if the client goes away meanwhile."""
        self.handling = asyncio.current_task()
        try:
            return await self._shared.apis.handle(request, self._peer[0], self._here, trace, taken)
        finally:
            self.handling = None

    async def _send(
        self,
        parts: list[bytes],
        trace: RequestTrace,
        exchange: Exchange,
        problem: str | None = None,
    ) -> None:
        """Send a response and report its request, even if the client is gone before its end."""
        room, transport = self._shared.room, self._writer.transport
        try:
            with trace.sending():
                if sum(map(len, parts)) <= _SENT_AT_ONCE:  # one call, and one packet where it fits
                    parts = [b"".join(parts)]
                for part in parts:
                    view = memoryview(part)
                    for at in range(0, len(view), _PIECE):
                        self._writer.write(view[at : at + _PIECE])
                        is_taken = not (transport.is_closing() or transport.get_write_buffer_size())
                        if self._is_encrypted or not is_taken:
                            self.deadline = self._time() + self._shared.limits.idle_seconds
                            room.sends(self, transport.abort)
                            await self._writer.drain()
        except OSError:
            problem = "the client left, or stopped reading, before the end of the response"
            raise
        finally:
            room.has_sent(self)
            self._report(trace, exchange, problem)

    def _report(self, trace: RequestTrace, exchange: Exchange, problem: str | None) -> None:
        request = exchange.request
        done = RequestDone(
            client=f"{self._peer[0]}:{self._peer[1]}",
            client_id=None if request is None else request.client_id,
            api=None if request is None else request.api.name,
            version=None if request is None else request.version,
            request_bytes=exchange.request_bytes,
            response_bytes=sum(map(len, exchange.parts)),
            **trace.milliseconds(),
            problem=problem,
        )
        self._shared.observer.tell(done, trace, exchange)


def _has_error(values: Mapping[str, Any]) -> bool:
    """Return whether a produce request failed for any partition."""
    return any(
        partition["errorCode"] != ErrorCode.NONE
        for topic in values["responses"]
        for partition in topic["partitionResponses"]
    )
