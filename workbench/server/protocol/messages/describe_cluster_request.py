"""DescribeClusterRequest in versions 0 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class DescribeClusterRequest(TypedDict):
    """Kafka: DescribeClusterRequestData (4.3)."""

    includeClusterAuthorizedOperations: bool
    endpointType: NotRequired[int]
    includeFencedBrokers: NotRequired[bool]
