"""CreateTopicsRequest in versions 0 to 7; `make messages` writes it."""

from typing import NotRequired, TypedDict


class CreatableReplicaAssignment(TypedDict):
    """Kafka: CreateTopicsRequestData.CreatableReplicaAssignment (4.3)."""

    partitionIndex: int
    brokerIds: list[int]


class CreatableTopicConfig(TypedDict):
    """Kafka: CreateTopicsRequestData.CreatableTopicConfig (4.3)."""

    name: str
    value: str | None


class CreatableTopic(TypedDict):
    """Kafka: CreateTopicsRequestData.CreatableTopic (4.3)."""

    name: str
    numPartitions: int
    replicationFactor: int
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]


class CreateTopicsRequest(TypedDict):
    """Kafka: CreateTopicsRequestData (4.3)."""

    topics: list[CreatableTopic]
    timeoutMs: int
    validateOnly: NotRequired[bool]
