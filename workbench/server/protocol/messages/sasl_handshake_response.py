"""SaslHandshakeResponse in versions 0 to 1; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class SaslHandshakeResponse(TypedDict, total=False):
    """Kafka: SaslHandshakeResponseData (4.3)."""

    errorCode: int
    mechanisms: Sequence[str]
