"""Records of Kafka's topics as mypy sees them; `make messages` writes it."""

from typing import NotRequired, TypedDict


class RegisterBrokerRecordBrokerEndpoint(TypedDict):
    """Kafka: RegisterBrokerRecord.BrokerEndpoint (4.3)."""

    name: str
    host: str
    port: int
    securityProtocol: int


class RegisterBrokerRecordBrokerFeature(TypedDict):
    """Kafka: RegisterBrokerRecord.BrokerFeature (4.3)."""

    name: str
    minSupportedVersion: int
    maxSupportedVersion: int


class RegisterBrokerRecord(TypedDict):
    """Kafka: RegisterBrokerRecord (4.3), versions 0 to 4."""

    brokerId: int
    incarnationId: str
    brokerEpoch: int
    endPoints: list[RegisterBrokerRecordBrokerEndpoint]
    features: list[RegisterBrokerRecordBrokerFeature]
    rack: str | None
    fenced: bool
    inControlledShutdown: NotRequired[bool]
    isMigratingZkBroker: NotRequired[bool]
    logDirs: NotRequired[list[str]]
    cordonedLogDirs: NotRequired[list[str] | None]


class UnregisterBrokerRecord(TypedDict):
    """Kafka: UnregisterBrokerRecord (4.3), version 0."""

    brokerId: int
    brokerEpoch: int


class TopicRecord(TypedDict):
    """Kafka: TopicRecord (4.3), version 0."""

    name: str
    topicId: str


class PartitionRecord(TypedDict):
    """Kafka: PartitionRecord (4.3), versions 0 to 2."""

    partitionId: int
    topicId: str
    replicas: list[int]
    isr: list[int]
    removingReplicas: list[int]
    addingReplicas: list[int]
    leader: int
    leaderRecoveryState: NotRequired[int]
    leaderEpoch: int
    partitionEpoch: int
    directories: NotRequired[list[str]]
    eligibleLeaderReplicas: NotRequired[list[int] | None]
    lastKnownElr: NotRequired[list[int] | None]


class ConfigRecord(TypedDict):
    """Kafka: ConfigRecord (4.3), version 0."""

    resourceType: int
    resourceName: str
    name: str
    value: str | None


class PartitionChangeRecord(TypedDict):
    """Kafka: PartitionChangeRecord (4.3), versions 0 to 2."""

    partitionId: int
    topicId: str
    isr: NotRequired[list[int] | None]
    leader: NotRequired[int]
    replicas: NotRequired[list[int] | None]
    removingReplicas: NotRequired[list[int] | None]
    addingReplicas: NotRequired[list[int] | None]
    leaderRecoveryState: NotRequired[int]
    directories: NotRequired[list[str] | None]
    eligibleLeaderReplicas: NotRequired[list[int] | None]
    lastKnownElr: NotRequired[list[int] | None]


class FenceBrokerRecord(TypedDict):
    """Kafka: FenceBrokerRecord (4.3), version 0."""

    id: int
    epoch: int


class UnfenceBrokerRecord(TypedDict):
    """Kafka: UnfenceBrokerRecord (4.3), version 0."""

    id: int
    epoch: int


class RemoveTopicRecord(TypedDict):
    """Kafka: RemoveTopicRecord (4.3), version 0."""

    topicId: str


class DelegationTokenRecord(TypedDict):
    """Kafka: DelegationTokenRecord (4.3), version 0."""

    owner: str
    requester: str
    renewers: list[str]
    issueTimestamp: int
    maxTimestamp: int
    expirationTimestamp: int
    tokenId: str


class UserScramCredentialRecord(TypedDict):
    """Kafka: UserScramCredentialRecord (4.3), version 0."""

    name: str
    mechanism: int
    salt: bytes
    storedKey: bytes
    serverKey: bytes
    iterations: int


class FeatureLevelRecord(TypedDict):
    """Kafka: FeatureLevelRecord (4.3), version 0."""

    name: str
    featureLevel: int


class ClientQuotaRecordEntityData(TypedDict):
    """Kafka: ClientQuotaRecord.EntityData (4.3)."""

    entityType: str
    entityName: str | None


class ClientQuotaRecord(TypedDict):
    """Kafka: ClientQuotaRecord (4.3), version 0."""

    entity: list[ClientQuotaRecordEntityData]
    key: str
    value: float
    remove: bool


class ProducerIdsRecord(TypedDict):
    """Kafka: ProducerIdsRecord (4.3), version 0."""

    brokerId: int
    brokerEpoch: int
    nextProducerId: int


class BrokerRegistrationChangeRecord(TypedDict):
    """Kafka: BrokerRegistrationChangeRecord (4.3), versions 0 to 3."""

    brokerId: int
    brokerEpoch: int
    fenced: NotRequired[int]
    inControlledShutdown: NotRequired[int]
    logDirs: NotRequired[list[str]]
    cordonedLogDirs: NotRequired[list[str] | None]


class AccessControlEntryRecord(TypedDict):
    """Kafka: AccessControlEntryRecord (4.3), version 0."""

    id: str
    resourceType: int
    resourceName: str
    patternType: int
    principal: str
    host: str
    operation: int
    permissionType: int


class RemoveAccessControlEntryRecord(TypedDict):
    """Kafka: RemoveAccessControlEntryRecord (4.3), version 0."""

    id: str


class NoOpRecord(TypedDict):
    """Kafka: NoOpRecord (4.3), version 0."""


class ZkMigrationStateRecord(TypedDict):
    """Kafka: ZkMigrationStateRecord (4.3), version 0."""

    zkMigrationState: int


class RemoveUserScramCredentialRecord(TypedDict):
    """Kafka: RemoveUserScramCredentialRecord (4.3), version 0."""

    name: str
    mechanism: int


class BeginTransactionRecord(TypedDict):
    """Kafka: BeginTransactionRecord (4.3), version 0."""

    name: NotRequired[str | None]


class EndTransactionRecord(TypedDict):
    """Kafka: EndTransactionRecord (4.3), version 0."""


class AbortTransactionRecord(TypedDict):
    """Kafka: AbortTransactionRecord (4.3), version 0."""

    reason: NotRequired[str | None]


class RemoveDelegationTokenRecord(TypedDict):
    """Kafka: RemoveDelegationTokenRecord (4.3), version 0."""

    tokenId: str


class RegisterControllerRecordControllerEndpoint(TypedDict):
    """Kafka: RegisterControllerRecord.ControllerEndpoint (4.3)."""

    name: str
    host: str
    port: int
    securityProtocol: int


class RegisterControllerRecordControllerFeature(TypedDict):
    """Kafka: RegisterControllerRecord.ControllerFeature (4.3)."""

    name: str
    minSupportedVersion: int
    maxSupportedVersion: int


class RegisterControllerRecord(TypedDict):
    """Kafka: RegisterControllerRecord (4.3), version 0."""

    controllerId: int
    incarnationId: str
    zkMigrationReady: bool
    endPoints: list[RegisterControllerRecordControllerEndpoint]
    features: list[RegisterControllerRecordControllerFeature]


class ClearElrRecord(TypedDict):
    """Kafka: ClearElrRecord (4.3), version 0."""

    topicName: str


class UnregisterControllerRecord(TypedDict):
    """Kafka: UnregisterControllerRecord (4.3), version 0."""

    controllerId: int


class LeaderChangeMessageVoter(TypedDict):
    """Kafka: LeaderChangeMessage.Voter (4.3)."""

    voterId: int
    voterDirectoryId: NotRequired[str]


class LeaderChangeMessage(TypedDict):
    """Kafka: LeaderChangeMessage (4.3), versions 0 to 1."""

    version: int
    leaderId: int
    voters: list[LeaderChangeMessageVoter]
    grantingVoters: list[LeaderChangeMessageVoter]


class SnapshotHeaderRecord(TypedDict):
    """Kafka: SnapshotHeaderRecord (4.3), version 0."""

    version: int
    lastContainedLogTimestamp: int


class SnapshotFooterRecord(TypedDict):
    """Kafka: SnapshotFooterRecord (4.3), version 0."""

    version: int


class KRaftVersionRecord(TypedDict):
    """Kafka: KRaftVersionRecord (4.3), version 0."""

    version: int
    kRaftVersion: int


class VotersRecordEndpoint(TypedDict):
    """Kafka: VotersRecord.Endpoint (4.3)."""

    name: str
    host: str
    port: int


class VotersRecordKRaftVersionFeature(TypedDict):
    """Kafka: VotersRecord.KRaftVersionFeature (4.3)."""

    minSupportedVersion: int
    maxSupportedVersion: int


class VotersRecordVoter(TypedDict):
    """Kafka: VotersRecord.Voter (4.3)."""

    voterId: int
    voterDirectoryId: str
    endpoints: list[VotersRecordEndpoint]
    kRaftVersionFeature: VotersRecordKRaftVersionFeature


class VotersRecord(TypedDict):
    """Kafka: VotersRecord (4.3), version 0."""

    version: int
    voters: list[VotersRecordVoter]


class OffsetCommitValue(TypedDict):
    """Kafka: OffsetCommitValue (4.3), versions 0 to 4."""

    offset: int
    metadata: str
    commitTimestamp: int
    expireTimestamp: NotRequired[int]
    leaderEpoch: NotRequired[int]
    topicId: NotRequired[str]


class TransactionLogValuePartitionsSchema(TypedDict):
    """Kafka: TransactionLogValue.PartitionsSchema (4.3)."""

    topic: str
    partitionIds: list[int]


class TransactionLogValue(TypedDict):
    """Kafka: TransactionLogValue (4.3), versions 0 to 1."""

    producerId: int
    producerEpoch: int
    transactionTimeoutMs: int
    transactionStatus: int
    transactionPartitions: list[TransactionLogValuePartitionsSchema] | None
    transactionLastUpdateTimestampMs: int
    transactionStartTimestampMs: int
    previousProducerId: NotRequired[int]
    nextProducerId: NotRequired[int]
    nextProducerEpoch: NotRequired[int]
    clientTransactionVersion: NotRequired[int]
