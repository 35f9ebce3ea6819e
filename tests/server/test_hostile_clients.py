"""Bytes that no client sends: other clients are served, and memory stays within its limits."""

import gc
import json
import logging
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import psutil
import pytest

import workbench
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until
from tests.server.hostile import Attack, Frames, frame
from tests.trees import changes
from tests.waiting import HANGS_AFTER_S, wait_until
from workbench.record import varint
from workbench.server.events import Event, RequestDone
from workbench.server.limits import ServerLimits
from workbench.server.protocol.api_keys import API_KEYS, API_VERSIONS, FETCH, METADATA
from workbench.server.protocol.frames import SIZE
from workbench.server.server import Server

MIB = 1 << 20
ZSTD_SINCE = 10  # version of Fetch
FEW_FILES = 100
LIMITS = ServerLimits(
    max_connections=60,
    max_request_bytes=MIB,
    max_queued_bytes=4 * MIB,
    max_fetch_bytes=MIB,
    max_memory_bytes=4 * MIB,
    receive_seconds=0.5,
    max_wait_ms=500,
)


@pytest.fixture
def events() -> list[Event]:
    return []


both = pytest.mark.parametrize("server", ["read-only", "writable"], indirect=True)


@pytest.fixture
def server(
    request: pytest.FixtureRequest,
    events: list[Event],
    workplace: Path,
    caplog: pytest.LogCaptureFixture,
) -> Iterator[Server]:
    """Return a server that must still serve, and must have left everything else as it was."""
    served, is_writable = SHOP, getattr(request, "param", "") == "writable"
    if is_writable:
        served = workplace / "shop"
        shutil.copytree(SHOP, served)
    before = changes(SHOP)
    is_attacked = hasattr(request, "param")  # by clients that leave: their places are kept a while
    limits = replace(LIMITS, max_connections=1000) if is_attacked else LIMITS
    limited = workbench.serve(served, limits=limits, observe=events.append, writable=is_writable)
    with limited as running:
        yield running
        assert_served(running)
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert changes(SHOP) == before
    if is_writable:
        assert os.listdir(served.parent) == ["shop"]
        # More partitions for an internal topic, which a broker allows, too, leave warnings.
        assert [each for each in workbench.verify(served) if each.severity == "error"] == []
        with workbench.serve(served, writable=True) as again:
            assert_served(again)


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=HANGS_AFTER_S)


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
    deadline = time.monotonic() + HANGS_AFTER_S
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
    ]


@both
def test_every_request_with_default_fields_is_answered_or_ends_its_connection(
    server: Server, events: list[Event]
) -> None:
    requests = every_request()
    Attack(server.port, cycle(requests).__next__, ahead=1).run(2 * len(requests))
    done = {event.api for event in events if isinstance(event, RequestDone)}
    assert done >= {api.name for api in API_KEYS.values()}


@both
def test_any_values_mutated_and_random_frames_hurt_nobody(
    server: Server, events: list[Event]
) -> None:
    topic_ids = [server.catalog.topic_id(name) for name in server.catalog.topics]
    traffic = Attack(server.port, Frames(7, topic_ids).next, seed=7).run(5000)
    assert traffic.answered > traffic.sent / 4  # one that is not ends its connection
    answered = {each.api for each in events if isinstance(each, RequestDone)}
    assert answered >= {api.name for api in API_KEYS.values()}


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


def test_tagged_fields_without_end_end_the_connection(server: Server) -> None:
    many, few = 300_000, 200
    for count, is_answered in ((many, False), (few, True)):
        tags = varint.encode_unsigned(count)
        tags += b"".join(varint.encode_unsigned(tag + 10) + b"\0" for tag in range(count))
        body = METADATA.request.encode({"topics": None}, 9)
        assert body[-1:] == b"\0"  # no tagged fields
        for request in (
            frame(METADATA.key, 9, body[:-1] + tags, is_flexible=True),
            frame(METADATA.key, 9, tags + body, is_flexible=False),
        ):
            with connect(server) as client:
                client.sendall(request)
                assert (receive(client) is not None) is is_answered


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
    wait_until(lambda: server.connection_count == 0)


def test_too_many_connections_are_closed_at_once(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(LIMITS.max_connections):
            client = stack.enter_context(connect(server))
            client.sendall(frame(API_VERSIONS.key, 0, b""))
            assert receive(client) is not None
        assert server.connection_count == LIMITS.max_connections
        with connect(server) as one_more:
            assert receive(one_more) is None


def test_a_server_that_ends_while_clients_come_closes_all_of_their_sockets() -> None:
    for _ in range(10):
        with workbench.serve(SHOP) as server, ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(connect(server))
            server.stop()
    gc.collect()  # an open socket is a warning where it is collected, and so an error here


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open 8,000 files, if the machine allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8_000 if hard == resource.RLIM_INFINITY else min(8_000, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_two_thousand_connections_do_not_disturb_who_was_there() -> None:
    expected = len(workbench.open_log_directory(SHOP).scan(topics="orders").to_arrow())
    with workbench.serve(SHOP) as server, consuming(server, "orders") as consumer:
        found = poll_until(consumer, 1)
        with ExitStack() as stack:
            for _ in range(2_000):
                stack.enter_context(connect(server))
            assert server.connection_count <= 500
            found += poll_until(consumer, expected - len(found))
    assert len(found) == expected


@both
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
        assert MIB // 3 < len(answer) < 2 * MIB
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


def test_clients_that_take_every_file_leave_enough_for_logs(tmp_path: Path) -> None:
    """Of 500 connections, those that leave the process no files are closed at once."""
    serve = f"exec {sys.executable} -m workbench.cli.main serve --json {SHOP}"
    command = ["sh", "-c", f"ulimit -n {FEW_FILES} && {serve}"]
    errors = tmp_path / "errors"
    with (
        errors.open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())["bootstrap"]
        host, port = where.split(":")
        with ExitStack() as stack:
            for _ in range(500):
                stack.enter_context(socket.create_connection((host, port), timeout=HANGS_AFTER_S))
            assert psutil.Process(process.pid).num_fds() <= FEW_FILES - 60
        expected = workbench.open_log_directory(SHOP).scan(topics="orders").to_arrow()
        with consuming(where, "orders") as consumer:
            assert len(poll_until(consumer, len(expected))) == len(expected)
        process.terminate()
        process.communicate()
    assert process.returncode == 0
    assert errors.read_bytes() == b""
