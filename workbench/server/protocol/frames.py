"""Headers of requests and responses, and the bytes of both.

A frame is an int32 with the size of what follows. A header of a request is api key int16, version
int16, correlation id int32, client id (a nullable string that is never compact), and tagged fields
in flexible versions. That of a response is the correlation id, and tagged fields in flexible
versions, but never for ApiVersions.

Kafka: RequestHeader, ResponseHeader, NetworkReceive (4.0)
"""

import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from workbench.errors import CorruptRecordError
from workbench.record import varint
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_KEYS, API_VERSIONS

SIZE: Final = struct.Struct(">i")
_HEADER: Final = struct.Struct(">hhi")
_STRING: Final = struct.Struct(">h")
MOST_ITEMS: Final = 100_000
"""Elements of arrays in one request, and its tagged fields."""


class Request(NamedTuple):
    """A request.

    Attributes:
        api: its kind.
        version: of its messages.
        correlation_id: repeated in the response.
        client_id: as the client names itself; None: it does not.
        values: fields by Kafka's names: a class of `server.protocol.requests` or `responses`.
        items: how many elements its arrays have together.
    """

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    values: Any
    items: int


class UnknownRequestError(Exception):
    """A request that cannot be answered, so that the connection ends; the message says why."""


class UnsupportedApiVersionsError(Exception):
    """An ApiVersions request in an unknown version: it is answered in version 0."""

    def __init__(self, correlation_id: int) -> None:
        super().__init__()
        self.correlation_id = correlation_id


def read_request(frame: bytes) -> Request:
    """Return the request in a frame, without its size.

    Raises:
        UnsupportedApiVersionsError: an unknown version of ApiVersions.
        UnknownRequestError: the kind or version is unknown, or the bytes break the format.

    Kafka: RequestHeader.parse, RequestContext.parseRequest (4.0)
    """
    if len(frame) < _HEADER.size:
        raise UnknownRequestError(f"a request of {len(frame)} bytes has no header")
    key, version, correlation = _HEADER.unpack_from(frame)
    api = API_KEYS.get(key)
    if api is API_VERSIONS and not api.knows(version):
        raise UnsupportedApiVersionsError(correlation)
    if api is None:
        raise UnknownRequestError(f"api key {key} is not answered")
    if not api.knows(version):
        expected = f"{api.lowest} to {api.highest}"
        raise UnknownRequestError(f"{api.name} has version {version} (expected {expected})")
    try:
        client_id, at = _client_id(frame)
        if api.is_flexible(version):
            at = _skip_tagged_fields(frame, at)
        values, items = api.request.decode_counted(frame, version, at, MOST_ITEMS)
    except CorruptRecordError as error:
        raise UnknownRequestError(f"{api.name} version {version}: {error}") from None
    return Request(api, version, correlation, client_id, values, items)


def _client_id(frame: bytes) -> tuple[str | None, int]:
    start = _HEADER.size + _STRING.size
    if len(frame) < start:
        raise CorruptRecordError(None, _HEADER.size, "the header has no client id")
    (size,) = _STRING.unpack_from(frame, _HEADER.size)
    if size < 0:
        return None, start
    if len(frame) < start + size:
        raise CorruptRecordError(None, start, f"the client id needs {size} bytes")
    return frame[start : start + size].decode("utf-8", "replace"), start + size


def _skip_tagged_fields(frame: bytes, at: int) -> int:
    count, at = varint.decode_unsigned(frame, at)
    if count > MOST_ITEMS:
        raise CorruptRecordError(
            None, at, f"the header has {count} tagged fields, which is too many"
        )
    for _ in range(count):
        _, at = varint.decode_unsigned(frame, at)
        size, at = varint.decode_unsigned(frame, at)
        at += size
        if at > len(frame):
            raise CorruptRecordError(None, at, "a tagged field ends after the request")
    return at


def response_frame(
    api: Api, version: int, correlation_id: int, values: Mapping[str, Any]
) -> list[bytes]:
    """Return the parts of a response's frame, which are sent one after the other.

    Values of ``records`` are not copied: each is a part of its own.
    """
    header = SIZE.pack(correlation_id)
    if api.response.is_flexible(version) and api is not API_VERSIONS:
        header += b"\0"
    parts = api.response.encode_parts(values, version)
    size = len(header) + sum(map(len, parts))
    return [SIZE.pack(size) + header, *parts]
