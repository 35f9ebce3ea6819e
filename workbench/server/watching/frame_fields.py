"""The bytes of a request and its response by name, headers included.

Kafka: RequestHeader, ResponseHeader, ApiMessageType (4.0)
"""

from typing import Any, Final, NamedTuple

from workbench.inspection.bytes.fields import Field
from workbench.record.message_schema import Message, declare
from workbench.record.message_spans import Path, Span, message_spans
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.times import time_text
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_KEYS
from workbench.server.protocol.cluster_messages import API_VERSIONS
from workbench.server.watching.watch import WatchedRequest

MOST_FIELDS: Final = 3000
"""Fields of a request, or of a response, that are named; the rest is one."""

SPECIAL_TIMES: Final = {
    -1: "latest",
    -2: "earliest",
    -3: "largest timestamp",
    -4: "earliest local",
    -5: "latest tiered",
}
"""Numbers that ListOffsets takes for a timestamp."""

_REQUEST_HEADER: Final = declare(
    "RequestHeader",
    """
    size: int32
    requestApiKey: int16
    requestApiVersion: int16
    correlationId: int32
    clientId: ?string
    """,
    flexible=None,
)
_RESPONSE_HEADER: Final = declare(
    "ResponseHeader", "size: int32\ncorrelationId: int32", flexible=None
)
_TAGGED_FIELDS: Final = declare("TaggedFields", "")
_KEY, _VERSION = slice(4, 6), slice(6, 8)
_ERRORS: Final = {each.value: each.name for each in ErrorCode}
_ISOLATIONS: Final = {0: "read_uncommitted", 1: "read_committed"}
_NOTES: Final = {
    "size": "bytes that follow",
    "records": "batches as they are in the log",
}


class NamedFrame(NamedTuple):
    """One side of an exchange with a name for each byte.

    Attributes:
        data: the bytes, from the size on.
        fields: in the order of the bytes, structs and arrays before what they hold.
        places: path of a field → its bytes, [start, end); ``("header",)`` and ``("body",)``, too.
        full_size: bytes of the whole frame, of which ``data`` may be the beginning.
    """

    data: bytes
    fields: list[Field]
    places: dict[Path, tuple[int, int]]
    full_size: int

    @property
    def is_cut(self) -> bool:
        """Whether only the beginning was kept."""
        return len(self.data) < self.full_size


def name_request(watched: WatchedRequest) -> NamedFrame:
    """Return a request with the names of its bytes."""
    known = _known(watched)
    message = None if known is None else known[0].request
    full_size = watched.done.request_bytes + 4 if watched.frame else 0
    return _named(watched.frame, full_size, _REQUEST_HEADER, message, known)


def name_response(watched: WatchedRequest) -> NamedFrame:
    """Return a response with the names of its bytes."""
    known = _known(watched)
    message = None if known is None else known[0].response
    full_size = watched.done.response_bytes if watched.response else 0
    return _named(watched.response, full_size, _RESPONSE_HEADER, message, known)


def _known(watched: WatchedRequest) -> tuple[Api, int] | None:
    """Return the kind and version of the messages; None if they are unknown."""
    key, version = (int.from_bytes(watched.frame[part], signed=True) for part in (_KEY, _VERSION))
    api = API_KEYS.get(key) if len(watched.frame) >= _VERSION.stop else None
    if api is API_VERSIONS and not api.knows(version):
        return api, 0  # in which an unknown version is answered
    return (api, version) if api is not None and api.knows(version) else None


def _named(
    data: bytes,
    full_size: int,
    header: Message,
    message: Message | None,
    known: tuple[Api, int] | None,
) -> NamedFrame:
    spans, at = message_spans(header, data, 0, most=MOST_FIELDS)
    if message is None or known is None:
        body: list[Span] = []
        end = len(data)
    else:
        api, version = known
        is_plain = api is API_VERSIONS and header is _RESPONSE_HEADER
        if api.is_flexible(version) and not is_plain:
            tags, at = message_spans(_TAGGED_FIELDS, data, 0, at, most=MOST_FIELDS)
            spans += tags
        body, end = message_spans(message, data, version, at, most=MOST_FIELDS)
    groups = [(Span(("header",), 0, at, None), spans), (Span(("body",), at, len(data), None), body)]
    fields, places = [], {}
    for group, parts in groups:
        if group.start == group.end:
            continue
        fields.append(_field(group, 0, is_request=True))
        places[group.path] = (group.start, group.end)
        for span in parts:
            fields.append(_field(span, len(span.path), is_request=header is _REQUEST_HEADER))
            places[span.path] = (span.start, span.end)
    if end < len(data):
        note = "bytes after the last field"
        fields.append(Field("rest", end, len(data) - end, None, note, 1, is_wrong=True))
    return NamedFrame(data, fields, places, full_size)


def _field(span: Span, level: int, *, is_request: bool) -> Field:
    name = span.path[-1]
    shown = f"{span.path[-2]} {name}" if isinstance(name, int) else name
    size = span.end - span.start
    return Field(shown, span.start, size, span.value, _note(str(name), span, is_request), level)


def _note(name: str, span: Span, is_request: bool) -> str:  # noqa: FBT001  # which side it is
    """Say what a value means, where that is a list of names or a time."""
    value: Any = span.value
    if name == "errorCode" and isinstance(value, int):
        return _ERRORS.get(value, "")
    if name == "requestApiKey" and value in API_KEYS:
        return API_KEYS[value].name
    if name == "isolationLevel":
        return _ISOLATIONS.get(value, "")
    if name == "timestamp" and isinstance(value, int):
        return (SPECIAL_TIMES.get(value) if is_request else None) or time_text(value)
    notes = (_NOTES.get(name, ""), span.note)
    return ", ".join(note for note in notes if note)
