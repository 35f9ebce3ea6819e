"""Who may connect, and how the connection is protected: TLS, and names with passwords.

Kafka: SslFactory, PlainServerCallbackHandler, PlainSaslServer (4.2)
"""

import hmac
import os
import ssl
import stat
from dataclasses import dataclass
from typing import Final, Self

from workbench.errors import ServerError
from workbench.file_system.source import read_small

_MOST_BYTES: Final = 1 << 20
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class ServerSecurity:
    """How connections are protected.

    Attributes:
        certificate: path of the server's certificate with those that signed it, PEM; None: no TLS.
        key: path of its private key, PEM; None: it is in the same file.
        passwords: path of a file with a line ``name:password`` for each user; None: everybody may
            connect.
    """

    certificate: "str | os.PathLike[str] | None" = None
    key: "str | os.PathLike[str] | None" = None
    passwords: "str | os.PathLike[str] | None" = None

    @property
    def is_complete(self) -> bool:
        """Whether connections are encrypted and only users with a password may connect."""
        return self.certificate is not None and self.passwords is not None


def tls_context(security: ServerSecurity) -> ssl.SSLContext | None:
    """Return what TLS needs; None without it.

    Raises:
        ServerError: a file cannot be read, or is not a certificate with its key.
    """
    if security.certificate is None:
        if security.key is not None:
            raise ServerError(os.fspath(security.key), "is a key without a certificate")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        for path in (security.certificate, security.key):
            if path is not None:  # OpenSSL waits for whoever writes to a FIFO
                read_small(os.fspath(path), _MOST_BYTES)
        context.load_cert_chain(security.certificate, security.key)
    except (OSError, ssl.SSLError) as error:
        where = os.fspath(security.certificate)
        raise ServerError(
            where, f"cannot be used: {error} (expected a certificate and its key in PEM)"
        ) from error
    return context


class Passwords:
    """The users of a server.

    Args:
        users: name → password.
        is_readable_by_others: whether the file's mode lets others read it.
    """

    def __init__(self, users: dict[str, str], *, is_readable_by_others: bool = False) -> None:
        self._users = users
        self.is_readable_by_others = is_readable_by_others

    @classmethod
    def read(cls, path: "str | os.PathLike[str]") -> Self:
        """Read a file with a line ``name:password`` for each user; ``#`` begins a comment.

        Raises:
            ServerError: it cannot be read, or a line is of another form.
        """
        where = os.fspath(path)
        try:
            mode = os.stat(where).st_mode
            lines = read_small(where, _MOST_BYTES).decode().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ServerError(where, f"cannot be read: {error}") from error
        users: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, colon, password = line.partition(":")
            if not (name and colon and password):
                raise ServerError(where, f"line {number} is not of the form name:password")
            users[name] = password
        if not users:
            raise ServerError(where, "names no user (expected lines of the form name:password)")
        return cls(users, is_readable_by_others=bool(mode & _OTHERS))

    def allow(self, name: str, password: str) -> bool:
        """Return whether a user has this password, in a time that does not show how much of it."""
        known = self._users.get(name)
        is_right = hmac.compare_digest((known or "").encode(), password.encode())
        return known is not None and is_right
