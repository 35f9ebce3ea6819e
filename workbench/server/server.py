"""The server: a thread with an event loop that answers Kafka's clients.

    from workbench.inspection.listing import list_log_directories

    with Server(list_log_directories("sample_data/shop-4.3.1")) as server:
        where = server.bootstrap_servers  # for the configuration of a client

Kafka: KafkaServer, SocketServer (4.0)
"""

import asyncio
import ipaddress
import logging
import socket
import ssl
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, Self

from workbench.coordinator.group_coordinator.group_coordinator_service import (
    GroupCoordinatorService,
)
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    TransactionCoordinator,
)
from workbench.errors import ServerError
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.server.broker.broker import WritableBroker
from workbench.server.budget import Room
from workbench.server.connections import Connections, Observer
from workbench.server.events import Event, Exchange, RequestDone
from workbench.server.fetch_sessions import FetchSessions, FetchWaiters
from workbench.server.kafka_apis import KafkaApis
from workbench.server.limits import ServerLimits
from workbench.server.logs.assigned_topics import AssignedTopics
from workbench.server.logs.catalog import Catalog, TopicCatalog
from workbench.server.request_trace import RequestTrace
from workbench.server.security import Passwords, ServerSecurity, tls_context
from workbench.server.served_transactions import ServedTransactions
from workbench.server.serving import Serving
from workbench.server.session_groups import SessionGroups
from workbench.server.watching.watch import MOST_REQUESTS, RequestWatch

LOOPBACK: Final = "127.0.0.1"
_MOST_FINDINGS: Final = 10_000
_LOG: Final = logging.getLogger("workbench.server")


class Server:
    """Serves the partitions of a listing. Use it in a ``with`` statement.

    A server that still runs when the interpreter ends is stopped then.

    Read-only, nothing on the disk is written or locked: committed offsets and members of groups are
    kept in memory as long as the server runs. Writable, the engine leads every partition as the
    only broker of its cluster; work on a copy.

    Args:
        listing: the directories.
        host: name or address to listen at.
        port: 0 takes any free one.
        topics: the only topics to serve; None: all.
        insecure: allows a host that other machines can reach without encryption or without
            passwords.
        security: TLS, and the users that may connect; None: neither.
        advertised: ``"host:port"`` returned to clients; None: the address that they connected to.
        limits: what clients can take at most; None: the defaults.
        observe: receives each event in the server's thread, so it must return quickly.
        writable: whether clients may write.
        recover: with ``writable``, whether directories are taken that were not stopped cleanly.
        config: with ``writable``, names of brokers and topics to values.
        defaults: with ``writable``, whether Kafka's defaults apply where the configuration of the
            directory's broker is unknown; otherwise what is not configured deletes nothing.
        strict: whether a damaged batch is answered with CORRUPT_MESSAGE, instead of being left out.

    Attributes:
        catalog: the topics that are served; of a writable server, after its start.
        findings: what was left out so far, at most 10,000.
        failure: why a writable server stopped serving by itself: every log directory has failed.
    """

    def __init__(
        self,
        listing: Listing,
        host: str = LOOPBACK,
        port: int = 0,
        *,
        topics: Collection[str] | None = None,
        insecure: bool = False,
        security: ServerSecurity | None = None,
        advertised: str | None = None,
        limits: ServerLimits | None = None,
        observe: Callable[[Event], None] | None = None,
        writable: bool = False,
        recover: bool = False,
        config: Mapping[str, Any] | None = None,
        defaults: bool = False,
        strict: bool = False,
    ) -> None:
        if writable and topics is not None:
            raise ServerError("a writable server", "serves every topic (expected no choice)")
        if writable and strict:
            raise ServerError("a writable server", "reads as a broker does (expected no strict)")
        self._listing = listing
        self._writable = writable
        self._recover = recover
        self._config = config
        self._defaults = defaults
        self._host = host
        self._port = port
        self._insecure = insecure
        self._security = ServerSecurity() if security is None else security
        self._advertised = None if advertised is None else _host_and_port(advertised)
        self._tls: ssl.SSLContext | None = None
        self._passwords: Passwords | None = None
        usual = ServerLimits.for_writing() if writable else ServerLimits()
        self._limits = usual if limits is None else limits
        self._observe = observe
        self.failure: ServerError | None = None
        self.findings: deque[Finding] = deque(maxlen=_MOST_FINDINGS)
        self._changes = FetchWaiters()
        self._broker: WritableBroker | None = None
        self.catalog: TopicCatalog
        self._groups: SessionGroups | GroupCoordinatorService
        self._transactions: ServedTransactions | TransactionCoordinator
        if not writable:
            catalog = Catalog(listing, self._tell, topics, strict=strict)
            self.catalog = catalog
            self._groups = SessionGroups(
                lambda: catalog.listing, catalog.has, AssignedTopics(catalog)
            )
            self._transactions = ServedTransactions(lambda: catalog.listing)
        self._threads = ThreadPoolExecutor(self._limits.file_threads, "workbench-server")
        self._controller = ThreadPoolExecutor(1, "workbench-controller")
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._connections: Connections | None = None
        self._watch: RequestWatch | None = None

    def __repr__(self) -> str:
        where = self.bootstrap_servers if self._thread else "not started"
        count = (
            ""
            if self._writable and self._broker is None
            else f", {self.catalog.topic_count} topics"
        )
        return f"<Server {where}{count}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port that the server listens at.

        Raises:
            ServerError: any free port is wanted, and the server has not started.
        """
        if not self._port:
            raise ServerError(
                "the server", "has no port before it starts (expected `with server:` around this)"
            )
        return self._port

    @property
    def bootstrap_servers(self) -> str:
        """Host and port for clients: ``127.0.0.1:40123``.

        Raises:
            ServerError: any free port is wanted, and the server has not started.
        """
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self.port}"

    @property
    def connection_count(self) -> int:
        """How many clients are connected."""
        return 0 if self._connections is None else self._connections.count

    def start(self) -> None:
        """Listen; return when clients can connect.

        Raises:
            ServerError: the host is not this machine alone and ``insecure`` is not set, or the
                address cannot be used; a directory to be written to was not stopped cleanly.
            WorkbenchError: the engine cannot open a directory; see `LogManager.startup`.
        """
        assert self._thread is None, "the server was started before"
        self._tls = tls_context(self._security)
        if self._security.passwords is not None:
            self._passwords = Passwords.read(self._security.passwords)
            if self._passwords.is_readable_by_others:
                self._tell(f"{self._security.passwords}: other users of this machine may read it")
        listening = self._listen()
        self._port = listening.getsockname()[1]
        if self._writable:
            try:
                self._lead()
            except BaseException:
                listening.close()
                raise
        elif isinstance(self.catalog, Catalog):
            for name in self.catalog.left_out:
                self._tell(f"{name}: not served: its name is not a topic's, or it is there twice")
            self._tell(
                "read-only: members and offsets of groups are kept in memory, writes refused"
            )
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._work, args=(listening, ready), name="workbench-server", daemon=True
        )
        self._thread.start()
        ready.wait()
        # Before the pools' threads end; what `atexit` calls comes after them.
        threading._register_atexit(_stopping(weakref.ref(self)))  # type: ignore[attr-defined]  # noqa: SLF001

    def stop(self) -> None:
        """End all connections and listen no more; a second call does nothing."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._controller.shutdown(wait=True, cancel_futures=True)
        if isinstance(self._groups, SessionGroups):
            self._groups.close()
        if self._broker is not None:
            self._broker.close()

    def watch(self, most: int = MOST_REQUESTS) -> RequestWatch:
        """Keep each request from now on, with its bytes, and return them; the first call counts.

        Args:
            most: how many are kept; the oldest are dropped.
        """
        if self._watch is None:
            self._watch = RequestWatch(lambda: self.catalog, most, self._limits.max_fetch_bytes)
        return self._watch

    def _lead(self) -> None:
        """Let the engine lead every partition."""
        self._broker = WritableBroker(
            self._listing,
            self._config,
            recover=self._recover,
            defaults=self._defaults,
            on_change=self._changes.tell,
            on_halt=self._halt,
            in_controller=self._controller.submit,
            tell=self._tell,
        )
        self.catalog, self._groups = self._broker.topics, self._broker.groups
        self._transactions = self._broker.transactions

    def _halt(self, directories: str, problem: str) -> None:
        """Serve no more, as a broker whose log directories have all failed; any thread may call it.

        Kafka: ReplicaManager.handleLogDirFailure, Exit.halt (4.2)
        """
        if self.failure is None:
            self.failure = ServerError(
                directories, f"{problem}: the server has stopped, as no other log directory is left"
            )
            self._tell(str(self.failure))
        if self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._stop.set)

    def _listen(self) -> socket.socket:
        try:
            found = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except OSError as error:
            raise ServerError(self._host, f"cannot be resolved: {error}") from error
        family, _, _, _, address = found[0]
        reached = ipaddress.ip_address(str(address[0]).partition("%")[0])
        if not (reached.is_loopback or self._insecure or self._security.is_complete):
            raise ServerError(
                self._host,
                "other machines can reach it, without encryption or authentication "
                f"(expected a loopback address such as {LOOPBACK}, or a certificate and "
                "passwords); --insecure allows it",
            )
        try:
            listening = socket.create_server(address[:2], family=family, backlog=128)
        except OSError as error:
            where = f"{self._host}:{self._port}"
            raise ServerError(where, f"cannot be listened at: {error.strerror}") from error
        listening.settimeout(0)  # it does not block
        return listening

    def _work(self, listening: socket.socket, ready: threading.Event) -> None:
        try:
            asyncio.run(self._run(listening, ready))
        finally:
            ready.set()

    async def _run(self, listening: socket.socket, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._changes.use(self._loop)
        limits = self._limits
        room = Room(limits.max_memory_bytes, limits.file_threads, limits.max_queued_bytes)
        serving = Serving(
            self.catalog,
            self._groups,
            self._transactions,
            self._limits,
            room,
            self._changes,
            FetchSessions(self._limits.max_fetch_sessions, self._limits.max_session_bytes),
            self._broker,
            has_users=self._security.passwords is not None,
        )
        connections = Connections(
            KafkaApis(serving, self._in_thread, self._in_controller),
            self._limits,
            room,
            self._in_thread,
            Observer(self._done, lambda: self._watch is not None),
            passwords=self._passwords,
            advertised=self._advertised,
        )
        self._connections = connections
        connections.listen(listening, self._tls)
        ready.set()
        await self._stop.wait()
        await connections.close()

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function, *arguments)

    async def _in_controller(self, function: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._controller, function, *arguments)

    def _done(self, request: RequestDone, trace: RequestTrace, exchange: Exchange) -> None:
        if self._observe is not None:
            self._observe(request)
        if self._watch is not None:
            self._watch.add(request, trace, exchange)

    def _tell(self, what: Finding | str) -> None:
        if isinstance(what, Finding):
            self.findings.append(what)
        _LOG.info("%s", what)
        if self._observe is not None:
            self._observe(what)


def _stopping(server: "weakref.ref[Server]") -> Callable[[], None]:
    """Return what stops a server that still runs when the interpreter ends."""

    def stop() -> None:
        running = server()
        if running is not None:
            running.stop()

    return stop


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ServerError(address, "is not of the form HOST:PORT")
    return host.strip("[]"), int(port)
