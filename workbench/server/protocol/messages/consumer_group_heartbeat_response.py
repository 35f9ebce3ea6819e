"""ConsumerGroupHeartbeatResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class TopicPartitions(TypedDict, total=False):
    """Kafka: ConsumerGroupHeartbeatResponseData.TopicPartitions (4.3)."""

    topicId: str
    partitions: Sequence[int]


class Assignment(TypedDict, total=False):
    """Kafka: ConsumerGroupHeartbeatResponseData.Assignment (4.3)."""

    topicPartitions: Sequence[TopicPartitions]


class ConsumerGroupHeartbeatResponse(TypedDict, total=False):
    """Kafka: ConsumerGroupHeartbeatResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    memberId: str | None
    memberEpoch: int
    heartbeatIntervalMs: int
    assignment: Assignment | None
