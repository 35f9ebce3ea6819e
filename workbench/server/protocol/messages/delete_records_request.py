"""DeleteRecordsRequest in versions 0 to 2; `make messages` writes it."""

from typing import TypedDict


class DeleteRecordsPartition(TypedDict):
    """Kafka: DeleteRecordsRequestData.DeleteRecordsPartition (4.3)."""

    partitionIndex: int
    offset: int


class DeleteRecordsTopic(TypedDict):
    """Kafka: DeleteRecordsRequestData.DeleteRecordsTopic (4.3)."""

    name: str
    partitions: list[DeleteRecordsPartition]


class DeleteRecordsRequest(TypedDict):
    """Kafka: DeleteRecordsRequestData (4.3)."""

    topics: list[DeleteRecordsTopic]
    timeoutMs: int
