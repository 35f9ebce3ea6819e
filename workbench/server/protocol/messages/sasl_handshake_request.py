"""SaslHandshakeRequest in versions 0 to 1; `make messages` writes it."""

from typing import TypedDict


class SaslHandshakeRequest(TypedDict):
    """Kafka: SaslHandshakeRequestData (4.3)."""

    mechanism: str
