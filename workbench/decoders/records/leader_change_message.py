"""LeaderChangeMessage in versions 0 to 1; `make messages` writes it."""

from typing import NotRequired, TypedDict


class Voter(TypedDict):
    """Kafka: LeaderChangeMessage.Voter (4.3)."""

    voterId: int
    voterDirectoryId: NotRequired[str]


class LeaderChangeMessage(TypedDict):
    """Kafka: LeaderChangeMessage (4.3)."""

    version: int
    leaderId: int
    voters: list[Voter]
    grantingVoters: list[Voter]
