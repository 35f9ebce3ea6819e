"""CreateTopicsResponse in versions 0 to 7; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class CreatableTopicConfigs(TypedDict, total=False):
    """Kafka: CreateTopicsResponseData.CreatableTopicConfigs (4.3)."""

    name: str
    value: str | None
    readOnly: bool
    configSource: int
    isSensitive: bool


class CreatableTopicResult(TypedDict, total=False):
    """Kafka: CreateTopicsResponseData.CreatableTopicResult (4.3)."""

    name: str
    errorCode: int
    errorMessage: str | None
    topicConfigErrorCode: int
    numPartitions: int
    replicationFactor: int
    configs: Sequence[CreatableTopicConfigs] | None
    topicId: str


class CreateTopicsResponse(TypedDict, total=False):
    """Kafka: CreateTopicsResponseData (4.3)."""

    topics: Sequence[CreatableTopicResult]
    throttleTimeMs: int
