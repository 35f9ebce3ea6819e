"""DescribeTopicPartitionsRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class TopicRequest(TypedDict):
    """Kafka: DescribeTopicPartitionsRequestData.TopicRequest (4.3)."""

    name: str


class Cursor(TypedDict):
    """Kafka: DescribeTopicPartitionsRequestData.Cursor (4.3)."""

    topicName: str
    partitionIndex: int


class DescribeTopicPartitionsRequest(TypedDict):
    """Kafka: DescribeTopicPartitionsRequestData (4.3)."""

    topics: list[TopicRequest]
    responsePartitionLimit: int
    cursor: Cursor | None
