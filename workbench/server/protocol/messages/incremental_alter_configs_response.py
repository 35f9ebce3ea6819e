"""IncrementalAlterConfigsResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AlterConfigsResourceResponse(TypedDict, total=False):
    """Kafka: IncrementalAlterConfigsResponseData.AlterConfigsResourceResponse (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str


class IncrementalAlterConfigsResponse(TypedDict, total=False):
    """Kafka: IncrementalAlterConfigsResponseData (4.3)."""

    throttleTimeMs: int
    responses: Sequence[AlterConfigsResourceResponse]
