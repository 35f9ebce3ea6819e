"""HeartbeatResponse in versions 0 to 4; `make messages` writes it."""

from typing import TypedDict


class HeartbeatResponse(TypedDict, total=False):
    """Kafka: HeartbeatResponseData (4.3)."""

    errorCode: int
    throttleTimeMs: int
