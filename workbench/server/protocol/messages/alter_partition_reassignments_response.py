"""AlterPartitionReassignmentsResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ReassignablePartitionResponse(TypedDict, total=False):
    """Kafka: AlterPartitionReassignmentsResponseData.ReassignablePartitionResponse (4.3)."""

    partitionIndex: int
    errorCode: int
    errorMessage: str | None


class ReassignableTopicResponse(TypedDict, total=False):
    """Kafka: AlterPartitionReassignmentsResponseData.ReassignableTopicResponse (4.3)."""

    name: str
    partitions: Sequence[ReassignablePartitionResponse]


class AlterPartitionReassignmentsResponse(TypedDict, total=False):
    """Kafka: AlterPartitionReassignmentsResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    responses: Sequence[ReassignableTopicResponse]
    allowReplicationFactorChange: bool
