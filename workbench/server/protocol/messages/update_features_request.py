"""UpdateFeaturesRequest in versions 0 to 2; `make messages` writes it."""

from typing import NotRequired, TypedDict


class FeatureUpdateKey(TypedDict):
    """Kafka: UpdateFeaturesRequestData.FeatureUpdateKey (4.3)."""

    feature: str
    maxVersionLevel: int
    allowDowngrade: NotRequired[bool]
    upgradeType: NotRequired[int]


class UpdateFeaturesRequest(TypedDict):
    """Kafka: UpdateFeaturesRequestData (4.3)."""

    timeoutMs: int
    featureUpdates: list[FeatureUpdateKey]
    validateOnly: NotRequired[bool]
