"""DescribeConfigsRequest in versions 0 to 4; `make messages` writes it."""

from typing import NotRequired, TypedDict


class DescribeConfigsResource(TypedDict):
    """Kafka: DescribeConfigsRequestData.DescribeConfigsResource (4.3)."""

    resourceType: int
    resourceName: str
    configurationKeys: list[str] | None


class DescribeConfigsRequest(TypedDict):
    """Kafka: DescribeConfigsRequestData (4.3)."""

    resources: list[DescribeConfigsResource]
    includeSynonyms: NotRequired[bool]
    includeDocumentation: NotRequired[bool]
