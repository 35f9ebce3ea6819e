"""AlterPartitionReassignmentsRequest in versions 0 to 1; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ReassignablePartition(TypedDict):
    """Kafka: AlterPartitionReassignmentsRequestData.ReassignablePartition (4.3)."""

    partitionIndex: int
    replicas: list[int] | None


class ReassignableTopic(TypedDict):
    """Kafka: AlterPartitionReassignmentsRequestData.ReassignableTopic (4.3)."""

    name: str
    partitions: list[ReassignablePartition]


class AlterPartitionReassignmentsRequest(TypedDict):
    """Kafka: AlterPartitionReassignmentsRequestData (4.3)."""

    timeoutMs: int
    topics: list[ReassignableTopic]
    allowReplicationFactorChange: NotRequired[bool]
