"""RegisterControllerRecord in version 0; `make messages` writes it."""

from typing import TypedDict


class ControllerEndpoint(TypedDict):
    """Kafka: RegisterControllerRecord.ControllerEndpoint (4.3)."""

    name: str
    host: str
    port: int
    securityProtocol: int


class ControllerFeature(TypedDict):
    """Kafka: RegisterControllerRecord.ControllerFeature (4.3)."""

    name: str
    minSupportedVersion: int
    maxSupportedVersion: int


class RegisterControllerRecord(TypedDict):
    """Kafka: RegisterControllerRecord (4.3)."""

    controllerId: int
    incarnationId: str
    zkMigrationReady: bool
    endPoints: list[ControllerEndpoint]
    features: list[ControllerFeature]
