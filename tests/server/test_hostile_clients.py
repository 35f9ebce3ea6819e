"""Bytes that no client sends: other clients are served, and memory stays within its limits."""

import os
import random
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import psutil
import pytest

import workbench
from tests.server.conftest import SHOP
from workbench.server.events import Event, RequestDone
from workbench.server.limits import ServerLimits
from workbench.server.protocol.api_keys import API_KEYS
from workbench.server.protocol.cluster_messages import API_VERSIONS, METADATA
from workbench.server.protocol.frames import SIZE
from workbench.server.protocol.group_messages import JOIN_GROUP
from workbench.server.protocol.log_messages import FETCH
from workbench.server.server import Server

MIB = 1 << 20
ZSTD_SINCE = 10  # version of Fetch
LIMITS = ServerLimits(
    max_connections=40,
    max_request_bytes=MIB,
    max_queued_bytes=4 * MIB,
    max_fetch_bytes=MIB,
    max_response_bytes=4 * MIB,
    receive_seconds=0.5,
    idle_seconds=2.0,
    max_wait_ms=500,
)


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def server(events: list[Event]) -> Iterator[Server]:
    with workbench.serve(SHOP, limits=LIMITS, observe=events.append) as running:
        yield running
        assert_served(running)


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def frame(key: int, version: int, body: bytes, *, is_flexible: bool = False) -> bytes:
    header = struct.pack(">hhih", key, version, 7, 4) + b"test" + (b"\0" if is_flexible else b"")
    return SIZE.pack(len(header) + len(body)) + header + body


def receive(client: socket.socket) -> bytes | None:
    """Return the next response without its size; None where the connection has ended."""
    data = b""
    wanted = SIZE.size
    while len(data) < wanted:
        try:
            more = client.recv(wanted - len(data))
        except ConnectionResetError:
            return None
        if not more:
            return None
        data += more
        if wanted == SIZE.size == len(data):
            wanted += SIZE.unpack(data)[0]
    return data[SIZE.size :]


def assert_served(server: Server) -> None:
    """Let a good client ask; a server that was hurt does not answer."""
    deadline = time.monotonic() + 10
    while True:
        with connect(server) as client:
            client.sendall(frame(API_VERSIONS.key, 0, b""))
            answer = receive(client)
        if answer is not None:
            assert answer[:6] == b"\0\0\0\7\0\0"
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def every_request() -> list[bytes]:
    """Return a frame of each kind and version, with the defaults of its fields."""
    return [
        frame(api.key, version, api.request.encode({}, version), is_flexible=flexible)
        for api in API_KEYS.values()
        for version in range(api.lowest, api.highest + 1)
        for flexible in [api.is_flexible(version)]
        if api is not JOIN_GROUP
    ]


def test_every_request_with_default_fields_is_answered_or_ends_its_connection(
    server: Server, events: list[Event]
) -> None:
    for data in every_request():
        with connect(server) as client:
            client.sendall(data)
            receive(client)
    done = [event for event in events if isinstance(event, RequestDone)]
    assert {event.api for event in done} >= {api.name for api in API_KEYS.values()} - {"JoinGroup"}


def test_mutated_and_random_frames_hurt_nobody(server: Server) -> None:
    rng = random.Random(7)
    requests = every_request()
    for _ in range(400):
        data = bytearray(rng.choice(requests))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(4, len(data))
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        if rng.random() < 0.2:
            data = bytearray(SIZE.pack(len(data)) + rng.randbytes(len(data)))
        with connect(server) as client:
            client.sendall(data)
            if rng.random() < 0.5:
                client.shutdown(socket.SHUT_WR)
            if rng.random() < 0.2:
                receive(client)


@pytest.mark.parametrize("size", [-1, -(1 << 31), (1 << 31) - 1, MIB + 1])
def test_an_impossible_size_ends_the_connection(server: Server, size: int) -> None:
    with connect(server) as client:
        client.sendall(SIZE.pack(size) + b"x" * 100)
        assert receive(client) is None


def test_unknown_kinds_end_the_connection_and_unknown_api_versions_are_told(
    server: Server,
) -> None:
    for data in (frame(9999, 0, b""), frame(METADATA.key, 99, b""), SIZE.pack(0), SIZE.pack(3)):
        with connect(server) as client:
            client.sendall(data + (b"abc" if data == SIZE.pack(3) else b""))
            assert receive(client) is None
    with connect(server) as client:
        client.sendall(frame(API_VERSIONS.key, 99, b""))
        answer = receive(client)
        assert answer is not None
        assert answer[4:6] == struct.pack(">h", 35)
        client.sendall(frame(API_VERSIONS.key, 0, b""))
        assert receive(client) is not None


def test_arrays_that_claim_too_many_elements_end_the_connection(server: Server) -> None:
    for count in (1 << 30, 500_000):
        body = struct.pack(">i", count) + b"\0\0" * min(count, 400_000)
        with connect(server) as client:
            client.sendall(frame(METADATA.key, 1, body))
            assert receive(client) is None


def test_a_slow_client_is_left_and_others_are_served(server: Server) -> None:
    with connect(server) as slow, connect(server) as half:
        slow.sendall(SIZE.pack(1000) + b"x")
        half.sendall(frame(API_VERSIONS.key, 0, b""))
        half.shutdown(socket.SHUT_WR)
        assert receive(half) is not None
        assert receive(half) is None
        assert_served(server)
        assert receive(slow) is None  # after receive_seconds


def test_a_client_that_leaves_while_it_waits_keeps_no_place(server: Server) -> None:
    body = FETCH.request.encode({"maxWaitMs": 500, "minBytes": 1}, 4)
    for _ in range(LIMITS.max_connections - 5):
        with connect(server) as client:
            client.sendall(frame(FETCH.key, 4, body))
    deadline = time.monotonic() + 5
    while server.connection_count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.connection_count == 0


def test_too_many_connections_are_closed_at_once(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(LIMITS.max_connections):
            client = stack.enter_context(connect(server))
            client.sendall(frame(API_VERSIONS.key, 0, b""))
            assert receive(client) is not None
        assert server.connection_count == LIMITS.max_connections
        with connect(server) as one_more:
            assert receive(one_more) is None


def test_neither_large_requests_nor_clients_that_do_not_read_fill_the_memory(
    server: Server,
) -> None:
    assert_served(server)
    process = psutil.Process(os.getpid())
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 30}
    topics = [{"topic": "clicks", "partitions": [partition]}]
    fetch = FETCH.request.encode({"maxBytes": 1 << 30, "topics": topics}, ZSTD_SINCE)
    with connect(server) as client:  # compiles and reads what the first fetch needs
        client.sendall(frame(FETCH.key, ZSTD_SINCE, fetch))
        answer = receive(client)
        assert answer is not None
        assert MIB // 2 < len(answer) < 2 * MIB
    before = process.memory_info().rss
    with ExitStack() as stack:
        for _ in range(15):
            client = stack.enter_context(connect(server))
            client.settimeout(0.2)
            with suppress(TimeoutError):  # the server does not read it: others fill the queue
                client.sendall(SIZE.pack(MIB) + b"x" * (MIB - 1))
            reader = stack.enter_context(connect(server))
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.sendall(frame(FETCH.key, ZSTD_SINCE, fetch) * 20)
        assert_served(server)
        assert process.memory_info().rss - before < 60 * MIB
