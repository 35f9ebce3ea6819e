"""The checks of a transactional producer's requests, and what their answers say.

Kafka: TransactionCoordinator (4.2)
"""

from enum import Enum
from typing import NamedTuple

from workbench.coordinator.transactions.serving.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.serving.transaction_metadata import (
    LARGEST_EPOCH,
    NO_PRODUCER_EPOCH,
    TransactionMetadata,
    is_epoch_exhausted,
)
from workbench.errors import CoordinatorError
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


class EndTxn(NamedTuple):
    """A request to end a transaction."""

    producer_id: int
    producer_epoch: int
    commit: bool
    version: TransactionVersion
    is_from_client: bool = True

    @property
    def prepared(self) -> TransactionState:
        """The state that decides the end."""
        commits = self.commit
        return TransactionState.PREPARE_COMMIT if commits else TransactionState.PREPARE_ABORT

    @property
    def completed(self) -> TransactionState:
        """The state after all markers."""
        commits = self.commit
        return TransactionState.COMPLETE_COMMIT if commits else TransactionState.COMPLETE_ABORT


class Retry(Enum):
    """Why an end of transaction version 2 is a retry."""

    NONE = "none"
    OF_BUMP = "its end gave the next epoch"
    OF_ROTATION = "its end gave a new producer id"


def retry_of(metadata: TransactionMetadata, request: EndTxn) -> Retry:
    """Return whether an end was served before, as its producer id and epoch tell."""
    epoch = request.producer_epoch
    if metadata.producer_epoch == epoch + 1:
        return Retry.OF_BUMP
    is_rotated = metadata.previous_producer_id == request.producer_id
    if is_rotated and epoch == LARGEST_EPOCH - 1 and metadata.producer_epoch == 0:
        return Retry.OF_ROTATION
    return Retry.NONE


def has_valid_epoch(
    metadata: TransactionMetadata, request: EndTxn, retry: Retry, *, is_fence: bool
) -> bool:
    """Return whether an end of version 2 has the current epoch, or may be a retry."""
    is_current = request.producer_epoch == metadata.producer_epoch
    if is_fence:
        is_newer = request.producer_epoch > metadata.producer_epoch
        return is_current or (is_newer and not request.is_from_client)
    if metadata.state.is_prepared:
        return retry is Retry.OF_BUMP
    if metadata.state is TransactionState.ONGOING or metadata.state is TransactionState.EMPTY:
        return is_current
    return is_current or retry is not Retry.NONE


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


def invalid_state(metadata: TransactionMetadata, request: EndTxn) -> CoordinatorError:
    """Return the error for an end that the state does not allow."""
    end = "commit" if request.commit else "abort"
    return ErrorCode.INVALID_TXN_STATE.error(f"a {end} is not possible in {metadata.state}")
