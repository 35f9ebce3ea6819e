"""UnfenceBrokerRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class UnfenceBrokerRecord(TypedDict):
    """Kafka: UnfenceBrokerRecord (4.3)."""

    id: int
    epoch: int
