"""ElectLeadersResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class PartitionResult(TypedDict, total=False):
    """Kafka: ElectLeadersResponseData.PartitionResult (4.3)."""

    partitionId: int
    errorCode: int
    errorMessage: str | None


class ReplicaElectionResult(TypedDict, total=False):
    """Kafka: ElectLeadersResponseData.ReplicaElectionResult (4.3)."""

    topic: str
    partitionResult: Sequence[PartitionResult]


class ElectLeadersResponse(TypedDict, total=False):
    """Kafka: ElectLeadersResponseData (4.3)."""

    throttleTimeMs: int
    replicaElectionResults: Sequence[ReplicaElectionResult]
    errorCode: int
