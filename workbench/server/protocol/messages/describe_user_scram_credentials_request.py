"""DescribeUserScramCredentialsRequest in version 0; `make messages` writes it."""

from typing import TypedDict


class UserName(TypedDict):
    """Kafka: DescribeUserScramCredentialsRequestData.UserName (4.3)."""

    name: str


class DescribeUserScramCredentialsRequest(TypedDict):
    """Kafka: DescribeUserScramCredentialsRequestData (4.3)."""

    users: list[UserName] | None
