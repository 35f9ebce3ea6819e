"""DescribeClientQuotasRequest in versions 0 to 1; `make messages` writes it."""

from typing import TypedDict


class ComponentData(TypedDict):
    """Kafka: DescribeClientQuotasRequestData.ComponentData (4.3)."""

    entityType: str
    matchType: int
    match: str | None


class DescribeClientQuotasRequest(TypedDict):
    """Kafka: DescribeClientQuotasRequestData (4.3)."""

    components: list[ComponentData]
    strict: bool
