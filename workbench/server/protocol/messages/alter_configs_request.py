"""AlterConfigsRequest in versions 0 to 2; `make messages` writes it."""

from typing import TypedDict


class AlterableConfig(TypedDict):
    """Kafka: AlterConfigsRequestData.AlterableConfig (4.3)."""

    name: str
    value: str | None


class AlterConfigsResource(TypedDict):
    """Kafka: AlterConfigsRequestData.AlterConfigsResource (4.3)."""

    resourceType: int
    resourceName: str
    configs: list[AlterableConfig]


class AlterConfigsRequest(TypedDict):
    """Kafka: AlterConfigsRequestData (4.3)."""

    resources: list[AlterConfigsResource]
    validateOnly: bool
