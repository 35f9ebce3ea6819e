"""FenceBrokerRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class FenceBrokerRecord(TypedDict):
    """Kafka: FenceBrokerRecord (4.3)."""

    id: int
    epoch: int
