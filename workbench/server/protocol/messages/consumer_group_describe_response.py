"""ConsumerGroupDescribeResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class TopicPartitions(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.TopicPartitions (4.3)."""

    topicId: str
    topicName: str
    partitions: Sequence[int]


class Assignment(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.Assignment (4.3)."""

    topicPartitions: Sequence[TopicPartitions]


class Member(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.Member (4.3)."""

    memberId: str
    instanceId: str | None
    rackId: str | None
    memberEpoch: int
    clientId: str
    clientHost: str
    subscribedTopicNames: Sequence[str]
    subscribedTopicRegex: str | None
    assignment: Assignment
    targetAssignment: Assignment
    memberType: int


class DescribedGroup(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.DescribedGroup (4.3)."""

    errorCode: int
    errorMessage: str | None
    groupId: str
    groupState: str
    groupEpoch: int
    assignmentEpoch: int
    assignorName: str
    members: Sequence[Member]
    authorizedOperations: int


class ConsumerGroupDescribeResponse(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData (4.3)."""

    throttleTimeMs: int
    groups: Sequence[DescribedGroup]
