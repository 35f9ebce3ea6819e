"""CreatePartitionsRequest in versions 0 to 3; `make messages` writes it."""

from typing import TypedDict


class CreatePartitionsAssignment(TypedDict):
    """Kafka: CreatePartitionsRequestData.CreatePartitionsAssignment (4.3)."""

    brokerIds: list[int]


class CreatePartitionsTopic(TypedDict):
    """Kafka: CreatePartitionsRequestData.CreatePartitionsTopic (4.3)."""

    name: str
    count: int
    assignments: list[CreatePartitionsAssignment] | None


class CreatePartitionsRequest(TypedDict):
    """Kafka: CreatePartitionsRequestData (4.3)."""

    topics: list[CreatePartitionsTopic]
    timeoutMs: int
    validateOnly: bool
