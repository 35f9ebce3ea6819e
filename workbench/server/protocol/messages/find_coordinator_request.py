"""FindCoordinatorRequest in versions 0 to 6; `make messages` writes it."""

from typing import NotRequired, TypedDict


class FindCoordinatorRequest(TypedDict):
    """Kafka: FindCoordinatorRequestData (4.3)."""

    key: NotRequired[str]
    keyType: NotRequired[int]
    coordinatorKeys: NotRequired[list[str]]
