"""ProducerIdsRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class ProducerIdsRecord(TypedDict):
    """Kafka: ProducerIdsRecord (4.3)."""

    brokerId: int
    brokerEpoch: int
    nextProducerId: int
