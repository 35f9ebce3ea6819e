"""SaslAuthenticateRequest in versions 0 to 2; `make messages` writes it."""

from typing import TypedDict


class SaslAuthenticateRequest(TypedDict):
    """Kafka: SaslAuthenticateRequestData (4.3)."""

    authBytes: bytes
