"""ListPartitionReassignmentsResponse in version 0; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class OngoingPartitionReassignment(TypedDict, total=False):
    """Kafka: ListPartitionReassignmentsResponseData.OngoingPartitionReassignment (4.3)."""

    partitionIndex: int
    replicas: Sequence[int]
    addingReplicas: Sequence[int]
    removingReplicas: Sequence[int]


class OngoingTopicReassignment(TypedDict, total=False):
    """Kafka: ListPartitionReassignmentsResponseData.OngoingTopicReassignment (4.3)."""

    name: str
    partitions: Sequence[OngoingPartitionReassignment]


class ListPartitionReassignmentsResponse(TypedDict, total=False):
    """Kafka: ListPartitionReassignmentsResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    topics: Sequence[OngoingTopicReassignment]
