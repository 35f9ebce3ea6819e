"""UnregisterBrokerRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class UnregisterBrokerRequest(TypedDict):
    """Kafka: UnregisterBrokerRequestData (4.3)."""

    brokerId: int
