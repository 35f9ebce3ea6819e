"""ListPartitionReassignmentsRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class ListPartitionReassignmentsTopics(TypedDict):
    """Kafka: ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics (4.3)."""

    name: str
    partitionIndexes: list[int]


class ListPartitionReassignmentsRequest(TypedDict):
    """Kafka: ListPartitionReassignmentsRequestData (4.3)."""

    timeoutMs: int
    topics: list[ListPartitionReassignmentsTopics] | None
