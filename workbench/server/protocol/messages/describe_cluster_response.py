"""DescribeClusterResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class DescribeClusterBroker(TypedDict, total=False):
    """Kafka: DescribeClusterResponseData.DescribeClusterBroker (4.3)."""

    brokerId: int
    host: str
    port: int
    rack: str | None
    isFenced: bool


class DescribeClusterResponse(TypedDict, total=False):
    """Kafka: DescribeClusterResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    clusterId: str
    controllerId: int
    brokers: Sequence[DescribeClusterBroker]
    clusterAuthorizedOperations: int
    endpointType: int
