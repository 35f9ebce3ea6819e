"""OffsetFetchRequest in versions 1 to 10; `make messages` writes it."""

from typing import NotRequired, TypedDict


class OffsetFetchRequestTopic(TypedDict):
    """Kafka: OffsetFetchRequestData.OffsetFetchRequestTopic (4.3)."""

    name: str
    partitionIndexes: list[int]


class OffsetFetchRequestTopics(TypedDict):
    """Kafka: OffsetFetchRequestData.OffsetFetchRequestTopics (4.3)."""

    name: NotRequired[str]
    partitionIndexes: list[int]
    topicId: NotRequired[str]


class OffsetFetchRequestGroup(TypedDict):
    """Kafka: OffsetFetchRequestData.OffsetFetchRequestGroup (4.3)."""

    groupId: str
    topics: list[OffsetFetchRequestTopics] | None
    memberId: NotRequired[str | None]
    memberEpoch: NotRequired[int]


class OffsetFetchRequest(TypedDict):
    """Kafka: OffsetFetchRequestData (4.3)."""

    groupId: NotRequired[str]
    topics: NotRequired[list[OffsetFetchRequestTopic] | None]
    requireStable: NotRequired[bool]
    groups: NotRequired[list[OffsetFetchRequestGroup]]
