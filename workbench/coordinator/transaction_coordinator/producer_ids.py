"""Producer ids, taken from blocks of 1000 that a cluster's controller gives to its brokers.

The controller is passed in. In KRaft it writes a `ProducerIdsRecord` for each block, with ZooKeeper
the node `/latest_producer_id_block`; either way a block has 1000 ids and none is given twice.

Kafka: RPCProducerIdManager, ProducerIdsBlock (4.2); ZkProducerIdManager (3.9)
"""

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Final, NamedTuple

from workbench.layout.integers import INT64_MAX
from workbench.log.log import Log
from workbench.runtime.clock import Clock
from workbench.runtime.error_codes import ErrorCode

BLOCK_SIZE: Final = 1000
RETRY_BACKOFF_MS: Final = 50
_PREFETCH_AT: Final = 0.90  # of a block is used up


class ProducerIdsBlock(NamedTuple):
    """Producer ids that one broker may give away.

    Kafka: ProducerIdsBlock (4.2)
    """

    first: int
    size: int = BLOCK_SIZE

    @property
    def last(self) -> int:
        """The last id, inclusive."""
        return self.first + self.size - 1


Deliver = Callable[[ProducerIdsBlock | None], None]
RequestBlock = Callable[[Deliver], None]
"""Requests a block from the controller: calls what it is given with it, at once or later; with None
if the controller refused."""


def blocks_from(first: int) -> RequestBlock:
    """Return a controller of one broker that gives all blocks from an id on, at once.

    Args:
        first: the first producer id.
    """
    state = [first]

    def request(deliver: Deliver) -> None:
        block = ProducerIdsBlock(state[0])
        state[0] += BLOCK_SIZE
        deliver(block)

    return request


def first_block_after(logs: Iterable[Log], known: Iterable[int] = ()) -> int:
    """Return where the block begins that follows the largest producer id in logs.

    Args:
        logs: their producer states are searched.
        known: other producer ids, such as those in `__transaction_state`.
    """
    largest = max(known, default=-1)
    for log in logs:
        largest = max(largest, max(log.producer_state.producers, default=-1))
    return (largest // BLOCK_SIZE + 1) * BLOCK_SIZE


class ProducerIdManager:
    """Gives each producer id once. Threads may share it.

    When 90 % of a block are used it requests the next one, so that producers do not wait.

    Args:
        request_block: the controller.
        clock: the time; after a refusal nothing is requested for 50 ms.

    Kafka: RPCProducerIdManager (4.2)
    """

    def __init__(self, request_block: RequestBlock, clock: Clock) -> None:
        self._request_block = request_block
        self._clock = clock
        self._lock = RLock()
        self._current = ProducerIdsBlock(0, 0)
        self._claimed = 0  # ids of the current block
        self._next: ProducerIdsBlock | None = None
        self._is_requested = False
        self._retry_at: int | None = None

    def generate_producer_id(self) -> int:
        """Return a producer id that was never returned before.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS: the block is used up, and the next one
                has not come; a client retries.

        Kafka: RPCProducerIdManager.generateProducerId (4.2)
        """
        with self._lock:
            if self._claimed >= self._current.size:
                self._take_next_block()
            found = self._current.first + self._claimed
            self._claimed += 1
            if found == self._current.first + int(self._current.size * _PREFETCH_AT):
                self._request()
            return found

    def _take_next_block(self) -> None:
        if self._next is None:
            self._request()
        if self._next is None:
            raise ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.error(
                "the block of producer ids is used up, and the controller has not given another",
            )
        self._current, self._next, self._claimed = self._next, None, 0
        self._is_requested = False

    def _request(self) -> None:
        is_early = self._retry_at is not None and self._clock.now() < self._retry_at
        if is_early or self._is_requested or self._next is not None:
            return
        self._is_requested, self._retry_at = True, None
        self._request_block(self._deliver)

    def _deliver(self, block: ProducerIdsBlock | None) -> None:
        """Keep a block if it is one; otherwise wait before the next request.

        Kafka: RPCProducerIdManager.handleAllocateProducerIdsResponse, sanityCheckResponse (4.2)
        """
        with self._lock:
            is_sane = (
                block is not None
                and block.size > 0
                and self._current.last <= block.first <= INT64_MAX - block.size
                and block.first >= 0
            )
            if is_sane:
                self._next = block
            else:
                self._is_requested = False
                self._retry_at = self._clock.now() + RETRY_BACKOFF_MS
