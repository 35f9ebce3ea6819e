"""Requests of clients as mypy sees them; `make messages` writes it."""

from typing import NotRequired, TypedDict


class ApiVersionsRequestData(TypedDict):
    """Kafka: ApiVersionsRequestData (4.3), versions 0 to 4."""

    clientSoftwareName: NotRequired[str]
    clientSoftwareVersion: NotRequired[str]


class MetadataRequestTopic(TypedDict):
    """Kafka: MetadataRequestData.MetadataRequestTopic (4.3)."""

    name: str | None
    topicId: NotRequired[str]


class MetadataRequestData(TypedDict):
    """Kafka: MetadataRequestData (4.3), versions 0 to 13."""

    topics: list[MetadataRequestTopic] | None
    allowAutoTopicCreation: NotRequired[bool]
    includeClusterAuthorizedOperations: NotRequired[bool]
    includeTopicAuthorizedOperations: NotRequired[bool]


class DescribeTopicPartitionsRequestTopic(TypedDict):
    """Kafka: DescribeTopicPartitionsRequestData.TopicRequest (4.3)."""

    name: str


class DescribeTopicPartitionsRequestCursor(TypedDict):
    """Kafka: DescribeTopicPartitionsRequestData.Cursor (4.3)."""

    topicName: str
    partitionIndex: int


class DescribeTopicPartitionsRequestData(TypedDict):
    """Kafka: DescribeTopicPartitionsRequestData (4.3), version 0."""

    topics: list[DescribeTopicPartitionsRequestTopic]
    responsePartitionLimit: int
    cursor: DescribeTopicPartitionsRequestCursor | None


class DescribeClusterRequestData(TypedDict):
    """Kafka: DescribeClusterRequestData (4.3), versions 0 to 2."""

    includeClusterAuthorizedOperations: bool
    endpointType: NotRequired[int]
    includeFencedBrokers: NotRequired[bool]


class DescribeConfigsRequestResource(TypedDict):
    """Kafka: DescribeConfigsRequestData.DescribeConfigsResource (4.3)."""

    resourceType: int
    resourceName: str
    configurationKeys: list[str] | None


class DescribeConfigsRequestData(TypedDict):
    """Kafka: DescribeConfigsRequestData (4.3), versions 0 to 4."""

    resources: list[DescribeConfigsRequestResource]
    includeSynonyms: NotRequired[bool]
    includeDocumentation: NotRequired[bool]


class AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(TypedDict):
    """Kafka: AlterReplicaLogDirsRequestData.AlterReplicaLogDirTopic (4.3)."""

    name: str
    partitions: list[int]


class AlterReplicaLogDirsRequestAlterReplicaLogDir(TypedDict):
    """Kafka: AlterReplicaLogDirsRequestData.AlterReplicaLogDir (4.3)."""

    path: str
    topics: list[AlterReplicaLogDirsRequestAlterReplicaLogDirTopic]


class AlterReplicaLogDirsRequestData(TypedDict):
    """Kafka: AlterReplicaLogDirsRequestData (4.3), versions 1 to 2."""

    dirs: list[AlterReplicaLogDirsRequestAlterReplicaLogDir]


class DescribeLogDirsRequestDescribableLogDirTopic(TypedDict):
    """Kafka: DescribeLogDirsRequestData.DescribableLogDirTopic (4.3)."""

    topic: str
    partitions: list[int]


class DescribeLogDirsRequestData(TypedDict):
    """Kafka: DescribeLogDirsRequestData (4.3), versions 0 to 4."""

    topics: list[DescribeLogDirsRequestDescribableLogDirTopic] | None


class FetchRequestPartition(TypedDict):
    """Kafka: FetchRequestData.FetchPartition (4.3)."""

    partition: int
    fetchOffset: int
    partitionMaxBytes: int
    logStartOffset: NotRequired[int]
    currentLeaderEpoch: NotRequired[int]
    lastFetchedEpoch: NotRequired[int]
    replicaDirectoryId: NotRequired[str]
    highWatermark: NotRequired[int]


class FetchRequestTopic(TypedDict):
    """Kafka: FetchRequestData.FetchTopic (4.3)."""

    topic: NotRequired[str]
    partitions: list[FetchRequestPartition]
    topicId: NotRequired[str]


class FetchRequestForgottenTopic(TypedDict):
    """Kafka: FetchRequestData.ForgottenTopic (4.3)."""

    topic: NotRequired[str]
    partitions: list[int]
    topicId: NotRequired[str]


class FetchRequestReplicaState(TypedDict):
    """Kafka: FetchRequestData.ReplicaState (4.3)."""

    replicaId: int
    replicaEpoch: int


class FetchRequestData(TypedDict):
    """Kafka: FetchRequestData (4.3), versions 4 to 18."""

    replicaId: NotRequired[int]
    maxWaitMs: int
    minBytes: int
    maxBytes: int
    isolationLevel: int
    topics: list[FetchRequestTopic]
    sessionId: NotRequired[int]
    sessionEpoch: NotRequired[int]
    forgottenTopicsData: NotRequired[list[FetchRequestForgottenTopic]]
    rackId: NotRequired[str]
    clusterId: NotRequired[str | None]
    replicaState: NotRequired[FetchRequestReplicaState]


class ListOffsetsRequestPartition(TypedDict):
    """Kafka: ListOffsetsRequestData.ListOffsetsPartition (4.3)."""

    partitionIndex: int
    timestamp: int
    currentLeaderEpoch: NotRequired[int]


class ListOffsetsRequestTopic(TypedDict):
    """Kafka: ListOffsetsRequestData.ListOffsetsTopic (4.3)."""

    name: str
    partitions: list[ListOffsetsRequestPartition]


class ListOffsetsRequestData(TypedDict):
    """Kafka: ListOffsetsRequestData (4.3), versions 1 to 11."""

    replicaId: int
    topics: list[ListOffsetsRequestTopic]
    isolationLevel: NotRequired[int]
    timeoutMs: NotRequired[int]


class OffsetForLeaderEpochRequestOffsetForLeaderPartition(TypedDict):
    """Kafka: OffsetForLeaderEpochRequestData.OffsetForLeaderPartition (4.3)."""

    partition: int
    leaderEpoch: int
    currentLeaderEpoch: NotRequired[int]


class OffsetForLeaderEpochRequestOffsetForLeaderTopic(TypedDict):
    """Kafka: OffsetForLeaderEpochRequestData.OffsetForLeaderTopic (4.3)."""

    topic: str
    partitions: list[OffsetForLeaderEpochRequestOffsetForLeaderPartition]


class OffsetForLeaderEpochRequestData(TypedDict):
    """Kafka: OffsetForLeaderEpochRequestData (4.3), versions 0 to 4."""

    topics: list[OffsetForLeaderEpochRequestOffsetForLeaderTopic]
    replicaId: NotRequired[int]


class FindCoordinatorRequestData(TypedDict):
    """Kafka: FindCoordinatorRequestData (4.3), versions 0 to 6."""

    key: NotRequired[str]
    keyType: NotRequired[int]
    coordinatorKeys: NotRequired[list[str]]


class JoinGroupRequestProtocol(TypedDict):
    """Kafka: JoinGroupRequestData.JoinGroupRequestProtocol (4.3)."""

    name: str
    metadata: bytes


class JoinGroupRequestData(TypedDict):
    """Kafka: JoinGroupRequestData (4.3), versions 0 to 9."""

    groupId: str
    sessionTimeoutMs: int
    memberId: str
    protocolType: str
    protocols: list[JoinGroupRequestProtocol]
    rebalanceTimeoutMs: NotRequired[int]
    groupInstanceId: NotRequired[str | None]
    reason: NotRequired[str | None]


class SyncGroupRequestAssignment(TypedDict):
    """Kafka: SyncGroupRequestData.SyncGroupRequestAssignment (4.3)."""

    memberId: str
    assignment: bytes


class SyncGroupRequestData(TypedDict):
    """Kafka: SyncGroupRequestData (4.3), versions 0 to 5."""

    groupId: str
    generationId: int
    memberId: str
    assignments: list[SyncGroupRequestAssignment]
    groupInstanceId: NotRequired[str | None]
    protocolType: NotRequired[str | None]
    protocolName: NotRequired[str | None]


class HeartbeatRequestData(TypedDict):
    """Kafka: HeartbeatRequestData (4.3), versions 0 to 4."""

    groupId: str
    generationId: int
    memberId: str
    groupInstanceId: NotRequired[str | None]


class LeaveGroupRequestMemberIdentity(TypedDict):
    """Kafka: LeaveGroupRequestData.MemberIdentity (4.3)."""

    memberId: str
    groupInstanceId: str | None
    reason: NotRequired[str | None]


class LeaveGroupRequestData(TypedDict):
    """Kafka: LeaveGroupRequestData (4.3), versions 0 to 5."""

    groupId: str
    memberId: NotRequired[str]
    members: NotRequired[list[LeaveGroupRequestMemberIdentity]]


class OffsetCommitRequestPartition(TypedDict):
    """Kafka: OffsetCommitRequestData.OffsetCommitRequestPartition (4.3)."""

    partitionIndex: int
    committedOffset: int
    committedMetadata: str | None
    committedLeaderEpoch: NotRequired[int]


class OffsetCommitRequestTopic(TypedDict):
    """Kafka: OffsetCommitRequestData.OffsetCommitRequestTopic (4.3)."""

    name: NotRequired[str]
    partitions: list[OffsetCommitRequestPartition]
    topicId: NotRequired[str]


class OffsetCommitRequestData(TypedDict):
    """Kafka: OffsetCommitRequestData (4.3), versions 2 to 10."""

    groupId: str
    generationIdOrMemberEpoch: int
    memberId: str
    retentionTimeMs: NotRequired[int]
    topics: list[OffsetCommitRequestTopic]
    groupInstanceId: NotRequired[str | None]


class OffsetFetchRequestTopic(TypedDict):
    """Kafka: OffsetFetchRequestData.OffsetFetchRequestTopic (4.3)."""

    name: str
    partitionIndexes: list[int]


class OffsetFetchRequestTopics(TypedDict):
    """Kafka: OffsetFetchRequestData.OffsetFetchRequestTopics (4.3)."""

    name: NotRequired[str]
    partitionIndexes: list[int]
    topicId: NotRequired[str]


class OffsetFetchRequestGroup(TypedDict):
    """Kafka: OffsetFetchRequestData.OffsetFetchRequestGroup (4.3)."""

    groupId: str
    topics: list[OffsetFetchRequestTopics] | None
    memberId: NotRequired[str | None]
    memberEpoch: NotRequired[int]


class OffsetFetchRequestData(TypedDict):
    """Kafka: OffsetFetchRequestData (4.3), versions 1 to 10."""

    groupId: NotRequired[str]
    topics: NotRequired[list[OffsetFetchRequestTopic] | None]
    requireStable: NotRequired[bool]
    groups: NotRequired[list[OffsetFetchRequestGroup]]


class DescribeGroupsRequestData(TypedDict):
    """Kafka: DescribeGroupsRequestData (4.3), versions 0 to 6."""

    groups: list[str]
    includeAuthorizedOperations: NotRequired[bool]


class ListGroupsRequestData(TypedDict):
    """Kafka: ListGroupsRequestData (4.3), versions 0 to 5."""

    statesFilter: NotRequired[list[str]]
    typesFilter: NotRequired[list[str]]


class ConsumerGroupDescribeRequestData(TypedDict):
    """Kafka: ConsumerGroupDescribeRequestData (4.3), versions 0 to 1."""

    groupIds: list[str]
    includeAuthorizedOperations: bool


class ConsumerGroupHeartbeatRequestTopicPartitions(TypedDict):
    """Kafka: ConsumerGroupHeartbeatRequestData.TopicPartitions (4.3)."""

    topicId: str
    partitions: list[int]


class ConsumerGroupHeartbeatRequestData(TypedDict):
    """Kafka: ConsumerGroupHeartbeatRequestData (4.3), versions 0 to 1."""

    groupId: str
    memberId: str
    memberEpoch: int
    instanceId: str | None
    rackId: str | None
    rebalanceTimeoutMs: int
    subscribedTopicNames: list[str] | None
    serverAssignor: str | None
    topicPartitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None
    subscribedTopicRegex: NotRequired[str | None]


class InitProducerIdRequestData(TypedDict):
    """Kafka: InitProducerIdRequestData (4.3), versions 0 to 5."""

    transactionalId: str | None
    transactionTimeoutMs: int
    producerId: NotRequired[int]
    producerEpoch: NotRequired[int]


class AddPartitionsToTxnRequestTopic(TypedDict):
    """Kafka: AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic (4.3)."""

    name: str
    partitions: list[int]


class AddPartitionsToTxnRequestTransaction(TypedDict):
    """Kafka: AddPartitionsToTxnRequestData.AddPartitionsToTxnTransaction (4.3)."""

    transactionalId: str
    producerId: int
    producerEpoch: int
    verifyOnly: bool
    topics: list[AddPartitionsToTxnRequestTopic]


class AddPartitionsToTxnRequestData(TypedDict):
    """Kafka: AddPartitionsToTxnRequestData (4.3), versions 0 to 5."""

    v3AndBelowTransactionalId: NotRequired[str]
    v3AndBelowProducerId: NotRequired[int]
    v3AndBelowProducerEpoch: NotRequired[int]
    v3AndBelowTopics: NotRequired[list[AddPartitionsToTxnRequestTopic]]
    transactions: NotRequired[list[AddPartitionsToTxnRequestTransaction]]


class AddOffsetsToTxnRequestData(TypedDict):
    """Kafka: AddOffsetsToTxnRequestData (4.3), versions 0 to 4."""

    transactionalId: str
    producerId: int
    producerEpoch: int
    groupId: str


class EndTxnRequestData(TypedDict):
    """Kafka: EndTxnRequestData (4.3), versions 0 to 5."""

    transactionalId: str
    producerId: int
    producerEpoch: int
    committed: bool


class TxnOffsetCommitRequestPartition(TypedDict):
    """Kafka: TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition (4.3)."""

    partitionIndex: int
    committedOffset: int
    committedMetadata: str | None
    committedLeaderEpoch: NotRequired[int]


class TxnOffsetCommitRequestTopic(TypedDict):
    """Kafka: TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic (4.3)."""

    name: str
    partitions: list[TxnOffsetCommitRequestPartition]


class TxnOffsetCommitRequestData(TypedDict):
    """Kafka: TxnOffsetCommitRequestData (4.3), versions 0 to 5."""

    transactionalId: str
    groupId: str
    producerId: int
    producerEpoch: int
    topics: list[TxnOffsetCommitRequestTopic]
    generationId: NotRequired[int]
    memberId: NotRequired[str]
    groupInstanceId: NotRequired[str | None]


class WriteTxnMarkersRequestWritableTxnMarkerTopic(TypedDict):
    """Kafka: WriteTxnMarkersRequestData.WritableTxnMarkerTopic (4.3)."""

    name: str
    partitionIndexes: list[int]


class WriteTxnMarkersRequestWritableTxnMarker(TypedDict):
    """Kafka: WriteTxnMarkersRequestData.WritableTxnMarker (4.3)."""

    producerId: int
    producerEpoch: int
    transactionResult: bool
    topics: list[WriteTxnMarkersRequestWritableTxnMarkerTopic]
    coordinatorEpoch: int
    transactionVersion: NotRequired[int]


class WriteTxnMarkersRequestData(TypedDict):
    """Kafka: WriteTxnMarkersRequestData (4.3), versions 1 to 2."""

    markers: list[WriteTxnMarkersRequestWritableTxnMarker]


class DescribeProducersRequestTopic(TypedDict):
    """Kafka: DescribeProducersRequestData.TopicRequest (4.3)."""

    name: str
    partitionIndexes: list[int]


class DescribeProducersRequestData(TypedDict):
    """Kafka: DescribeProducersRequestData (4.3), version 0."""

    topics: list[DescribeProducersRequestTopic]


class DescribeTransactionsRequestData(TypedDict):
    """Kafka: DescribeTransactionsRequestData (4.3), version 0."""

    transactionalIds: list[str]


class ListTransactionsRequestData(TypedDict):
    """Kafka: ListTransactionsRequestData (4.3), versions 0 to 2."""

    stateFilters: list[str]
    producerIdFilters: list[int]
    durationFilter: NotRequired[int]
    transactionalIdPattern: NotRequired[str | None]


class ProduceRequestPartitionProduceData(TypedDict):
    """Kafka: ProduceRequestData.PartitionProduceData (4.3)."""

    index: int
    records: bytes | None


class ProduceRequestTopicProduceData(TypedDict):
    """Kafka: ProduceRequestData.TopicProduceData (4.3)."""

    name: NotRequired[str]
    partitionData: list[ProduceRequestPartitionProduceData]
    topicId: NotRequired[str]


class ProduceRequestData(TypedDict):
    """Kafka: ProduceRequestData (4.3), versions 0 to 13."""

    acks: int
    timeoutMs: int
    topicData: list[ProduceRequestTopicProduceData]
    transactionalId: NotRequired[str | None]


class CreateTopicsRequestCreatableReplicaAssignment(TypedDict):
    """Kafka: CreateTopicsRequestData.CreatableReplicaAssignment (4.3)."""

    partitionIndex: int
    brokerIds: list[int]


class CreateTopicsRequestCreatableTopicConfig(TypedDict):
    """Kafka: CreateTopicsRequestData.CreatableTopicConfig (4.3)."""

    name: str
    value: str | None


class CreateTopicsRequestCreatableTopic(TypedDict):
    """Kafka: CreateTopicsRequestData.CreatableTopic (4.3)."""

    name: str
    numPartitions: int
    replicationFactor: int
    assignments: list[CreateTopicsRequestCreatableReplicaAssignment]
    configs: list[CreateTopicsRequestCreatableTopicConfig]


class CreateTopicsRequestData(TypedDict):
    """Kafka: CreateTopicsRequestData (4.3), versions 0 to 7."""

    topics: list[CreateTopicsRequestCreatableTopic]
    timeoutMs: int
    validateOnly: NotRequired[bool]


class DeleteTopicsRequestDeleteTopicState(TypedDict):
    """Kafka: DeleteTopicsRequestData.DeleteTopicState (4.3)."""

    name: str | None
    topicId: str


class DeleteTopicsRequestData(TypedDict):
    """Kafka: DeleteTopicsRequestData (4.3), versions 0 to 6."""

    topicNames: NotRequired[list[str]]
    timeoutMs: int
    topics: NotRequired[list[DeleteTopicsRequestDeleteTopicState]]


class DeleteRecordsRequestPartition(TypedDict):
    """Kafka: DeleteRecordsRequestData.DeleteRecordsPartition (4.3)."""

    partitionIndex: int
    offset: int


class DeleteRecordsRequestTopic(TypedDict):
    """Kafka: DeleteRecordsRequestData.DeleteRecordsTopic (4.3)."""

    name: str
    partitions: list[DeleteRecordsRequestPartition]


class DeleteRecordsRequestData(TypedDict):
    """Kafka: DeleteRecordsRequestData (4.3), versions 0 to 2."""

    topics: list[DeleteRecordsRequestTopic]
    timeoutMs: int


class AlterConfigsRequestAlterableConfig(TypedDict):
    """Kafka: AlterConfigsRequestData.AlterableConfig (4.3)."""

    name: str
    value: str | None


class AlterConfigsRequestResource(TypedDict):
    """Kafka: AlterConfigsRequestData.AlterConfigsResource (4.3)."""

    resourceType: int
    resourceName: str
    configs: list[AlterConfigsRequestAlterableConfig]


class AlterConfigsRequestData(TypedDict):
    """Kafka: AlterConfigsRequestData (4.3), versions 0 to 2."""

    resources: list[AlterConfigsRequestResource]
    validateOnly: bool


class CreatePartitionsRequestAssignment(TypedDict):
    """Kafka: CreatePartitionsRequestData.CreatePartitionsAssignment (4.3)."""

    brokerIds: list[int]


class CreatePartitionsRequestTopic(TypedDict):
    """Kafka: CreatePartitionsRequestData.CreatePartitionsTopic (4.3)."""

    name: str
    count: int
    assignments: list[CreatePartitionsRequestAssignment] | None


class CreatePartitionsRequestData(TypedDict):
    """Kafka: CreatePartitionsRequestData (4.3), versions 0 to 3."""

    topics: list[CreatePartitionsRequestTopic]
    timeoutMs: int
    validateOnly: bool


class DeleteGroupsRequestData(TypedDict):
    """Kafka: DeleteGroupsRequestData (4.3), versions 0 to 2."""

    groupsNames: list[str]


class IncrementalAlterConfigsRequestAlterableConfig(TypedDict):
    """Kafka: IncrementalAlterConfigsRequestData.AlterableConfig (4.3)."""

    name: str
    configOperation: int
    value: str | None


class IncrementalAlterConfigsRequestAlterConfigsResource(TypedDict):
    """Kafka: IncrementalAlterConfigsRequestData.AlterConfigsResource (4.3)."""

    resourceType: int
    resourceName: str
    configs: list[IncrementalAlterConfigsRequestAlterableConfig]


class IncrementalAlterConfigsRequestData(TypedDict):
    """Kafka: IncrementalAlterConfigsRequestData (4.3), versions 0 to 1."""

    resources: list[IncrementalAlterConfigsRequestAlterConfigsResource]
    validateOnly: bool


class OffsetDeleteRequestPartition(TypedDict):
    """Kafka: OffsetDeleteRequestData.OffsetDeleteRequestPartition (4.3)."""

    partitionIndex: int


class OffsetDeleteRequestTopic(TypedDict):
    """Kafka: OffsetDeleteRequestData.OffsetDeleteRequestTopic (4.3)."""

    name: str
    partitions: list[OffsetDeleteRequestPartition]


class OffsetDeleteRequestData(TypedDict):
    """Kafka: OffsetDeleteRequestData (4.3), version 0."""

    groupId: str
    topics: list[OffsetDeleteRequestTopic]


class DescribeQuorumRequestPartitionData(TypedDict):
    """Kafka: DescribeQuorumRequestData.PartitionData (4.3)."""

    partitionIndex: int


class DescribeQuorumRequestTopicData(TypedDict):
    """Kafka: DescribeQuorumRequestData.TopicData (4.3)."""

    topicName: str
    partitions: list[DescribeQuorumRequestPartitionData]


class DescribeQuorumRequestData(TypedDict):
    """Kafka: DescribeQuorumRequestData (4.3), versions 0 to 2."""

    topics: list[DescribeQuorumRequestTopicData]


class ListConfigResourcesRequestData(TypedDict):
    """Kafka: ListConfigResourcesRequestData (4.3), versions 0 to 1."""

    resourceTypes: NotRequired[list[int]]


class ElectLeadersRequestTopicPartitions(TypedDict):
    """Kafka: ElectLeadersRequestData.TopicPartitions (4.3)."""

    topic: str
    partitions: list[int]


class ElectLeadersRequestData(TypedDict):
    """Kafka: ElectLeadersRequestData (4.3), versions 0 to 2."""

    topicPartitions: list[ElectLeadersRequestTopicPartitions] | None
    timeoutMs: int
    electionType: NotRequired[int]


class AlterPartitionReassignmentsRequestReassignablePartition(TypedDict):
    """Kafka: AlterPartitionReassignmentsRequestData.ReassignablePartition (4.3)."""

    partitionIndex: int
    replicas: list[int] | None


class AlterPartitionReassignmentsRequestReassignableTopic(TypedDict):
    """Kafka: AlterPartitionReassignmentsRequestData.ReassignableTopic (4.3)."""

    name: str
    partitions: list[AlterPartitionReassignmentsRequestReassignablePartition]


class AlterPartitionReassignmentsRequestData(TypedDict):
    """Kafka: AlterPartitionReassignmentsRequestData (4.3), versions 0 to 1."""

    timeoutMs: int
    topics: list[AlterPartitionReassignmentsRequestReassignableTopic]
    allowReplicationFactorChange: NotRequired[bool]


class ListPartitionReassignmentsRequestTopics(TypedDict):
    """Kafka: ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics (4.3)."""

    name: str
    partitionIndexes: list[int]


class ListPartitionReassignmentsRequestData(TypedDict):
    """Kafka: ListPartitionReassignmentsRequestData (4.3), version 0."""

    timeoutMs: int
    topics: list[ListPartitionReassignmentsRequestTopics] | None


class DescribeAclsRequestData(TypedDict):
    """Kafka: DescribeAclsRequestData (4.3), versions 1 to 3."""

    resourceTypeFilter: int
    resourceNameFilter: str | None
    patternTypeFilter: int
    principalFilter: str | None
    hostFilter: str | None
    operation: int
    permissionType: int


class CreateAclsRequestAclCreation(TypedDict):
    """Kafka: CreateAclsRequestData.AclCreation (4.3)."""

    resourceType: int
    resourceName: str
    resourcePatternType: int
    principal: str
    host: str
    operation: int
    permissionType: int


class CreateAclsRequestData(TypedDict):
    """Kafka: CreateAclsRequestData (4.3), versions 1 to 3."""

    creations: list[CreateAclsRequestAclCreation]


class DeleteAclsRequestFilter(TypedDict):
    """Kafka: DeleteAclsRequestData.DeleteAclsFilter (4.3)."""

    resourceTypeFilter: int
    resourceNameFilter: str | None
    patternTypeFilter: int
    principalFilter: str | None
    hostFilter: str | None
    operation: int
    permissionType: int


class DeleteAclsRequestData(TypedDict):
    """Kafka: DeleteAclsRequestData (4.3), versions 1 to 3."""

    filters: list[DeleteAclsRequestFilter]


class UpdateFeaturesRequestFeatureUpdateKey(TypedDict):
    """Kafka: UpdateFeaturesRequestData.FeatureUpdateKey (4.3)."""

    feature: str
    maxVersionLevel: int
    allowDowngrade: NotRequired[bool]
    upgradeType: NotRequired[int]


class UpdateFeaturesRequestData(TypedDict):
    """Kafka: UpdateFeaturesRequestData (4.3), versions 0 to 2."""

    timeoutMs: int
    featureUpdates: list[UpdateFeaturesRequestFeatureUpdateKey]
    validateOnly: NotRequired[bool]


class DescribeClientQuotasRequestComponentData(TypedDict):
    """Kafka: DescribeClientQuotasRequestData.ComponentData (4.3)."""

    entityType: str
    matchType: int
    match: str | None


class DescribeClientQuotasRequestData(TypedDict):
    """Kafka: DescribeClientQuotasRequestData (4.3), versions 0 to 1."""

    components: list[DescribeClientQuotasRequestComponentData]
    strict: bool


class DescribeUserScramCredentialsRequestUserName(TypedDict):
    """Kafka: DescribeUserScramCredentialsRequestData.UserName (4.3)."""

    name: str


class DescribeUserScramCredentialsRequestData(TypedDict):
    """Kafka: DescribeUserScramCredentialsRequestData (4.3), version 0."""

    users: list[DescribeUserScramCredentialsRequestUserName] | None


class UnregisterBrokerRequestData(TypedDict):
    """Kafka: UnregisterBrokerRequestData (4.3), version 0."""

    brokerId: int


class DescribeDelegationTokenRequestOwner(TypedDict):
    """Kafka: DescribeDelegationTokenRequestData.DescribeDelegationTokenOwner (4.3)."""

    principalType: str
    principalName: str


class DescribeDelegationTokenRequestData(TypedDict):
    """Kafka: DescribeDelegationTokenRequestData (4.3), versions 1 to 3."""

    owners: list[DescribeDelegationTokenRequestOwner] | None


class CreateDelegationTokenRequestCreatableRenewers(TypedDict):
    """Kafka: CreateDelegationTokenRequestData.CreatableRenewers (4.3)."""

    principalType: str
    principalName: str


class CreateDelegationTokenRequestData(TypedDict):
    """Kafka: CreateDelegationTokenRequestData (4.3), versions 1 to 3."""

    renewers: list[CreateDelegationTokenRequestCreatableRenewers]
    maxLifetimeMs: int
    ownerPrincipalType: NotRequired[str | None]
    ownerPrincipalName: NotRequired[str | None]


class RenewDelegationTokenRequestData(TypedDict):
    """Kafka: RenewDelegationTokenRequestData (4.3), versions 1 to 2."""

    hmac: bytes
    renewPeriodMs: int


class ExpireDelegationTokenRequestData(TypedDict):
    """Kafka: ExpireDelegationTokenRequestData (4.3), versions 1 to 2."""

    hmac: bytes
    expiryTimePeriodMs: int


class AddRaftVoterRequestListener(TypedDict):
    """Kafka: AddRaftVoterRequestData.Listener (4.3)."""

    name: str
    host: str
    port: int


class AddRaftVoterRequestData(TypedDict):
    """Kafka: AddRaftVoterRequestData (4.3), versions 0 to 1."""

    clusterId: str | None
    timeoutMs: int
    voterId: int
    voterDirectoryId: str
    listeners: list[AddRaftVoterRequestListener]
    ackWhenCommitted: NotRequired[bool]


class RemoveRaftVoterRequestData(TypedDict):
    """Kafka: RemoveRaftVoterRequestData (4.3), version 0."""

    clusterId: str | None
    voterId: int
    voterDirectoryId: str


class SaslHandshakeRequestData(TypedDict):
    """Kafka: SaslHandshakeRequestData (4.3), versions 0 to 1."""

    mechanism: str


class SaslAuthenticateRequestData(TypedDict):
    """Kafka: SaslAuthenticateRequestData (4.3), versions 0 to 2."""

    authBytes: bytes
