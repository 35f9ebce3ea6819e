"""CreateAclsResponse in versions 1 to 3; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class AclCreationResult(TypedDict, total=False):
    """Kafka: CreateAclsResponseData.AclCreationResult (4.3)."""

    errorCode: int
    errorMessage: str | None


class CreateAclsResponse(TypedDict, total=False):
    """Kafka: CreateAclsResponseData (4.3)."""

    throttleTimeMs: int
    results: Sequence[AclCreationResult]
