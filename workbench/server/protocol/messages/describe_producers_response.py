"""DescribeProducersResponse in version 0; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ProducerState(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData.ProducerState (4.3)."""

    producerId: int
    producerEpoch: int
    lastSequence: int
    lastTimestamp: int
    coordinatorEpoch: int
    currentTxnStartOffset: int


class PartitionResponse(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData.PartitionResponse (4.3)."""

    partitionIndex: int
    errorCode: int
    errorMessage: str | None
    activeProducers: Sequence[ProducerState]


class TopicResponse(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData.TopicResponse (4.3)."""

    name: str
    partitions: Sequence[PartitionResponse]


class DescribeProducersResponse(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData (4.3)."""

    throttleTimeMs: int
    topics: Sequence[TopicResponse]
