"""DeleteTopicsResponse in versions 0 to 6; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DeletableTopicResult(TypedDict, total=False):
    """Kafka: DeleteTopicsResponseData.DeletableTopicResult (4.3)."""

    name: str | None
    errorCode: int
    errorMessage: str | None
    topicId: str


class DeleteTopicsResponse(TypedDict, total=False):
    """Kafka: DeleteTopicsResponseData (4.3)."""

    responses: Sequence[DeletableTopicResult]
    throttleTimeMs: int
