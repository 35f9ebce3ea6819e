"""A connection's SASL exchange: until it succeeds, nothing else is answered.

    client: SaslHandshake v1 (PLAIN)        server: the mechanisms
    client: SaslAuthenticate (token)        server: success, or why not and the end

After SaslHandshake v0 the token is the next frame, without a header, and so is its answer.

Kafka: SaslServerAuthenticator, PlainSaslServer (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from workbench.runtime.error_codes import ErrorCode
from workbench.server.protocol.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from workbench.server.protocol.frames import SIZE, Request, read_request, response_frame
from workbench.server.protocol.requests import (
    SaslAuthenticateRequestData,
    SaslHandshakeRequestData,
)
from workbench.server.protocol.responses import (
    SaslAuthenticateResponseData,
    SaslHandshakeResponseData,
)
from workbench.server.security import Passwords

PLAIN: Final = "PLAIN"
_PARTS: Final = 3  # of a token: authorization id, name, password
LARGEST_FRAME: Final = 1 << 16
"""Bytes of a request before its client is known; Kafka: `sasl.server.max.receive.size`."""


class SaslAnswer(NamedTuple):
    """What is answered to one frame.

    Attributes:
        parts: of the response.
        problem: why the connection ends; None: it continues.
    """

    parts: list[bytes]
    problem: str | None = None


class SaslAuthenticator:
    """The exchange of one connection.

    Args:
        passwords: the users.

    Attributes:
        user: the user that has connected; None before that.
    """

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords
        self._handshake_version: int | None = None
        self.user: str | None = None

    def answer(self, frame: bytes) -> SaslAnswer | Request:
        """Return the answer to a frame, or a request that is answered as always.

        Raises:
            UnsupportedApiVersionsError, UnknownRequestError: see `read_request`.
        """
        if self._handshake_version == 0:
            problem = self._authenticate(frame)
            return SaslAnswer([SIZE.pack(0)] if problem is None else [], problem)
        request = read_request(frame)
        if request.api is API_VERSIONS:
            return request
        if request.api is SASL_HANDSHAKE and self._handshake_version is None:
            return self._handshake(request)
        if request.api is SASL_AUTHENTICATE and self._handshake_version is not None:
            token: SaslAuthenticateRequestData = request.values
            problem = self._authenticate(token["authBytes"])
            is_right = problem is None
            values: SaslAuthenticateResponseData = {
                "errorCode": ErrorCode.NONE if is_right else ErrorCode.SASL_AUTHENTICATION_FAILED,
                "errorMessage": problem,
                "authBytes": b"",
            }
            return SaslAnswer(_frame(request, values), problem)
        return SaslAnswer([], f"{request.api.name} before the client has said who it is")

    def _handshake(self, request: Request) -> SaslAnswer:
        asked: SaslHandshakeRequestData = request.values
        values: SaslHandshakeResponseData = {"errorCode": ErrorCode.NONE, "mechanisms": [PLAIN]}
        if asked["mechanism"] == PLAIN:
            self._handshake_version = request.version
            return SaslAnswer(_frame(request, values))
        values["errorCode"] = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        problem = f"SASL mechanism {asked['mechanism']!r} (expected {PLAIN})"
        return SaslAnswer(_frame(request, values), problem)

    def _authenticate(self, token: bytes) -> str | None:
        """Return why a token is refused; None if it is right.

        Kafka: PlainSaslServer.evaluateResponse (4.2)
        """
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            parts = []
        if len(parts) != _PARTS:
            return "Invalid SASL/PLAIN response: expected 3 tokens"
        authorization_id, name, password = parts
        if not name or not password:
            return "Authentication failed: username or password not specified"
        if authorization_id not in {"", name}:
            return (
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        if not self._passwords.allow(name, password):
            return "Authentication failed: Invalid username or password"
        self.user = name
        return None


def _frame(request: Request, values: Mapping[str, Any]) -> list[bytes]:
    return response_frame(request.api, request.version, request.correlation_id, values)
