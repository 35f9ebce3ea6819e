"""DeleteRecordsResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DeleteRecordsPartitionResult(TypedDict, total=False):
    """Kafka: DeleteRecordsResponseData.DeleteRecordsPartitionResult (4.3)."""

    partitionIndex: int
    lowWatermark: int
    errorCode: int


class DeleteRecordsTopicResult(TypedDict, total=False):
    """Kafka: DeleteRecordsResponseData.DeleteRecordsTopicResult (4.3)."""

    name: str
    partitions: Sequence[DeleteRecordsPartitionResult]


class DeleteRecordsResponse(TypedDict, total=False):
    """Kafka: DeleteRecordsResponseData (4.3)."""

    throttleTimeMs: int
    topics: Sequence[DeleteRecordsTopicResult]
