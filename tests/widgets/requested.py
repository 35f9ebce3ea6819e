"""Requests by hand, for a server that is watched."""

import socket
import struct
from types import TracebackType
from typing import Any, Self

from tests.waiting import wait_until
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_VERSIONS, FETCH, LIST_OFFSETS, METADATA
from workbench.server.protocol.frames import SIZE
from workbench.server.server import Server
from workbench.server.watching.watch import RequestWatch, WatchedRequest

MIB = 1 << 20


class Client:
    """A client that sends one request after the other, each when the one before is answered."""

    def __init__(self, server: Server, client_id: str = "test") -> None:
        self._watch = server.watch()
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=90)
        self._id = client_id.encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, api: Api, version: int, values: dict[str, Any]) -> WatchedRequest:
        """Send a request, and return what the watch keeps of it."""
        tags = b"\0" if api.is_flexible(version) else b""
        header = struct.pack(">hhih", api.key, version, 7, len(self._id)) + self._id + tags
        return self.send(header + api.request.encode(values, version))

    def send(self, frame: bytes) -> WatchedRequest:
        """Send a frame, and return what the watch keeps of it."""
        before = self._watch.total
        self._socket.sendall(SIZE.pack(len(frame)) + frame)
        size = SIZE.unpack(self._take(SIZE.size) or SIZE.pack(0))[0]
        self._take(size)
        wait_until(lambda: self._watch.total > before)
        return self._watch[-1]

    def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (more := self._socket.recv(size - len(data))):
            data += more
        return data


def fetch(
    client: Client,
    *offsets: int,
    topic: str = "orders",
    version: int = 12,
    partition_bytes: int = MIB,
    **values: Any,
) -> WatchedRequest:
    """Fetch partitions 0, 1, … of a topic from these offsets."""
    partitions = [
        {"partition": number, "fetchOffset": offset, "partitionMaxBytes": partition_bytes}
        for number, offset in enumerate(offsets)
    ]
    asked: dict[str, Any] = {
        "maxWaitMs": 0,
        "minBytes": 1,
        "maxBytes": 50 * MIB,
        "isolationLevel": 1,
    }
    topics = [{"topic": topic, "partitions": partitions}] if partitions else []
    asked |= {"sessionEpoch": -1, "topics": topics, **values}
    return client.ask(FETCH, version, asked)


def list_offsets(client: Client, *timestamps: int, topic: str = "clicks") -> WatchedRequest:
    """Ask for the offsets of times in partitions 0, 1, … of a topic."""
    partitions = [
        {"partitionIndex": number, "timestamp": timestamp}
        for number, timestamp in enumerate(timestamps)
    ]
    topics = [{"name": topic, "partitions": partitions}]
    return client.ask(LIST_OFFSETS, 7, {"replicaId": -1, "topics": topics})


def watched(server: Server) -> RequestWatch:
    """Let a client ask for versions, metadata, offsets and records; return what is kept of it."""
    watch = server.watch()
    with Client(server, "tea-shop") as client:
        client.ask(API_VERSIONS, 3, {"clientSoftwareName": "t", "clientSoftwareVersion": "1"})
        client.ask(METADATA, 9, {"topics": [{"name": "orders"}]})
        list_offsets(client, 0, -1)
        fetch(client, 600, 600)
        fetch(client, 1 << 40)
        fetch(client, 10**9, topic="no such topic")
        fetch(client, 1588, maxWaitMs=60)
    return watch
