"""RegisterBrokerRecord in versions 0 to 4; `make messages` writes it."""

from typing import NotRequired, TypedDict


class BrokerEndpoint(TypedDict):
    """Kafka: RegisterBrokerRecord.BrokerEndpoint (4.3)."""

    name: str
    host: str
    port: int
    securityProtocol: int


class BrokerFeature(TypedDict):
    """Kafka: RegisterBrokerRecord.BrokerFeature (4.3)."""

    name: str
    minSupportedVersion: int
    maxSupportedVersion: int


class RegisterBrokerRecord(TypedDict):
    """Kafka: RegisterBrokerRecord (4.3)."""

    brokerId: int
    incarnationId: str
    brokerEpoch: int
    endPoints: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: str | None
    fenced: bool
    inControlledShutdown: NotRequired[bool]
    isMigratingZkBroker: NotRequired[bool]
    logDirs: NotRequired[list[str]]
    cordonedLogDirs: NotRequired[list[str] | None]
