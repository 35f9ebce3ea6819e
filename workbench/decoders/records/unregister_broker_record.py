"""UnregisterBrokerRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class UnregisterBrokerRecord(TypedDict):
    """Kafka: UnregisterBrokerRecord (4.3)."""

    brokerId: int
    brokerEpoch: int
