"""SaslAuthenticateResponse in versions 0 to 2; `make messages` writes it."""

from typing import TypedDict


class SaslAuthenticateResponse(TypedDict, total=False):
    """Kafka: SaslAuthenticateResponseData (4.3)."""

    errorCode: int
    errorMessage: str | None
    authBytes: bytes
    sessionLifetimeMs: int
