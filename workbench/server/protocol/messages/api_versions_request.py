"""ApiVersionsRequest in versions 0 to 4; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ApiVersionsRequest(TypedDict):
    """Kafka: ApiVersionsRequestData (4.3)."""

    clientSoftwareName: NotRequired[str]
    clientSoftwareVersion: NotRequired[str]
