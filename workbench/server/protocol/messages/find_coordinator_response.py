"""FindCoordinatorResponse in versions 0 to 6; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class Coordinator(TypedDict, total=False):
    """Kafka: FindCoordinatorResponseData.Coordinator (4.3)."""

    key: str
    nodeId: int
    host: str
    port: int
    errorCode: int
    errorMessage: str | None


class FindCoordinatorResponse(TypedDict, total=False):
    """Kafka: FindCoordinatorResponseData (4.3)."""

    errorCode: int
    nodeId: int
    host: str
    port: int
    throttleTimeMs: int
    errorMessage: str | None
    coordinators: Sequence[Coordinator]
