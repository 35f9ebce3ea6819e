"""VotersRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class Endpoint(TypedDict):
    """Kafka: VotersRecord.Endpoint (4.3)."""

    name: str
    host: str
    port: int


class KRaftVersionFeature(TypedDict):
    """Kafka: VotersRecord.KRaftVersionFeature (4.3)."""

    minSupportedVersion: int
    maxSupportedVersion: int


class Voter(TypedDict):
    """Kafka: VotersRecord.Voter (4.3)."""

    voterId: int
    voterDirectoryId: str
    endpoints: list[Endpoint]
    kRaftVersionFeature: KRaftVersionFeature


class VotersRecord(TypedDict):
    """Kafka: VotersRecord (4.3)."""

    version: int
    voters: list[Voter]
