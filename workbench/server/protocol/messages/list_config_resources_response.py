"""ListConfigResourcesResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ConfigResource(TypedDict, total=False):
    """Kafka: ListConfigResourcesResponseData.ConfigResource (4.3)."""

    resourceName: str
    resourceType: int


class ListConfigResourcesResponse(TypedDict, total=False):
    """Kafka: ListConfigResourcesResponseData (4.3)."""

    throttleTimeMs: int
    errorCode: int
    configResources: Sequence[ConfigResource]
