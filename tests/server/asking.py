"""Requests as they are, to a server of ours or a broker: the fields in, the fields out."""

import socket
import time
from typing import Any, Self

from tests.waiting import HANGS_AFTER_S
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_VERSIONS, FIND_COORDINATOR
from workbench.server.protocol.frames import SIZE

Values = dict[str, Any]


class Asker:
    """One connection. Use it in a ``with`` statement.

    Args:
        where: "host:port".
        patience: seconds for an answer.
    """

    def __init__(self, where: str, patience: float = 120.0) -> None:
        host, port = where.split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=patience)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, api: Api, version: int, values: Values) -> Values:
        """Return the response to a request."""
        self._count += 1
        is_flexible = api.is_flexible(version)
        header = [n.to_bytes(2) for n in (api.key, version)]
        header += [self._count.to_bytes(4), b"\0\4test", b"\0" * is_flexible]
        body = b"".join([*header, api.request.encode(values, version)])
        self._socket.sendall(SIZE.pack(len(body)) + body)
        (size,) = SIZE.unpack(self._receive(SIZE.size))
        frame = self._receive(size)
        assert int.from_bytes(frame[:4]) == self._count
        at = 4 + (is_flexible and api is not API_VERSIONS)
        found, end = api.response.decode(frame, version, at)
        assert end == size
        return found

    def _receive(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            piece = self._socket.recv(size - len(found))
            assert piece, "the connection ended"
            found += piece
        return bytes(found)


def find_coordinator(asker: Asker, kind: int, key: str) -> None:
    """Ask until there is a coordinator, as clients do: its topic is made at the first request.

    Args:
        asker: a connection.
        kind: 0: of groups; 1: of transactions.
        key: the group or transactional id.
    """
    deadline = time.monotonic() + HANGS_AFTER_S
    asked = {"keyType": kind, "coordinatorKeys": [key]}
    while True:
        (found,) = asker.ask(FIND_COORDINATOR, 4, asked)["coordinators"]
        if found["errorCode"] == ErrorCode.NONE:
            return
        assert found["errorCode"] == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert time.monotonic() < deadline
        time.sleep(0.05)
