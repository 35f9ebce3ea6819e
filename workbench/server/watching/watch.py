"""The last requests of a server with their bytes, kept as long as someone watches.

Kafka: RequestChannel, the request log of RequestConvertToJson (4.0)
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, overload

from workbench.runtime.error_codes import ErrorCode
from workbench.server.events import MOST_FRAME_BYTES, Exchange, RequestDone
from workbench.server.logs.catalog import TopicCatalog
from workbench.server.protocol.api_keys import SASL_AUTHENTICATE
from workbench.server.protocol.frames import SIZE
from workbench.server.request_trace import RequestTrace

MOST_REQUESTS: Final = 1000
"""Requests that a watch keeps by default."""

_MOST_BYTES: Final = 64 << 20  # of all requests and responses that are kept
_MOST_NAMES: Final = 50  # topics, and partitions, that are kept of one request
_MOST_LOOKED_AT: Final = 20_000  # values of a response, in the search for its error
_TOPIC_LISTS: Final = ("topics", "topicData", "responses")
_PARTITION_LISTS: Final = ("partitions", "partitionResponses")
_GROUPS: Final = ("groupId", "key", "transactionalId")
_GROUP_LISTS: Final = ("groups", "coordinatorKeys", "transactionalIds")

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WatchedRequest:
    """A request that was answered, or that ended its connection.

    Attributes:
        number: from 1 on.
        received_ms: when its last byte was there, epoch ms.
        done: its kind, client, sizes and times.
        frame, response: both sides with their sizes, at most 64 KiB of each; empty if nothing was
            sent, or if it may hold a password.
        topics: names of topics in the request, the first 50.
        group: the group or transactional id in it; "" without one.
        error: name of the first error in the response; "" without one.
        asked: of Fetch, topic, partition and fields of the first 50 that it reads, in this order;
            those of its session, too.
        answers: of Fetch, ListOffsets and Produce, the fields of the first 50 partitions in the
            response with ``topic`` and ``place``, their numbers in it; ``records`` is a number of
            bytes.
        catalog: the topics that are served.
        max_fetch_bytes: records in a response at most, see `ServerLimits`.
    """

    number: int
    received_ms: int
    done: RequestDone
    frame: bytes = field(repr=False)
    response: bytes = field(repr=False)
    topics: tuple[str, ...]
    group: str
    error: str
    asked: tuple[tuple[str, int, Values], ...] = field(repr=False)
    answers: tuple[Values, ...] = field(repr=False)
    catalog: TopicCatalog = field(repr=False)
    max_fetch_bytes: int

    @property
    def kept_bytes(self) -> int:
        """Bytes of both sides that are kept."""
        return len(self.frame) + len(self.response)


class RequestWatch(Sequence[WatchedRequest]):
    """The last requests of a server, the oldest first; threads may share it.

    Args:
        catalog: returns the topics that are served.
        most: how many requests are kept.
        max_fetch_bytes: records in a response at most, see `ServerLimits`.

    Attributes:
        total: how many requests there were.
    """

    def __init__(
        self, catalog: Callable[[], TopicCatalog], most: int, max_fetch_bytes: int
    ) -> None:
        self._catalog = catalog
        self._max_fetch_bytes = max_fetch_bytes
        self._kept: deque[WatchedRequest] = deque()
        self._most = most
        self._bytes = 0
        self._lock = threading.Lock()
        self._told: list[Callable[[], None]] = []
        self.total = 0

    def __repr__(self) -> str:
        return f"<RequestWatch {len(self)} of {self.total} requests>"

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, at: int) -> WatchedRequest: ...

    @overload
    def __getitem__(self, at: slice) -> list[WatchedRequest]: ...

    def __getitem__(self, at: int | slice) -> WatchedRequest | list[WatchedRequest]:
        kept = self.kept()
        return kept[at]

    def __iter__(self) -> Iterator[WatchedRequest]:
        return iter(self.kept())

    def kept(self) -> list[WatchedRequest]:
        """Return the requests that are kept now."""
        with self._lock:
            return list(self._kept)

    def on_request(self, act: Callable[[], None]) -> Callable[[], None]:
        """Call a function after each request, in the server's thread; return what ends that."""
        self._told.append(act)
        return lambda: self._told.remove(act) if act in self._told else None

    def add(self, done: RequestDone, trace: RequestTrace, exchange: Exchange) -> None:
        """Keep a request, and drop the oldest if there are too many."""
        request, values = exchange.request, exchange.values or {}
        is_secret = request is not None and request.api is SASL_AUTHENTICATE
        catalog = self._catalog()
        asked = {} if request is None or is_secret else request.values
        read = tuple(trace.asked[:_MOST_NAMES])
        frame = [SIZE.pack(exchange.request_bytes), exchange.frame] if exchange.frame else []
        made = WatchedRequest(
            self.total + 1,
            trace.received_ms,
            done,
            b"" if is_secret else _cut(frame),
            b"" if is_secret else _cut(exchange.parts),
            tuple(dict.fromkeys((*_topics_in(asked, catalog), *(each[0] for each in read)))),
            _group_in(asked),
            _error_in(values),
            read,
            _answers_in(values, catalog),
            catalog,
            self._max_fetch_bytes,
        )
        with self._lock:
            self.total += 1
            self._kept.append(made)
            self._bytes += made.kept_bytes
            while len(self._kept) > max(1, self._most) or self._bytes > _MOST_BYTES:
                self._bytes -= self._kept.popleft().kept_bytes
        for act in list(self._told):
            act()


def _cut(parts: Sequence[bytes]) -> bytes:
    """Return the beginning of parts, joined."""
    left, kept = MOST_FRAME_BYTES, []
    for part in parts:
        kept.append(part[:left])
        left -= len(kept[-1])
        if not left:
            break
    return b"".join(kept)


def _name_of(topic: Any, catalog: TopicCatalog) -> str:
    """Return the name of a topic in a message, which has its name, its id, or is the name."""
    if not isinstance(topic, dict):
        return str(topic)
    name = topic.get("name") or topic.get("topic")
    return str(name or catalog.names_by_id.get(topic.get("topicId", ""), topic.get("topicId", "")))


def _list_of(values: Values, names: Sequence[str]) -> list[Any]:
    found = (values.get(name) for name in names)
    return next((each for each in found if isinstance(each, list)), [])


def _topics_in(values: Values, catalog: TopicCatalog) -> tuple[str, ...]:
    topics = _list_of(values, _TOPIC_LISTS)[:_MOST_NAMES]
    return tuple(dict.fromkeys(_name_of(topic, catalog) for topic in topics))


def _group_in(values: Values) -> str:
    one = next((values[name] for name in _GROUPS if isinstance(values.get(name), str)), None)
    if one is not None:
        return str(one)
    many = _list_of(values, _GROUP_LISTS)[:_MOST_NAMES]
    names = [each.get("groupId", "") if isinstance(each, dict) else str(each) for each in many]
    return ", ".join(names)


def _answers_in(values: Values, catalog: TopicCatalog) -> tuple[Values, ...]:
    """Return the partitions of a response, without their records."""
    found = (
        {"topic": _name_of(topic, catalog), "place": (number, at), **partition}
        for number, topic in enumerate(_list_of(values, _TOPIC_LISTS))
        if isinstance(topic, dict)
        for at, partition in enumerate(_list_of(topic, _PARTITION_LISTS))
        if isinstance(partition, dict)
    )
    return tuple(
        {**each, "records": len(each["records"] or b"")} if "records" in each else each
        for each in itertools.islice(found, _MOST_NAMES)
    )


def _error_in(values: Values) -> str:
    """Return the name of the first error in a response."""
    waiting: list[Any] = [values]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            break
        each = waiting.pop()
        if isinstance(each, list):
            waiting += reversed(each[:_MOST_LOOKED_AT])
        elif isinstance(each, dict):
            code = each.get("errorCode", 0)
            if code:
                return ErrorCode(code).name
            waiting += (part for part in each.values() if isinstance(part, dict | list))
    return ""
