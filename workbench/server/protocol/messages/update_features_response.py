"""UpdateFeaturesResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class UpdatableFeatureResult(TypedDict, total=False):
    """Kafka: UpdateFeaturesResponseData.UpdatableFeatureResult (4.3)."""

    feature: str
    errorCode: int
    errorMessage: str | None


class UpdateFeaturesResponse(TypedDict, total=False):
    """Kafka: UpdateFeaturesResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    results: Sequence[UpdatableFeatureResult]
