"""OffsetDeleteResponse in version 0; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class OffsetDeleteResponsePartition(TypedDict, total=False):
    """Kafka: OffsetDeleteResponseData.OffsetDeleteResponsePartition (4.3)."""

    partitionIndex: int
    errorCode: int


class OffsetDeleteResponseTopic(TypedDict, total=False):
    """Kafka: OffsetDeleteResponseData.OffsetDeleteResponseTopic (4.3)."""

    name: str
    partitions: Sequence[OffsetDeleteResponsePartition]


class OffsetDeleteResponse(TypedDict, total=False):
    """Kafka: OffsetDeleteResponseData (4.3)."""

    errorCode: int
    throttleTimeMs: int
    topics: Sequence[OffsetDeleteResponseTopic]
