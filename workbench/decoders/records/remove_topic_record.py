"""RemoveTopicRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class RemoveTopicRecord(TypedDict):
    """Kafka: RemoveTopicRecord (4.3)."""

    topicId: str
