"""DescribeClientQuotasResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class EntityData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData.EntityData (4.3)."""

    entityType: str
    entityName: str | None


class ValueData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData.ValueData (4.3)."""

    key: str
    value: float


class EntryData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData.EntryData (4.3)."""

    entity: Sequence[EntityData]
    values: Sequence[ValueData]


class DescribeClientQuotasResponse(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    entries: Sequence[EntryData] | None
