"""ApiVersionsResponse in versions 0 to 4; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ApiVersion(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData.ApiVersion (4.3)."""

    apiKey: int
    minVersion: int
    maxVersion: int


class SupportedFeatureKey(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData.SupportedFeatureKey (4.3)."""

    name: str
    minVersion: int
    maxVersion: int


class FinalizedFeatureKey(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData.FinalizedFeatureKey (4.3)."""

    name: str
    maxVersionLevel: int
    minVersionLevel: int


class ApiVersionsResponse(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData (4.3)."""

    errorCode: int
    apiKeys: Sequence[ApiVersion]
    throttleTimeMs: int
    supportedFeatures: Sequence[SupportedFeatureKey]
    finalizedFeaturesEpoch: int
    finalizedFeatures: Sequence[FinalizedFeatureKey]
    zkMigrationReady: bool
