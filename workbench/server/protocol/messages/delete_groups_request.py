"""DeleteGroupsRequest in versions 0 to 2; `make messages` writes it."""

from typing import TypedDict


class DeleteGroupsRequest(TypedDict):
    """Kafka: DeleteGroupsRequestData (4.3)."""

    groupsNames: list[str]
