"""AlterConfigsResponse in versions 0 to 2; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AlterConfigsResourceResponse(TypedDict, total=False):
    """Kafka: AlterConfigsResponseData.AlterConfigsResourceResponse (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str


class AlterConfigsResponse(TypedDict, total=False):
    """Kafka: AlterConfigsResponseData (4.3)."""

    throttleTimeMs: int
    responses: Sequence[AlterConfigsResourceResponse]
