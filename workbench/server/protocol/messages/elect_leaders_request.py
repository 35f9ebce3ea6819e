"""ElectLeadersRequest in versions 0 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class TopicPartitions(TypedDict):
    """Kafka: ElectLeadersRequestData.TopicPartitions (4.3)."""

    topic: str
    partitions: list[int]


class ElectLeadersRequest(TypedDict):
    """Kafka: ElectLeadersRequestData (4.3)."""

    topicPartitions: list[TopicPartitions] | None
    timeoutMs: int
    electionType: NotRequired[int]
