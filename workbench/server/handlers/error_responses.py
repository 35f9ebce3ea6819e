"""The response to each kind of request that fails as a whole: each item has the error.

It is derived from the messages. Where a response has an error code, it is set, and all else has its
default. Otherwise the array of the response that has error codes answers the first array of the
request: an element for each, with what names it in the request. The tables here are the exceptions.

Kafka: AbstractRequest.getErrorResponse of each request (4.0)
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from workbench.record.message_schema import Field, Struct
from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.frames import Request

Values = dict[str, Any]

_NOBODY: Final = {"principalType": "User", "principalName": "ANONYMOUS"}

_BESIDE_THE_ERROR: Final[Mapping[int, Values]] = {
    apis.FETCH.key: {"highWatermark": -1, "abortedTransactions": [], "records": b""},
    apis.FIND_COORDINATOR.key: {"nodeId": -1, "port": -1},
    apis.INIT_PRODUCER_ID.key: {"producerEpoch": -1},
    apis.OFFSET_FETCH.key: {"committedOffset": -1, "metadata": ""},
    apis.PRODUCE.key: {"baseOffset": -1},
    apis.CREATE_TOPICS.key: {"configs": []},
    apis.DELETE_RECORDS.key: {"lowWatermark": -1},
    apis.CREATE_DELEGATION_TOKEN.key: {
        **_NOBODY,
        **{f"tokenRequesterP{name[1:]}": value for name, value in _NOBODY.items()},
        **dict.fromkeys(("issueTimestampMs", "expiryTimestampMs", "maxTimestampMs"), -1),
    },
}
"""Fields that are not at their defaults where the error is."""

_HAVE_BOTH: Final[Mapping[int, int]] = {
    apis.FETCH.key: 12,
    apis.METADATA.key: apis.METADATA.highest,
    apis.ELECT_LEADERS.key: apis.ELECT_LEADERS.highest,
    apis.ALTER_PARTITION_REASSIGNMENTS.key: apis.ALTER_PARTITION_REASSIGNMENTS.highest,
}
"""Responses that have an error code, and one in each element, too: up to a version."""

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        name: (name,)
        for name in (
            "name", "topic", "topicId", "partitionId", "index", "groupId", "key",
            "transactionalId", "resourceType", "resourceName", "producerId",
        )
    },
    "topicName": ("name",),
    "partition": ("partition",),
    "partitionIndex": ("partitionIndex", "partition"),
}  # fmt: skip
"""Field of a response that names an element → that field of the request."""


def error_response(request: Request, code: ErrorCode, problem: str = "") -> Values:
    """Return the response that says that a request failed.

    Args:
        request: the request.
        code: the error.
        problem: why, for responses that have a field for it.
    """
    key = request.api.key
    beside = dict(_BESIDE_THE_ERROR.get(key, {}))
    if problem:
        beside["errorMessage"] = problem
    of = request.api.response.struct(request.version)
    asked = _ASKED.get(key, _as_asked)(request.values)
    return _Errors(code, beside, has_both=request.version <= _HAVE_BOTH.get(key, -1)).struct(
        of, asked
    )


class _Errors:
    """Makes the structs of a response that hold an error code."""

    def __init__(self, code: ErrorCode, beside: Values, *, has_both: bool) -> None:
        self._code = code
        self._beside = beside
        self._has_both = has_both

    def struct(self, of: Struct, asked: Values) -> Values:
        """Return a struct of a response to what was asked."""
        values: Values = {}
        error = next((each.name for each in of.fields if _is_error(each)), None)
        if error is not None:
            names = {each.name for each in of.fields}
            values = {name: value for name, value in self._beside.items() if name in names}
            values[error] = self._code
        answer = next((each for each in of.fields if _has_errors(each)), None)
        if answer is None or not (error is None or self._has_both):
            return values
        items = next((each for each in asked.values() if isinstance(each, list)), [])
        assert isinstance(answer.type, Struct)
        return {**values, answer.name: [self._item(answer.type, each) for each in items]}

    def _item(self, of: Struct, asked: Any) -> Values:
        named = [each for each in of.fields if each.name in _NAMES]
        if not isinstance(asked, dict):
            kind = "string" if isinstance(asked, str) else "int32"
            return {
                next(each.name for each in named if each.type == kind): asked,
                **self.struct(of, {}),
            }
        found = {
            each.name: asked[name]
            for each in named
            for name in _NAMES[each.name]
            if asked.get(name) is not None
        }
        return {**found, **self.struct(of, asked)}


def _is_error(field: Field) -> bool:
    return field.name.lower().endswith("errorcode") and field.tag is None


def _has_errors(field: Field) -> bool:
    """Return whether elements of an array have error codes, or what they hold."""
    if not isinstance(field.type, Struct) or not field.is_array:
        return False
    return any(_is_error(each) or _has_errors(each) for each in field.type.fields)


def _as_asked(values: Values) -> Values:
    return values


def _nothing(_values: Values) -> Values:
    return {}


def _topics_of_directories(values: Values) -> Values:
    return {"topics": [topic for each in values["dirs"] for topic in each["topics"]]}


_ASKED: Final[Mapping[int, Callable[[Values], Values]]] = {
    apis.ALTER_REPLICA_LOG_DIRS.key: _topics_of_directories,
    apis.DESCRIBE_LOG_DIRS.key: _nothing,
}
"""What a response answers, where that is not the first array of a request."""
