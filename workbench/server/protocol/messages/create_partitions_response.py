"""CreatePartitionsResponse in versions 0 to 3; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class CreatePartitionsTopicResult(TypedDict, total=False):
    """Kafka: CreatePartitionsResponseData.CreatePartitionsTopicResult (4.3)."""

    name: str
    errorCode: int
    errorMessage: str | None


class CreatePartitionsResponse(TypedDict, total=False):
    """Kafka: CreatePartitionsResponseData (4.3)."""

    throttleTimeMs: int
    results: Sequence[CreatePartitionsTopicResult]
