"""The end of a transaction: whether a request may end it, and what that prepares.

Kafka: TransactionCoordinator.endTransaction, endTransactionWithTV1 (4.2)
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from workbench.coordinator.transaction_coordinator.request_checks import (
    ProducerIdAndEpoch,
    check_not_pending,
    concurrent,
    fenced,
    other_producer,
)
from workbench.coordinator.transactions.states import TransactionState, TransactionVersion
from workbench.coordinator.transactions.transaction_metadata import (
    LARGEST_EPOCH,
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.errors import CoordinatorError
from workbench.layout.attributes import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from workbench.runtime.error_codes import ErrorCode


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


Decision = tuple[TxnTransitMetadata, bool] | ProducerIdAndEpoch


def decide_end(
    metadata: TransactionMetadata,
    request: EndTxn,
    now: int,
    new_producer_id: Callable[[], int],
) -> Decision:
    """Return the prepared end and whether it fences the producer, or the answer to a retry.

    Args:
        metadata: the transaction's state; the caller holds the lock of the states.
        request: the request.
        now: ms.
        new_producer_id: gives the next producer id, where the epochs of this one are used up.

    Raises:
        CoordinatorError: the request is refused.
    """
    if request.version.supports_epoch_bump:
        return _decide_end_2(metadata, request, now, new_producer_id)
    return _decide_end_1(metadata, request, now)


def _decide_end_1(metadata: TransactionMetadata, request: EndTxn, now: int) -> Decision:
    """Do what `decide_end` does, before transaction version 2.

    Kafka: TransactionCoordinator.endTransactionWithTV1 (4.2)
    """
    epoch = request.producer_epoch
    if metadata.producer_id != request.producer_id:
        raise other_producer(metadata, request.producer_id)
    if (request.is_from_client and epoch != metadata.producer_epoch) or (
        epoch < metadata.producer_epoch
    ):
        raise fenced(metadata, epoch)
    is_fence = metadata.pending_state is TransactionState.PREPARE_EPOCH_FENCE
    if not is_fence:
        check_not_pending(metadata)
    if metadata.state is TransactionState.ONGOING:
        is_fence = is_fence and not request.commit
        if is_fence:
            metadata.pending_state = None
            metadata.producer_epoch = epoch
            metadata.last_producer_epoch = NO_PRODUCER_EPOCH
        return metadata.prepare_abort_or_commit(
            request.prepared, TransactionVersion.TV_0, NO_PRODUCER_ID, now
        ), is_fence
    if metadata.state is request.completed:
        return ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    if metadata.state is request.prepared:
        raise concurrent(metadata)
    raise invalid_state(metadata, request)


def _decide_end_2(
    metadata: TransactionMetadata,
    request: EndTxn,
    now: int,
    new_producer_id: Callable[[], int],
) -> Decision:
    """Do what `decide_end` does, since transaction version 2.

    Here the epoch distinguishes a retry from the next request: a retry has the previous epoch.

    Kafka: TransactionCoordinator.endTransaction (4.2)
    """
    state = metadata.state
    is_fence = metadata.pending_state is TransactionState.PREPARE_EPOCH_FENCE
    if not is_fence:
        check_not_pending(metadata)
    retry = Retry.NONE if is_fence else retry_of(metadata, request)
    if metadata.producer_id != request.producer_id and retry is not Retry.OF_ROTATION:
        raise other_producer(metadata, request.producer_id)
    if not has_valid_epoch(metadata, request, retry, is_fence=is_fence):
        raise fenced(metadata, request.producer_epoch)
    if state is TransactionState.ONGOING:
        return (
            _prepare_end_2(metadata, request, now, new_producer_id, is_fence=is_fence),
            is_fence,
        )
    if state is request.prepared:
        raise concurrent(metadata)
    if state is request.completed and retry is not Retry.NONE:
        return ProducerIdAndEpoch(metadata.producer_id, metadata.producer_epoch)
    if request.commit or state.is_prepared or retry is not Retry.NONE:
        raise invalid_state(metadata, request)
    return (
        _prepare_end_2(metadata, request, now, new_producer_id, is_fence=is_fence),
        is_fence,
    )


def _prepare_end_2(
    metadata: TransactionMetadata,
    request: EndTxn,
    now: int,
    new_producer_id: Callable[[], int],
    *,
    is_fence: bool,
) -> TxnTransitMetadata:
    next_producer_id = NO_PRODUCER_ID
    if not is_fence and metadata.is_epoch_exhausted:
        next_producer_id = new_producer_id()
    if is_fence and not request.commit:
        metadata.pending_state = None
    return metadata.prepare_abort_or_commit(
        request.prepared,
        request.version,
        next_producer_id,
        now,
        is_without_partitions=metadata.state is not TransactionState.ONGOING,
    )


class Retry(Enum):
    """Why an end of transaction version 2 is a retry."""

    NONE = "none"
    OF_BUMP = "its end gave the next epoch"
    OF_ROTATION = "its end gave a new producer id"


def retry_of(metadata: TransactionMetadata, request: EndTxn) -> Retry:
    """Return whether an end was served before, as its producer id and epoch show."""
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


def invalid_state(metadata: TransactionMetadata, request: EndTxn) -> CoordinatorError:
    """Return the error for an end that the state does not allow."""
    end = "commit" if request.commit else "abort"
    return ErrorCode.INVALID_TXN_STATE.error(f"a {end} is not possible in {metadata.state}")
