"""The errors that a transaction coordinator answers with, by Kafka's names and codes.

Kafka: Errors; TransactionStateManager.appendTransactionToLog (4.2)
"""

from enum import IntEnum
from typing import Final

from workbench.errors import (
    CoordinatorFencedError,
    CorruptRecordError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    StorageError,
    UnsupportedForMessageFormatError,
    WorkbenchError,
)


class Errors(IntEnum):
    """Kafka's errors of which a transaction coordinator or a marker's append is the source."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    INVALID_RECORD = 87
    PRODUCER_FENCED = 90
    TRANSACTIONAL_ID_NOT_FOUND = 105
    TRANSACTION_ABORTABLE = 120
    INVALID_REGULAR_EXPRESSION = 128

    def __str__(self) -> str:
        return f"{self.name} ({self.value})"


class RefusedError(WorkbenchError):
    """A coordinator refuses a request.

    Attributes:
        error: the answer.
        reason: why, in a sentence.
    """

    def __init__(self, error: Errors, reason: str = "") -> None:
        super().__init__(f"{error}: {reason}" if reason else str(error))
        self.error = error
        self.reason = reason


_OF_APPENDS: Final[tuple[tuple[type[WorkbenchError], Errors], ...]] = (
    (StorageError, Errors.KAFKA_STORAGE_ERROR),
    (CorruptRecordError, Errors.CORRUPT_MESSAGE),
    (RecordTooLargeError, Errors.MESSAGE_TOO_LARGE),
    (RecordBatchTooLargeError, Errors.RECORD_LIST_TOO_LARGE),
    (InvalidTimestampError, Errors.INVALID_TIMESTAMP),
    (InvalidRecordError, Errors.INVALID_RECORD),
    (UnsupportedForMessageFormatError, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    (OutOfOrderSequenceError, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
    (InvalidProducerEpochError, Errors.INVALID_PRODUCER_EPOCH),
    (InvalidTransactionStateError, Errors.INVALID_TXN_STATE),
    (CoordinatorFencedError, Errors.TRANSACTION_COORDINATOR_FENCED),
)


def error_of_append(error: WorkbenchError) -> Errors:
    """Return Kafka's error for what an append raised.

    Kafka: Errors.forException (4.2)
    """
    for kind, answer in _OF_APPENDS:
        if isinstance(error, kind):
            return answer
    return Errors.UNKNOWN_SERVER_ERROR


_TRANSLATED: Final = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
}


def answer_to_append(error: Errors) -> Errors:
    """Return what a producer is told if its state could not be appended for this error.

    Kafka: TransactionStateManager.appendTransactionToLog (4.2)
    """
    return _TRANSLATED.get(error, error)
