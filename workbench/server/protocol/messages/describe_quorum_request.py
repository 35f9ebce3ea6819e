"""DescribeQuorumRequest in versions 0 to 2; `make messages` writes it."""

from typing import TypedDict


class PartitionData(TypedDict):
    """Kafka: DescribeQuorumRequestData.PartitionData (4.3)."""

    partitionIndex: int


class TopicData(TypedDict):
    """Kafka: DescribeQuorumRequestData.TopicData (4.3)."""

    topicName: str
    partitions: list[PartitionData]


class DescribeQuorumRequest(TypedDict):
    """Kafka: DescribeQuorumRequestData (4.3)."""

    topics: list[TopicData]
