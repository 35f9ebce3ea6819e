"""Requests that no client sends, by a seed: sound in form with any values, mutated, and random.

`Attack` sends them over many connections at once, and reads what comes back.
"""

import selectors
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from workbench.record.message_schema import Field, Struct
from workbench.record.writing.builder import RecordsBuilder
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_KEYS, FETCH, JOIN_GROUP, PRODUCE, SYNC_GROUP
from workbench.server.protocol.frames import SIZE

CONNECTIONS: Final = 24
AHEAD: Final = 6  # frames that a connection sends before it reads
PATIENCE: Final = 0.2  # seconds
MOST_ITEMS: Final = 3
SHARE: Final = 0.02  # of sendings that end in the middle, and of those that half-close
_INTS: Final = (
    -1, 0, 1, 2, 3, 5, 100, 1 << 14, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 2, (1 << 63) - 1,
    1 << 63, (1 << 31) - 1, (1 << 15) - 1, 1 << 15,
)  # fmt: skip
_SIZES: Final = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "int64": 64}
_NAMES: Final = (
    "orders", "payments", "clicks", "__consumer_offsets", "__transaction_state",
    "__cluster_metadata", "order-dashboard", "payment-service", "made", "other", "member",
    "range", "consumer", "retention.ms", "cleanup.policy", "compact", "segment.bytes",
    "read_committed", "Ongoing", "", ".", "..", "../outside", "/outside", "a/b", "a\0b", "é",
    "orders-0", "orders-0.0123456789abcdef0123456789abcdef-delete", "x" * 249, "x" * 250, "9" * 400,
)  # fmt: skip
CUT: Final = -1
"""Stands for the API of a frame that ends in the middle."""

WAIT: Final = frozenset({FETCH.key, JOIN_GROUP.key, SYNC_GROUP.key, PRODUCE.key, CUT})
"""APIs whose answer may come when the client's own timeout is over, or never (acks=0)."""

_COPIES: Final = (10, 300, 3_000, 20_000)
_MOST_BYTES: Final = 1_900_000  # of a frame; a server that only reads takes 2 MiB
_LONGEST: Final = 15_000  # characters of a text, some of two bytes
_PIECE: Final = 1 << 18  # bytes that are sent or received at a time
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def frame(key: int, version: int, body: bytes, *, is_flexible: bool = False) -> bytes:
    """Return a request of a client named "test"."""
    header = struct.pack(">hhih", key, version, 7, 4) + b"test" + (b"\0" if is_flexible else b"")
    return SIZE.pack(len(header) + len(body)) + header + body


class Frames:
    """Frames by a seed.

    Args:
        seed: of the choices.
        topic_ids: ids of topics that there are.
    """

    def __init__(self, seed: int, topic_ids: Sequence[str] = ()) -> None:
        self._rng = Random(seed)
        self._ids = (*topic_ids, "A" * 22, "B" * 22)
        self._apis = tuple(API_KEYS.values())

    def next(self) -> bytes:
        """Return the next frame."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.03:
            return SIZE.pack(size := rng.randrange(200)) + rng.randbytes(size)
        made = self._sound(rng.choice(self._apis))
        if kind < 0.25:
            mutated = bytearray(made)
            for _ in range(rng.randint(1, 5)):
                at = rng.randrange(4, len(mutated))
                mutated[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            return bytes(mutated)
        return made

    def _sound(self, api: Api) -> bytes:
        version = self._rng.randint(api.lowest, api.highest)
        values = self._struct(api.request.struct(version))
        flexible = api.is_flexible(version)
        return frame(api.key, version, api.request.encode(values, version), is_flexible=flexible)

    def _struct(self, of: Struct) -> dict[str, Any]:
        return {each.name: self._value(each) for each in of.fields}

    def _value(self, of: Field) -> Any:
        rng = self._rng
        if of.is_nullable and rng.random() < 0.2:
            return None
        if of.is_array:
            return [self._item(of) for _ in range(rng.randint(0, MOST_ITEMS))]
        return self._item(of)

    def _item(self, of: Field) -> Any:
        rng = self._rng
        if not isinstance(of.type, str):
            return self._struct(of.type)
        if of.type in _SIZES:
            bits = _SIZES[of.type]
            value = rng.choice(_INTS) if rng.random() < 0.7 else rng.getrandbits(bits)
            value &= (1 << bits) - 1
            is_signed = of.type != "uint16" and value >> (bits - 1)
            return value - (1 << bits) if is_signed else value
        if of.type == "string":
            return rng.choice(_NAMES)
        if of.type == "records":
            return self._records()
        if of.type == "bytes":
            return rng.randbytes(rng.randrange(40))
        return {"bool": rng.random() < 0.5, "uuid": rng.choice(self._ids), "float64": rng.random()}[
            of.type
        ]

    def _records(self) -> bytes:
        """Return a batch, mutated now and then."""
        rng = self._rng
        producer: dict[str, Any] = {}
        if rng.random() < 0.6:
            producer = {
                "producer_id": rng.choice((0, 1, 5, 1000)),
                "producer_epoch": rng.choice((0, 1, 5)),
                "base_sequence": rng.choice((0, 1, 7, (1 << 31) - 1)),
                "is_transactional": rng.random() < 0.5,
            }
        builder = RecordsBuilder(codec=rng.choice(_CODECS), **producer)
        for _ in range(rng.randint(1, 4)):
            time_ms = rng.choice((0, 1, 1_700_000_000_000, (1 << 62)))
            builder.append(time_ms, rng.choice((None, b"", b"key")), rng.randbytes(20))
        data = bytearray(builder.build().buffer.tobytes())
        if rng.random() < 0.4:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)


class Amplified(Frames):
    """Valid requests that ask for much: an element again and again, and long names.

    Args:
        seed, topic_ids: see `Frames`.
    """

    def __init__(self, seed: int, topic_ids: Sequence[str] = ()) -> None:
        super().__init__(seed, topic_ids)
        self._is_repeated = False

    def next(self) -> bytes:
        """Return the next frame."""
        while True:
            self._is_repeated = False
            made = self._sound(self._rng.choice(self._apis))
            if len(made) < _MOST_BYTES:
                return made

    def _value(self, of: Field) -> Any:
        if of.is_array and not self._is_repeated and self._rng.random() < 0.5:
            self._is_repeated = True  # one array alone: the frame has a size
            return [self._item(of)] * self._rng.choice(_COPIES)
        return super()._value(of)

    def _item(self, of: Field) -> Any:
        if of.type == "string" and self._rng.random() < 0.05:
            return (self._rng.choice(_NAMES) * self._rng.choice((10, 100)))[:_LONGEST]
        return super()._item(of)


@dataclass
class Traffic:
    """What an attack did.

    Attributes:
        sent: frames.
        answered: responses.
        ended: connections that the server ended.
        left: connections that waited for an answer until the client had enough.
        slow: API key → seconds of its slowest answer, where connections send one frame at a time;
            by the attack's clock.
    """

    sent: int = 0
    answered: int = 0
    ended: int = 0
    left: int = 0
    slow: dict[int, float] = field(default_factory=dict)


@dataclass
class _Client:
    socket: socket.socket
    waiting: int = 0  # answers that are still to come
    key: int = CUT  # of the API that it has asked last
    asked: float | None = None  # when the last byte was sent; None: some are still to be sent
    since: float = 0.0  # when something was sent or received
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    is_last: bool = False  # nothing is sent after this
    received: bytearray = field(default_factory=bytearray)

    def send(self) -> None:
        """Send what the server takes now."""
        try:
            self.unsent = self.unsent[self.socket.send(self.unsent[:_PIECE]) :]
            if not self.unsent and self.is_last:
                self.socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:  # the server has ended it; the next read tells
            self.unsent = memoryview(b"")

    def receive(self) -> int | None:
        """Return how many answers have come; None where the connection has ended."""
        try:
            data = self.socket.recv(_PIECE)
        except BlockingIOError:
            return 0
        except OSError:
            return None
        self.received += data
        count = 0
        while len(self.received) >= SIZE.size:
            end = SIZE.size + SIZE.unpack_from(self.received)[0]
            if len(self.received) < end:
                break
            del self.received[:end]
            count += 1
        return count if data else None


class Attack:
    """Sends frames to a server over some connections at once.

    Args:
        port: of the server.
        make: returns a frame.
        seed: when connections end in the middle of a frame, or are half-closed.
        ahead: most frames that a connection sends before it reads.
        patience: seconds for an answer, but for requests that may wait; then the connection ends,
            as those of real clients do.
        clock: returns seconds; what it measures is that of the answers.
    """

    def __init__(
        self,
        port: int,
        make: Callable[[], bytes],
        *,
        seed: int = 0,
        ahead: int = AHEAD,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._patience = patience
        self._port = port
        self._make = make
        self._ahead = ahead
        self._rng = Random(seed)
        self._traffic = Traffic()
        self._count = 0
        self._selector = selectors.DefaultSelector()

    def run(self, count: int) -> Traffic:
        """Send some frames, and read the answers."""
        self._count = count
        with self._selector:
            for _ in range(CONNECTIONS):
                self._connect()
            while self._selector.get_map():
                for key, events in self._selector.select(min(self._patience, 1.0)):
                    if events & selectors.EVENT_WRITE:
                        self._send(key.data)
                    if events & selectors.EVENT_READ:
                        self._read(key.data)
                now = self._clock()
                for client in [each.data for each in self._selector.get_map().values()]:
                    if now - client.since > (PATIENCE if client.key in WAIT else self._patience):
                        self._traffic.left += 1
                        self._note_time(client)
                        self._end(client)
        return self._traffic

    def _read(self, client: _Client) -> None:
        answers = client.receive()
        if answers is None:
            self._traffic.ended += 1
            self._end(client)
            return
        client.since = self._clock()
        self._traffic.answered += answers
        if answers:
            self._note_time(client)
        client.waiting -= answers
        if client.waiting <= 0:
            if self._traffic.sent < self._count:
                self._ask(client)
            else:
                self._end(client)

    def _note_time(self, client: _Client) -> None:
        if client.asked is not None:
            taken = self._clock() - client.asked
            self._traffic.slow[client.key] = max(taken, self._traffic.slow.get(client.key, 0.0))

    def _connect(self) -> None:
        client = _Client(socket.create_connection(("127.0.0.1", self._port)))
        client.socket.settimeout(0)  # it does not block
        self._selector.register(client.socket, selectors.EVENT_READ, client)
        self._ask(client)

    def _ask(self, client: _Client) -> None:
        frames = [self._make() for _ in range(self._rng.randint(1, self._ahead))]
        self._traffic.sent += len(frames)
        data = b"".join(frames)
        chance = self._rng.random()
        is_cut = chance < SHARE  # so that nothing answers it
        client.key = CUT if is_cut else int.from_bytes(frames[-1][4:6])
        end = self._rng.randrange(len(data)) if is_cut else len(data)
        client.unsent, client.is_last = memoryview(data)[:end], chance > 1 - SHARE
        client.waiting, client.asked = len(frames), None
        self._send(client)

    def _send(self, client: _Client) -> None:
        """Send more; the answers are read meanwhile, or the server would wait for this client."""
        client.send()
        client.since = self._clock()
        if client.unsent:
            events = selectors.EVENT_READ | selectors.EVENT_WRITE
        else:
            client.asked, events = client.since, selectors.EVENT_READ
        self._selector.modify(client.socket, events, client)

    def _end(self, client: _Client) -> None:
        self._selector.unregister(client.socket)
        client.socket.close()
        if self._traffic.sent < self._count:
            self._connect()
