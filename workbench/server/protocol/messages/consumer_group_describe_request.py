"""ConsumerGroupDescribeRequest in versions 0 to 1; `make messages` writes it."""

from typing import TypedDict


class ConsumerGroupDescribeRequest(TypedDict):
    """Kafka: ConsumerGroupDescribeRequestData (4.3)."""

    groupIds: list[str]
    includeAuthorizedOperations: bool
