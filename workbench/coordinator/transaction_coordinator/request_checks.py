"""The checks of a transactional producer's requests, and what their answers say.

Kafka: TransactionCoordinator (4.2)
"""

from typing import NamedTuple

from workbench.coordinator.transactions.transaction_metadata import (
    TransactionMetadata,
    is_epoch_exhausted,
)
from workbench.errors import CoordinatorError
from workbench.layout.attributes import NO_PRODUCER_EPOCH
from workbench.runtime.error_codes import ErrorCode


class ProducerIdAndEpoch(NamedTuple):
    """A producer, as a request or an answer names it.

    Attributes:
        producer_id: -1 in an answer with an error.
        producer_epoch: -1 in an answer with an error.
        error: the answer; NONE in a request.
    """

    producer_id: int
    producer_epoch: int
    error: ErrorCode = ErrorCode.NONE


def is_valid_producer(metadata: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Return whether a producer that names itself may initialize; its epoch is checked later."""
    return (
        metadata.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == metadata.producer_id
        or (
            expected.producer_id == metadata.previous_producer_id
            and is_epoch_exhausted(expected.producer_epoch)
        )
    )


def check_not_pending(metadata: TransactionMetadata) -> None:
    """Raise CONCURRENT_TRANSACTIONS if a transition has begun and is not complete."""
    if metadata.is_pending:
        raise ErrorCode.CONCURRENT_TRANSACTIONS.error(
            f"the state is about to be {metadata.pending_state}"
        )


def check_producer(metadata: TransactionMetadata, producer_id: int, epoch: int) -> None:
    """Raise INVALID_PRODUCER_ID_MAPPING or PRODUCER_FENCED for another producer."""
    if metadata.producer_id != producer_id:
        raise other_producer(metadata, producer_id)
    if metadata.producer_epoch != epoch:
        raise fenced(metadata, epoch)


def other_producer(metadata: TransactionMetadata, producer_id: int) -> CoordinatorError:
    """Return the error for a producer id that the transactional id does not have."""
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING.error(
        f"the producer has producer id {producer_id}, the transactional id has "
        f"{metadata.producer_id}",
    )


def fenced(metadata: TransactionMetadata, epoch: int) -> CoordinatorError:
    """Return the error for an epoch that the transactional id does not have."""
    return ErrorCode.PRODUCER_FENCED.error(
        f"the producer has epoch {epoch}, the transactional id has epoch "
        f"{metadata.producer_epoch} in state {metadata.state}",
    )


def concurrent(metadata: TransactionMetadata) -> CoordinatorError:
    """Return the error for a request while the transaction is being ended."""
    reason = f"the transaction is being ended: {metadata.state}"
    return ErrorCode.CONCURRENT_TRANSACTIONS.error(reason)
