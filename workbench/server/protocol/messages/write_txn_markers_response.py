"""WriteTxnMarkersResponse in versions 1 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class WritableTxnMarkerPartitionResult(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData.WritableTxnMarkerPartitionResult (4.3)."""

    partitionIndex: int
    errorCode: int


class WritableTxnMarkerTopicResult(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData.WritableTxnMarkerTopicResult (4.3)."""

    name: str
    partitions: Sequence[WritableTxnMarkerPartitionResult]


class WritableTxnMarkerResult(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData.WritableTxnMarkerResult (4.3)."""

    producerId: int
    topics: Sequence[WritableTxnMarkerTopicResult]


class WriteTxnMarkersResponse(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData (4.3)."""

    markers: Sequence[WritableTxnMarkerResult]
