"""ListConfigResourcesRequest in versions 0 to 1; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ListConfigResourcesRequest(TypedDict):
    """Kafka: ListConfigResourcesRequestData (4.3)."""

    resourceTypes: NotRequired[list[int]]
