"""ProduceRequest in versions 0 to 13; `make messages` writes it."""

from typing import NotRequired, TypedDict


class PartitionProduceData(TypedDict):
    """Kafka: ProduceRequestData.PartitionProduceData (4.3)."""

    index: int
    records: bytes | None


class TopicProduceData(TypedDict):
    """Kafka: ProduceRequestData.TopicProduceData (4.3)."""

    name: NotRequired[str]
    partitionData: list[PartitionProduceData]
    topicId: NotRequired[str]


class ProduceRequest(TypedDict):
    """Kafka: ProduceRequestData (4.3)."""

    acks: int
    timeoutMs: int
    topicData: list[TopicProduceData]
    transactionalId: NotRequired[str | None]
