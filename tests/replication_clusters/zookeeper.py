"""What ZooKeeper holds at a path: the two requests that a recording of an old cluster needs.

Source: zookeeper.jute (`ConnectRequest`, `GetDataRequest`).
"""

import socket
import struct

GET_DATA = 4
NO_NODE = -101
SESSION_MS = 4000


def get_data(port: int, path: str) -> bytes | None:
    """Return the data of a node; None if there is no such node.

    Raises:
        OSError: ZooKeeper does not answer.
    """
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        _send(connection, struct.pack(">iqiqi", 0, 0, SESSION_MS, 0, 16) + bytes(16))
        _receive(connection)
        name = path.encode()
        _send(connection, struct.pack(">iii", 1, GET_DATA, len(name)) + name + b"\0")
        answer = _receive(connection)
        _send(connection, struct.pack(">ii", 2, -11))  # close the session
        _receive(connection)
    _, _, error = struct.unpack_from(">iqi", answer)
    if error == NO_NODE:
        return None
    if error:
        raise OSError(f"ZooKeeper answered {error} about {path}")
    (size,) = struct.unpack_from(">i", answer, 16)
    return answer[20 : 20 + size]


def _send(connection: socket.socket, packet: bytes) -> None:
    connection.sendall(struct.pack(">i", len(packet)) + packet)


def _receive(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("ZooKeeper closed the connection")
        received += part
    return received
