"""RemoveUserScramCredentialRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class RemoveUserScramCredentialRecord(TypedDict):
    """Kafka: RemoveUserScramCredentialRecord (4.3)."""

    name: str
    mechanism: int
