"""FeatureLevelRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class FeatureLevelRecord(TypedDict):
    """Kafka: FeatureLevelRecord (4.3)."""

    name: str
    featureLevel: int
