"""The result of an operation on groups: records to write, an answer, and what follows the append.

Kafka: CoordinatorRecord, CoordinatorResult (4.2)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from workbench.coordinator.kafka_errors import ErrorCode


class CoordinatorRecord(NamedTuple):
    """Key and value as a coordinator writes them; value None: a tombstone."""

    key: bytes
    value: bytes | None


class CoordinatorResult(NamedTuple):
    """The result of an operation.

    Attributes:
        records: the records that the operation writes, in one batch; none: nothing is written.
        response: the answer once the records are written; None: the operation has answered, or
            answers through the future that it was given.
        on_append: called once the records are written, or with the error of the append. None: the
            records are to be replayed when they are written.
    """

    records: list[CoordinatorRecord]
    response: Any = None
    on_append: Callable[[ErrorCode], None] | None = None


def nothing_to_write(response: Any = None) -> CoordinatorResult:
    """Return a result without records."""
    return CoordinatorResult([], response)


_TRANSLATED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def answer_to(error: ErrorCode) -> ErrorCode:
    """Return what a member is answered when storing its group failed with an error.

    Kafka: GroupMetadataManager.appendGroupMetadataErrorToResponseError (4.2)
    """
    return _TRANSLATED.get(error, error)
