"""DescribeLogDirsResponse in versions 0 to 4; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DescribeLogDirsPartition(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData.DescribeLogDirsPartition (4.3)."""

    partitionIndex: int
    partitionSize: int
    offsetLag: int
    isFutureKey: bool


class DescribeLogDirsTopic(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData.DescribeLogDirsTopic (4.3)."""

    name: str
    partitions: Sequence[DescribeLogDirsPartition]


class DescribeLogDirsResult(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData.DescribeLogDirsResult (4.3)."""

    errorCode: int
    logDir: str
    topics: Sequence[DescribeLogDirsTopic]
    totalBytes: int
    usableBytes: int


class DescribeLogDirsResponse(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData (4.3)."""

    throttleTimeMs: int
    results: Sequence[DescribeLogDirsResult]
    errorCode: int
