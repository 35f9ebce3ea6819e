"""BrokerRegistrationChangeRecord in versions 0 to 3; `make messages` writes it."""

from typing import NotRequired, TypedDict


class BrokerRegistrationChangeRecord(TypedDict):
    """Kafka: BrokerRegistrationChangeRecord (4.3)."""

    brokerId: int
    brokerEpoch: int
    fenced: NotRequired[int]
    inControlledShutdown: NotRequired[int]
    logDirs: NotRequired[list[str]]
    cordonedLogDirs: NotRequired[list[str] | None]
