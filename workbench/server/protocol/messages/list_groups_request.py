"""ListGroupsRequest in versions 0 to 5; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ListGroupsRequest(TypedDict):
    """Kafka: ListGroupsRequestData (4.3)."""

    statesFilter: NotRequired[list[str]]
    typesFilter: NotRequired[list[str]]
