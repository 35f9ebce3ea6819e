"""UserScramCredentialRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class UserScramCredentialRecord(TypedDict):
    """Kafka: UserScramCredentialRecord (4.3)."""

    name: str
    mechanism: int
    salt: bytes
    storedKey: bytes
    serverKey: bytes
    iterations: int
