"""ClearElrRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class ClearElrRecord(TypedDict):
    """Kafka: ClearElrRecord (4.3)."""

    topicName: str
