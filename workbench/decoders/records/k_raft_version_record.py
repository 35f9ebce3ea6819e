"""KRaftVersionRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class KRaftVersionRecord(TypedDict):
    """Kafka: KRaftVersionRecord (4.3)."""

    version: int
    kRaftVersion: int
