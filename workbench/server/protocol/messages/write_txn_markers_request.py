"""WriteTxnMarkersRequest in versions 1 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class WritableTxnMarkerTopic(TypedDict):
    """Kafka: WriteTxnMarkersRequestData.WritableTxnMarkerTopic (4.3)."""

    name: str
    partitionIndexes: list[int]


class WritableTxnMarker(TypedDict):
    """Kafka: WriteTxnMarkersRequestData.WritableTxnMarker (4.3)."""

    producerId: int
    producerEpoch: int
    transactionResult: bool
    topics: list[WritableTxnMarkerTopic]
    coordinatorEpoch: int
    transactionVersion: NotRequired[int]


class WriteTxnMarkersRequest(TypedDict):
    """Kafka: WriteTxnMarkersRequestData (4.3)."""

    markers: list[WritableTxnMarker]
