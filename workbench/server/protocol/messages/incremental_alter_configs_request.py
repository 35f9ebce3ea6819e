"""IncrementalAlterConfigsRequest in versions 0 to 1; `make messages` writes it."""

from typing import TypedDict


class AlterableConfig(TypedDict):
    """Kafka: IncrementalAlterConfigsRequestData.AlterableConfig (4.3)."""

    name: str
    configOperation: int
    value: str | None


class AlterConfigsResource(TypedDict):
    """Kafka: IncrementalAlterConfigsRequestData.AlterConfigsResource (4.3)."""

    resourceType: int
    resourceName: str
    configs: list[AlterableConfig]


class IncrementalAlterConfigsRequest(TypedDict):
    """Kafka: IncrementalAlterConfigsRequestData (4.3)."""

    resources: list[AlterConfigsResource]
    validateOnly: bool
