"""AlterReplicaLogDirsResponse in versions 1 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AlterReplicaLogDirPartitionResult(TypedDict, total=False):
    """Kafka: AlterReplicaLogDirsResponseData.AlterReplicaLogDirPartitionResult (4.3)."""

    partitionIndex: int
    errorCode: int


class AlterReplicaLogDirTopicResult(TypedDict, total=False):
    """Kafka: AlterReplicaLogDirsResponseData.AlterReplicaLogDirTopicResult (4.3)."""

    topicName: str
    partitions: Sequence[AlterReplicaLogDirPartitionResult]


class AlterReplicaLogDirsResponse(TypedDict, total=False):
    """Kafka: AlterReplicaLogDirsResponseData (4.3)."""

    throttleTimeMs: int
    results: Sequence[AlterReplicaLogDirTopicResult]
