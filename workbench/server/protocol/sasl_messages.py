"""Requests of a client that says who it is.

Kafka: the request and response messages of the same names (4.0)
"""

from typing import Final

from workbench.server.protocol.api import api

SASL_HANDSHAKE: Final = api(
    "SaslHandshake",
    17,
    versions=(0, 1),
    flexible=None,
    request="""
    mechanism: string
    """,
    response="""
    errorCode: int16
    mechanisms: [string]
    """,
)

SASL_AUTHENTICATE: Final = api(
    "SaslAuthenticate",
    36,
    versions=(0, 2),
    flexible=2,
    request="""
    authBytes: bytes
    """,
    response="""
    errorCode: int16
    errorMessage: ?string
    authBytes: bytes
    sessionLifetimeMs: int64 versions 1+
    """,
)
