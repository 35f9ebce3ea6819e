"""DescribeConfigsResponse in versions 0 to 4; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DescribeConfigsSynonym(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData.DescribeConfigsSynonym (4.3)."""

    name: str
    value: str | None
    source: int


class DescribeConfigsResourceResult(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData.DescribeConfigsResourceResult (4.3)."""

    name: str
    value: str | None
    readOnly: bool
    isDefault: bool
    isSensitive: bool
    configSource: int
    synonyms: Sequence[DescribeConfigsSynonym]
    configType: int
    documentation: str | None


class DescribeConfigsResult(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData.DescribeConfigsResult (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str
    configs: Sequence[DescribeConfigsResourceResult]


class DescribeConfigsResponse(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData (4.3)."""

    throttleTimeMs: int
    results: Sequence[DescribeConfigsResult]
