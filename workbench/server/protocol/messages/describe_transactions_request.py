"""DescribeTransactionsRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class DescribeTransactionsRequest(TypedDict):
    """Kafka: DescribeTransactionsRequestData (4.3)."""

    transactionalIds: list[str]
