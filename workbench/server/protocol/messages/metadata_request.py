"""MetadataRequest in versions 0 to 13; `make messages` writes it."""

from typing import NotRequired, TypedDict


class MetadataRequestTopic(TypedDict):
    """Kafka: MetadataRequestData.MetadataRequestTopic (4.3)."""

    name: str | None
    topicId: NotRequired[str]


class MetadataRequest(TypedDict):
    """Kafka: MetadataRequestData (4.3)."""

    topics: list[MetadataRequestTopic] | None
    allowAutoTopicCreation: NotRequired[bool]
    includeClusterAuthorizedOperations: NotRequired[bool]
    includeTopicAuthorizedOperations: NotRequired[bool]
