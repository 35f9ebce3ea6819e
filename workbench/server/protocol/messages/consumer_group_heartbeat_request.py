"""ConsumerGroupHeartbeatRequest in versions 0 to 1; `make messages` writes it."""

from typing import NotRequired, TypedDict


class TopicPartitions(TypedDict):
    """Kafka: ConsumerGroupHeartbeatRequestData.TopicPartitions (4.3)."""

    topicId: str
    partitions: list[int]


class ConsumerGroupHeartbeatRequest(TypedDict):
    """Kafka: ConsumerGroupHeartbeatRequestData (4.3)."""

    groupId: str
    memberId: str
    memberEpoch: int
    instanceId: str | None
    rackId: str | None
    rebalanceTimeoutMs: int
    subscribedTopicNames: list[str] | None
    serverAssignor: str | None
    topicPartitions: list[TopicPartitions] | None
    subscribedTopicRegex: NotRequired[str | None]
