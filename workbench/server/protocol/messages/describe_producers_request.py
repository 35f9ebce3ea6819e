"""DescribeProducersRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class TopicRequest(TypedDict):
    """Kafka: DescribeProducersRequestData.TopicRequest (4.3)."""

    name: str
    partitionIndexes: list[int]


class DescribeProducersRequest(TypedDict):
    """Kafka: DescribeProducersRequestData (4.3)."""

    topics: list[TopicRequest]
