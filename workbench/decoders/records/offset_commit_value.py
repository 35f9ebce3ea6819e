"""OffsetCommitValue in versions 0 to 4; `make messages` writes it."""

from typing import NotRequired, TypedDict


class OffsetCommitValue(TypedDict):
    """Kafka: OffsetCommitValue (4.3)."""

    offset: int
    metadata: str
    commitTimestamp: int
    expireTimestamp: NotRequired[int]
    leaderEpoch: NotRequired[int]
    topicId: NotRequired[str]
