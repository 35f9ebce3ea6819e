"""Decide what a producer gets that initializes: its id, its epoch, or an error.

Kafka: TransactionCoordinator.handleInitProducerId, prepareInitProducerIdTransit (4.2)
"""

from collections.abc import Callable
from typing import NamedTuple

from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.request_checks import (
    ProducerIdAndEpoch,
    check_not_pending,
    concurrent,
    is_valid_producer,
)
from workbench.coordinator.transactions.states import TransactionState
from workbench.coordinator.transactions.transaction_metadata import (
    NO_TIMEOUT_MS,
    TransactionMetadata,
    TxnTransitMetadata,
)
from workbench.errors import InvalidTransitionError
from workbench.runtime.error_codes import ErrorCode


class InitProducerId(NamedTuple):
    """A request of a transactional producer.

    Attributes:
        timeout_ms: the timeout of its transactions, ms.
        expected: what the producer has (KIP-360); None: nothing.
        is_two_phase_commit: whether its transactions never time out.
        keeps_prepared: not possible in 4.2.
    """

    timeout_ms: int
    expected: ProducerIdAndEpoch | None
    is_two_phase_commit: bool
    keeps_prepared: bool

    @property
    def timeout(self) -> int:
        """The timeout that its transactions get, ms."""
        return NO_TIMEOUT_MS if self.is_two_phase_commit else self.timeout_ms


def require_id(transactional_id: str | None) -> str:
    """Return a transactional id.

    Raises:
        CoordinatorError: it is empty.
    """
    if not transactional_id:
        raise ErrorCode.INVALID_REQUEST.error("the transactional id is empty")
    return transactional_id


def check_init(transactional_id: str, asked: InitProducerId, config: TransactionConfig) -> None:
    """Check a request before its transactional id is looked at.

    Raises:
        CoordinatorError: it is refused.

    Kafka: TransactionStateManager.validateTransactionTimeoutMs (4.2), among others
    """
    require_id(transactional_id)
    if asked.is_two_phase_commit and not config.two_phase_commit_enable:
        raise ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.error(
            "transaction.two.phase.commit.enable is false",
        )
    if asked.keeps_prepared:
        raise ErrorCode.UNSUPPORTED_VERSION.error("a prepared transaction cannot be kept")
    most = config.transaction_max_timeout_ms
    if not asked.is_two_phase_commit and not 0 < asked.timeout_ms <= most:
        raise ErrorCode.INVALID_TRANSACTION_TIMEOUT.error(
            f"the timeout is {asked.timeout_ms} ms, transaction.max.timeout.ms is {most}",
        )


def prepare_init(
    metadata: TransactionMetadata,
    asked: InitProducerId,
    now: int,
    generate_producer_id: Callable[[], int],
) -> TxnTransitMetadata:
    """Begin the transition that gives a producer the next epoch; the state manager's lock is held.

    Args:
        metadata: the state of the transactional id.
        asked: the request.
        now: ms.
        generate_producer_id: gives a new producer id, where the epochs of this one are used up.

    Raises:
        CoordinatorError: the request is refused.

    Kafka: TransactionCoordinator.prepareInitProducerIdTransit (4.2)
    """
    expected = asked.expected
    check_not_pending(metadata)
    if expected is not None and not is_valid_producer(metadata, expected):
        raise ErrorCode.PRODUCER_FENCED.error(
            f"the producer has producer id {expected.producer_id}, the transactional id has "
            f"{metadata.producer_id} and before that {metadata.previous_producer_id}",
        )
    if metadata.state.is_prepared:
        raise concurrent(metadata)
    if metadata.state is TransactionState.ONGOING:
        return metadata.prepare_fence_producer_epoch()
    epoch = None if expected is None else expected.producer_epoch
    if metadata.is_epoch_exhausted and epoch in (None, metadata.producer_epoch):
        return metadata.prepare_producer_id_rotation(
            generate_producer_id(), asked.timeout, now, records_last_epoch=expected is not None
        )
    try:
        return metadata.prepare_increment_producer_epoch(asked.timeout, epoch, now)
    except InvalidTransitionError as error:  # exhausted, and not the epoch that it has
        raise ErrorCode.UNKNOWN_SERVER_ERROR.error(str(error)) from error
