"""The bytes of a request and its response by name, headers included.

Kafka: RequestHeader, ResponseHeader, ApiMessageType (4.0)
"""

from typing import Any, Final, NamedTuple

from workbench.inspection.bytes.fields import ByteField
from workbench.record.message_schema import Message, message
from workbench.record.message_spans import CONTINUES, Path, Span, message_spans
from workbench.runtime.error_codes import ErrorCode
from workbench.runtime.times import time_text
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_KEYS, API_VERSIONS
from workbench.server.protocol.frames import SIZE
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

_REQUEST_HEADER: Final = message("RequestHeader")
_RESPONSE_HEADER: Final = message("ResponseHeader")
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
    fields: list[ByteField]
    places: dict[Path, tuple[int, int]]
    full_size: int

    @property
    def is_cut(self) -> bool:
        """Whether only the beginning was kept."""
        return len(self.data) < self.full_size


def name_request(watched: WatchedRequest) -> NamedFrame:
    """Return a request with the names of its bytes."""
    known = _known(watched)
    body = None if known is None else known[0].request
    full_size = watched.done.request_bytes + 4 if watched.frame else 0
    return _named(watched.frame, full_size, _REQUEST_HEADER, body, known)


def name_response(watched: WatchedRequest) -> NamedFrame:
    """Return a response with the names of its bytes."""
    known = _known(watched)
    body = None if known is None else known[0].response
    full_size = watched.done.response_bytes if watched.response else 0
    return _named(watched.response, full_size, _RESPONSE_HEADER, body, known)


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
    content: Message | None,
    known: tuple[Api, int] | None,
) -> NamedFrame:
    spans, at = _header(data, header, known)
    if content is None or known is None:
        body: list[Span] = []
        end = len(data)
    else:
        body, end = message_spans(content, data, known[1], at, most=MOST_FIELDS)
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
        fields.append(ByteField("rest", end, len(data) - end, None, note, 1, is_wrong=True))
    return NamedFrame(data, fields, places, full_size)


def _header(data: bytes, header: Message, known: tuple[Api, int] | None) -> tuple[list[Span], int]:
    """Name the size and the header, and return where the body begins."""
    if len(data) < SIZE.size:
        return [Span(("size",), 0, len(data), None, CONTINUES)], len(data)
    is_plain = known is None or (known[0] is API_VERSIONS and header is _RESPONSE_HEADER)
    is_flexible = known is not None and not is_plain and known[0].is_flexible(known[1])
    version = header.highest if is_flexible else header.lowest
    spans, at = message_spans(header, data, version, SIZE.size, most=MOST_FIELDS)
    return [Span(("size",), 0, SIZE.size, SIZE.unpack_from(data)[0]), *spans], at


def _field(span: Span, level: int, *, is_request: bool) -> ByteField:
    name = span.path[-1]
    shown = f"{span.path[-2]} {name}" if isinstance(name, int) else name
    size = span.end - span.start
    return ByteField(shown, span.start, size, span.value, _note(str(name), span, is_request), level)


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
