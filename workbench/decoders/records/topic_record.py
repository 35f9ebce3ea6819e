"""TopicRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class TopicRecord(TypedDict):
    """Kafka: TopicRecord (4.3)."""

    name: str
    topicId: str
