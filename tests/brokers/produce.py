"""Produce requests sent by hand: with a producer id, epoch and sequence of one's own choice."""

import socket
import struct
from typing import NamedTuple

from tests.waiting import wait_until

PRODUCE, VERSION = 0, 7
NOT_THERE_YET = {3, 6}  # unknown partition, not its leader: of a broker that has just started
OUT_OF_ORDER_SEQUENCE = 45
INVALID_PRODUCER_EPOCH = 47


class Answer(NamedTuple):
    """What a broker said to a batch: 0 or an error's number, and the offset of its first record."""

    error: int
    base_offset: int


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def produce(bootstrap: str, topic: str, batch: bytes) -> Answer:
    """Send one batch to partition 0 of a topic, until the broker leads it; return the answer."""
    answers: list[Answer] = []

    def is_answered() -> bool:
        answers.append(_send(bootstrap, topic, batch))
        return answers[-1].error not in NOT_THERE_YET

    wait_until(is_answered)
    return answers[-1]


def _send(bootstrap: str, topic: str, batch: bytes) -> Answer:
    host, port = bootstrap.split(":")
    partition = struct.pack(">ii", 0, len(batch)) + batch
    body = struct.pack(">hhii", -1, -1, 30_000, 1) + _text(topic) + struct.pack(">i", 1) + partition
    request = struct.pack(">hhi", PRODUCE, VERSION, 1) + _text("by hand") + body
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _receive(connection, 4))
        answer = _receive(connection, size)
    at = 4 + 4 + 2 + len(topic) + 4  # correlation id, topics, name, partitions
    _, error, base_offset = struct.unpack_from(">ihq", answer, at)
    return Answer(error, base_offset)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the broker closed the connection")
        received += part
    return received
