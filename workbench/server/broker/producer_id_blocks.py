"""Gives blocks of producer ids, each once in the life of the directory.

A producer whose id was given before could have its records taken for those of the other, and
dropped as duplicates.

Kafka: ProducerIdControlManager (4.2)
"""

from collections.abc import Callable, Iterable

from workbench.coordinator.transactions.serving.producer_ids import (
    Deliver,
    ProducerIdsBlock,
    first_block_after,
)
from workbench.log.log import Log
from workbench.server.broker.metadata_log import MetadataLog


class ProducerIdBlocks:
    """The controller's side of producer ids; the coordinator asks one block after the other.

    Args:
        logs: returns the broker's logs: what they hold is not given again.
        next_id: the first producer id that is free by the cluster's metadata; 0 without.
        metadata: where each block is written before it is given; None: nowhere.
        node_id: the broker's id.
    """

    def __init__(
        self,
        logs: Callable[[], Iterable[Log]],
        next_id: int,
        metadata: MetadataLog | None,
        node_id: int,
    ) -> None:
        self._logs = logs
        self._next = next_id
        self._metadata = metadata
        self._node_id = node_id
        self._is_first = True

    def request(self, known: Iterable[int], deliver: Deliver) -> None:
        """Give the next block.

        Args:
            known: other producer ids that are in use.
            deliver: called with the block.
        """
        if self._is_first:
            self._next = max(self._next, first_block_after(self._logs(), known))
            self._is_first = False
        block = ProducerIdsBlock(self._next)
        if self._metadata is not None:
            fields = {"brokerId": self._node_id, "nextProducerId": block.last + 1}
            self._metadata.append([("ProducerIdsRecord", fields)])
        self._next = block.last + 1
        deliver(block)
