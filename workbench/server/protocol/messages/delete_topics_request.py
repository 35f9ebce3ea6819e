"""DeleteTopicsRequest in versions 0 to 6; `make messages` writes it."""

from typing import NotRequired, TypedDict


class DeleteTopicState(TypedDict):
    """Kafka: DeleteTopicsRequestData.DeleteTopicState (4.3)."""

    name: str | None
    topicId: str


class DeleteTopicsRequest(TypedDict):
    """Kafka: DeleteTopicsRequestData (4.3)."""

    topicNames: NotRequired[list[str]]
    timeoutMs: int
    topics: NotRequired[list[DeleteTopicState]]
