"""DescribeLogDirsRequest in versions 0 to 4; `make messages` writes it."""

from typing import TypedDict


class DescribableLogDirTopic(TypedDict):
    """Kafka: DescribeLogDirsRequestData.DescribableLogDirTopic (4.3)."""

    topic: str
    partitions: list[int]


class DescribeLogDirsRequest(TypedDict):
    """Kafka: DescribeLogDirsRequestData (4.3)."""

    topics: list[DescribableLogDirTopic] | None
