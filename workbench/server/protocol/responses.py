"""Responses to clients as mypy sees them; `make messages` writes it."""

from collections.abc import Sequence
from typing import TypedDict


class ApiVersionsResponseApiVersion(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData.ApiVersion (4.3)."""

    apiKey: int
    minVersion: int
    maxVersion: int


class ApiVersionsResponseSupportedFeatureKey(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData.SupportedFeatureKey (4.3)."""

    name: str
    minVersion: int
    maxVersion: int


class ApiVersionsResponseFinalizedFeatureKey(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData.FinalizedFeatureKey (4.3)."""

    name: str
    maxVersionLevel: int
    minVersionLevel: int


class ApiVersionsResponseData(TypedDict, total=False):
    """Kafka: ApiVersionsResponseData (4.3), versions 0 to 4."""

    errorCode: int
    apiKeys: Sequence[ApiVersionsResponseApiVersion]
    throttleTimeMs: int
    supportedFeatures: Sequence[ApiVersionsResponseSupportedFeatureKey]
    finalizedFeaturesEpoch: int
    finalizedFeatures: Sequence[ApiVersionsResponseFinalizedFeatureKey]
    zkMigrationReady: bool


class MetadataResponseBroker(TypedDict, total=False):
    """Kafka: MetadataResponseData.MetadataResponseBroker (4.3)."""

    nodeId: int
    host: str
    port: int
    rack: str | None


class MetadataResponsePartition(TypedDict, total=False):
    """Kafka: MetadataResponseData.MetadataResponsePartition (4.3)."""

    errorCode: int
    partitionIndex: int
    leaderId: int
    replicaNodes: Sequence[int]
    isrNodes: Sequence[int]
    offlineReplicas: Sequence[int]
    leaderEpoch: int


class MetadataResponseTopic(TypedDict, total=False):
    """Kafka: MetadataResponseData.MetadataResponseTopic (4.3)."""

    errorCode: int
    name: str | None
    partitions: Sequence[MetadataResponsePartition]
    isInternal: bool
    topicAuthorizedOperations: int
    topicId: str


class MetadataResponseData(TypedDict, total=False):
    """Kafka: MetadataResponseData (4.3), versions 0 to 13."""

    brokers: Sequence[MetadataResponseBroker]
    topics: Sequence[MetadataResponseTopic]
    controllerId: int
    clusterId: str | None
    throttleTimeMs: int
    clusterAuthorizedOperations: int
    errorCode: int


class DescribeTopicPartitionsResponsePartition(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition (4.3)."""

    errorCode: int
    partitionIndex: int
    leaderId: int
    leaderEpoch: int
    replicaNodes: Sequence[int]
    isrNodes: Sequence[int]
    eligibleLeaderReplicas: Sequence[int] | None
    lastKnownElr: Sequence[int] | None
    offlineReplicas: Sequence[int]


class DescribeTopicPartitionsResponseTopic(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponseTopic (4.3)."""

    errorCode: int
    name: str | None
    topicId: str
    isInternal: bool
    partitions: Sequence[DescribeTopicPartitionsResponsePartition]
    topicAuthorizedOperations: int


class DescribeTopicPartitionsResponseCursor(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData.Cursor (4.3)."""

    topicName: str
    partitionIndex: int


class DescribeTopicPartitionsResponseData(TypedDict, total=False):
    """Kafka: DescribeTopicPartitionsResponseData (4.3), version 0."""

    throttleTimeMs: int
    topics: Sequence[DescribeTopicPartitionsResponseTopic]
    nextCursor: DescribeTopicPartitionsResponseCursor | None


class DescribeClusterResponseBroker(TypedDict, total=False):
    """Kafka: DescribeClusterResponseData.DescribeClusterBroker (4.3)."""

    brokerId: int
    host: str
    port: int
    rack: str | None
    isFenced: bool


class DescribeClusterResponseData(TypedDict, total=False):
    """Kafka: DescribeClusterResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    clusterId: str
    controllerId: int
    brokers: Sequence[DescribeClusterResponseBroker]
    clusterAuthorizedOperations: int
    endpointType: int


class DescribeConfigsResponseSynonym(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData.DescribeConfigsSynonym (4.3)."""

    name: str
    value: str | None
    source: int


class DescribeConfigsResponseResourceResult(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData.DescribeConfigsResourceResult (4.3)."""

    name: str
    value: str | None
    readOnly: bool
    isDefault: bool
    isSensitive: bool
    configSource: int
    synonyms: Sequence[DescribeConfigsResponseSynonym]
    configType: int
    documentation: str | None


class DescribeConfigsResponseResult(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData.DescribeConfigsResult (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str
    configs: Sequence[DescribeConfigsResponseResourceResult]


class DescribeConfigsResponseData(TypedDict, total=False):
    """Kafka: DescribeConfigsResponseData (4.3), versions 0 to 4."""

    throttleTimeMs: int
    results: Sequence[DescribeConfigsResponseResult]


class AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult(TypedDict, total=False):
    """Kafka: AlterReplicaLogDirsResponseData.AlterReplicaLogDirPartitionResult (4.3)."""

    partitionIndex: int
    errorCode: int


class AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult(TypedDict, total=False):
    """Kafka: AlterReplicaLogDirsResponseData.AlterReplicaLogDirTopicResult (4.3)."""

    topicName: str
    partitions: Sequence[AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult]


class AlterReplicaLogDirsResponseData(TypedDict, total=False):
    """Kafka: AlterReplicaLogDirsResponseData (4.3), versions 1 to 2."""

    throttleTimeMs: int
    results: Sequence[AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult]


class DescribeLogDirsResponsePartition(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData.DescribeLogDirsPartition (4.3)."""

    partitionIndex: int
    partitionSize: int
    offsetLag: int
    isFutureKey: bool


class DescribeLogDirsResponseTopic(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData.DescribeLogDirsTopic (4.3)."""

    name: str
    partitions: Sequence[DescribeLogDirsResponsePartition]


class DescribeLogDirsResponseResult(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData.DescribeLogDirsResult (4.3)."""

    errorCode: int
    logDir: str
    topics: Sequence[DescribeLogDirsResponseTopic]
    totalBytes: int
    usableBytes: int


class DescribeLogDirsResponseData(TypedDict, total=False):
    """Kafka: DescribeLogDirsResponseData (4.3), versions 0 to 4."""

    throttleTimeMs: int
    results: Sequence[DescribeLogDirsResponseResult]
    errorCode: int


class FetchResponseAbortedTransaction(TypedDict, total=False):
    """Kafka: FetchResponseData.AbortedTransaction (4.3)."""

    producerId: int
    firstOffset: int


class FetchResponseEpochEndOffset(TypedDict, total=False):
    """Kafka: FetchResponseData.EpochEndOffset (4.3)."""

    epoch: int
    endOffset: int


class FetchResponseLeaderIdAndEpoch(TypedDict, total=False):
    """Kafka: FetchResponseData.LeaderIdAndEpoch (4.3)."""

    leaderId: int
    leaderEpoch: int


class FetchResponseSnapshotId(TypedDict, total=False):
    """Kafka: FetchResponseData.SnapshotId (4.3)."""

    endOffset: int
    epoch: int


class FetchResponsePartitionData(TypedDict, total=False):
    """Kafka: FetchResponseData.PartitionData (4.3)."""

    partitionIndex: int
    errorCode: int
    highWatermark: int
    lastStableOffset: int
    abortedTransactions: Sequence[FetchResponseAbortedTransaction] | None
    records: bytes | None
    logStartOffset: int
    preferredReadReplica: int
    divergingEpoch: FetchResponseEpochEndOffset
    currentLeader: FetchResponseLeaderIdAndEpoch
    snapshotId: FetchResponseSnapshotId


class FetchResponseFetchableTopic(TypedDict, total=False):
    """Kafka: FetchResponseData.FetchableTopicResponse (4.3)."""

    topic: str
    partitions: Sequence[FetchResponsePartitionData]
    topicId: str


class FetchResponseNodeEndpoint(TypedDict, total=False):
    """Kafka: FetchResponseData.NodeEndpoint (4.3)."""

    nodeId: int
    host: str
    port: int
    rack: str | None


class FetchResponseData(TypedDict, total=False):
    """Kafka: FetchResponseData (4.3), versions 4 to 18."""

    throttleTimeMs: int
    responses: Sequence[FetchResponseFetchableTopic]
    errorCode: int
    sessionId: int
    nodeEndpoints: Sequence[FetchResponseNodeEndpoint]


class ListOffsetsResponsePartition(TypedDict, total=False):
    """Kafka: ListOffsetsResponseData.ListOffsetsPartitionResponse (4.3)."""

    partitionIndex: int
    errorCode: int
    timestamp: int
    offset: int
    leaderEpoch: int


class ListOffsetsResponseTopic(TypedDict, total=False):
    """Kafka: ListOffsetsResponseData.ListOffsetsTopicResponse (4.3)."""

    name: str
    partitions: Sequence[ListOffsetsResponsePartition]


class ListOffsetsResponseData(TypedDict, total=False):
    """Kafka: ListOffsetsResponseData (4.3), versions 1 to 11."""

    topics: Sequence[ListOffsetsResponseTopic]
    throttleTimeMs: int


class OffsetForLeaderEpochResponseEpochEndOffset(TypedDict, total=False):
    """Kafka: OffsetForLeaderEpochResponseData.EpochEndOffset (4.3)."""

    errorCode: int
    partition: int
    endOffset: int
    leaderEpoch: int


class OffsetForLeaderEpochResponseOffsetForLeaderTopicResult(TypedDict, total=False):
    """Kafka: OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult (4.3)."""

    topic: str
    partitions: Sequence[OffsetForLeaderEpochResponseEpochEndOffset]


class OffsetForLeaderEpochResponseData(TypedDict, total=False):
    """Kafka: OffsetForLeaderEpochResponseData (4.3), versions 0 to 4."""

    topics: Sequence[OffsetForLeaderEpochResponseOffsetForLeaderTopicResult]
    throttleTimeMs: int


class FindCoordinatorResponseCoordinator(TypedDict, total=False):
    """Kafka: FindCoordinatorResponseData.Coordinator (4.3)."""

    key: str
    nodeId: int
    host: str
    port: int
    errorCode: int
    errorMessage: str | None


class FindCoordinatorResponseData(TypedDict, total=False):
    """Kafka: FindCoordinatorResponseData (4.3), versions 0 to 6."""

    errorCode: int
    nodeId: int
    host: str
    port: int
    throttleTimeMs: int
    errorMessage: str | None
    coordinators: Sequence[FindCoordinatorResponseCoordinator]


class JoinGroupResponseMember(TypedDict, total=False):
    """Kafka: JoinGroupResponseData.JoinGroupResponseMember (4.3)."""

    memberId: str
    metadata: bytes
    groupInstanceId: str | None


class JoinGroupResponseData(TypedDict, total=False):
    """Kafka: JoinGroupResponseData (4.3), versions 0 to 9."""

    errorCode: int
    generationId: int
    protocolName: str | None
    leader: str
    memberId: str
    members: Sequence[JoinGroupResponseMember]
    throttleTimeMs: int
    protocolType: str | None
    skipAssignment: bool


class SyncGroupResponseData(TypedDict, total=False):
    """Kafka: SyncGroupResponseData (4.3), versions 0 to 5."""

    errorCode: int
    assignment: bytes
    throttleTimeMs: int
    protocolType: str | None
    protocolName: str | None


class HeartbeatResponseData(TypedDict, total=False):
    """Kafka: HeartbeatResponseData (4.3), versions 0 to 4."""

    errorCode: int
    throttleTimeMs: int


class LeaveGroupResponseMember(TypedDict, total=False):
    """Kafka: LeaveGroupResponseData.MemberResponse (4.3)."""

    memberId: str
    groupInstanceId: str | None
    errorCode: int


class LeaveGroupResponseData(TypedDict, total=False):
    """Kafka: LeaveGroupResponseData (4.3), versions 0 to 5."""

    errorCode: int
    throttleTimeMs: int
    members: Sequence[LeaveGroupResponseMember]


class OffsetCommitResponsePartition(TypedDict, total=False):
    """Kafka: OffsetCommitResponseData.OffsetCommitResponsePartition (4.3)."""

    partitionIndex: int
    errorCode: int


class OffsetCommitResponseTopic(TypedDict, total=False):
    """Kafka: OffsetCommitResponseData.OffsetCommitResponseTopic (4.3)."""

    name: str
    partitions: Sequence[OffsetCommitResponsePartition]
    topicId: str


class OffsetCommitResponseData(TypedDict, total=False):
    """Kafka: OffsetCommitResponseData (4.3), versions 2 to 10."""

    topics: Sequence[OffsetCommitResponseTopic]
    throttleTimeMs: int


class OffsetFetchResponsePartition(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponsePartition (4.3)."""

    partitionIndex: int
    committedOffset: int
    metadata: str | None
    errorCode: int
    committedLeaderEpoch: int


class OffsetFetchResponseTopic(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponseTopic (4.3)."""

    name: str
    partitions: Sequence[OffsetFetchResponsePartition]


class OffsetFetchResponsePartitions(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponsePartitions (4.3)."""

    partitionIndex: int
    committedOffset: int
    committedLeaderEpoch: int
    metadata: str | None
    errorCode: int


class OffsetFetchResponseTopics(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponseTopics (4.3)."""

    name: str
    partitions: Sequence[OffsetFetchResponsePartitions]
    topicId: str


class OffsetFetchResponseGroup(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData.OffsetFetchResponseGroup (4.3)."""

    groupId: str
    topics: Sequence[OffsetFetchResponseTopics]
    errorCode: int


class OffsetFetchResponseData(TypedDict, total=False):
    """Kafka: OffsetFetchResponseData (4.3), versions 1 to 10."""

    topics: Sequence[OffsetFetchResponseTopic]
    errorCode: int
    throttleTimeMs: int
    groups: Sequence[OffsetFetchResponseGroup]


class DescribeGroupsResponseDescribedGroupMember(TypedDict, total=False):
    """Kafka: DescribeGroupsResponseData.DescribedGroupMember (4.3)."""

    memberId: str
    clientId: str
    clientHost: str
    memberMetadata: bytes
    memberAssignment: bytes
    groupInstanceId: str | None


class DescribeGroupsResponseDescribedGroup(TypedDict, total=False):
    """Kafka: DescribeGroupsResponseData.DescribedGroup (4.3)."""

    errorCode: int
    groupId: str
    groupState: str
    protocolType: str
    protocolData: str
    members: Sequence[DescribeGroupsResponseDescribedGroupMember]
    authorizedOperations: int
    errorMessage: str | None


class DescribeGroupsResponseData(TypedDict, total=False):
    """Kafka: DescribeGroupsResponseData (4.3), versions 0 to 6."""

    groups: Sequence[DescribeGroupsResponseDescribedGroup]
    throttleTimeMs: int


class ListGroupsResponseListedGroup(TypedDict, total=False):
    """Kafka: ListGroupsResponseData.ListedGroup (4.3)."""

    groupId: str
    protocolType: str
    groupState: str
    groupType: str


class ListGroupsResponseData(TypedDict, total=False):
    """Kafka: ListGroupsResponseData (4.3), versions 0 to 5."""

    errorCode: int
    groups: Sequence[ListGroupsResponseListedGroup]
    throttleTimeMs: int


class ConsumerGroupDescribeResponseTopicPartitions(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.TopicPartitions (4.3)."""

    topicId: str
    topicName: str
    partitions: Sequence[int]


class ConsumerGroupDescribeResponseAssignment(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.Assignment (4.3)."""

    topicPartitions: Sequence[ConsumerGroupDescribeResponseTopicPartitions]


class ConsumerGroupDescribeResponseMember(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.Member (4.3)."""

    memberId: str
    instanceId: str | None
    rackId: str | None
    memberEpoch: int
    clientId: str
    clientHost: str
    subscribedTopicNames: Sequence[str]
    subscribedTopicRegex: str | None
    assignment: ConsumerGroupDescribeResponseAssignment
    targetAssignment: ConsumerGroupDescribeResponseAssignment
    memberType: int


class ConsumerGroupDescribeResponseDescribedGroup(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData.DescribedGroup (4.3)."""

    errorCode: int
    errorMessage: str | None
    groupId: str
    groupState: str
    groupEpoch: int
    assignmentEpoch: int
    assignorName: str
    members: Sequence[ConsumerGroupDescribeResponseMember]
    authorizedOperations: int


class ConsumerGroupDescribeResponseData(TypedDict, total=False):
    """Kafka: ConsumerGroupDescribeResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    groups: Sequence[ConsumerGroupDescribeResponseDescribedGroup]


class ConsumerGroupHeartbeatResponseTopicPartitions(TypedDict, total=False):
    """Kafka: ConsumerGroupHeartbeatResponseData.TopicPartitions (4.3)."""

    topicId: str
    partitions: Sequence[int]


class ConsumerGroupHeartbeatResponseAssignment(TypedDict, total=False):
    """Kafka: ConsumerGroupHeartbeatResponseData.Assignment (4.3)."""

    topicPartitions: Sequence[ConsumerGroupHeartbeatResponseTopicPartitions]


class ConsumerGroupHeartbeatResponseData(TypedDict, total=False):
    """Kafka: ConsumerGroupHeartbeatResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    memberId: str | None
    memberEpoch: int
    heartbeatIntervalMs: int
    assignment: ConsumerGroupHeartbeatResponseAssignment | None


class InitProducerIdResponseData(TypedDict, total=False):
    """Kafka: InitProducerIdResponseData (4.3), versions 0 to 5."""

    throttleTimeMs: int
    errorCode: int
    producerId: int
    producerEpoch: int


class AddPartitionsToTxnResponsePartitionResult(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData.AddPartitionsToTxnPartitionResult (4.3)."""

    partitionIndex: int
    partitionErrorCode: int


class AddPartitionsToTxnResponseTopicResult(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData.AddPartitionsToTxnTopicResult (4.3)."""

    name: str
    resultsByPartition: Sequence[AddPartitionsToTxnResponsePartitionResult]


class AddPartitionsToTxnResponseResult(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData.AddPartitionsToTxnResult (4.3)."""

    transactionalId: str
    topicResults: Sequence[AddPartitionsToTxnResponseTopicResult]


class AddPartitionsToTxnResponseData(TypedDict, total=False):
    """Kafka: AddPartitionsToTxnResponseData (4.3), versions 0 to 5."""

    throttleTimeMs: int
    resultsByTopicV3AndBelow: Sequence[AddPartitionsToTxnResponseTopicResult]
    errorCode: int
    resultsByTransaction: Sequence[AddPartitionsToTxnResponseResult]


class AddOffsetsToTxnResponseData(TypedDict, total=False):
    """Kafka: AddOffsetsToTxnResponseData (4.3), versions 0 to 4."""

    throttleTimeMs: int
    errorCode: int


class EndTxnResponseData(TypedDict, total=False):
    """Kafka: EndTxnResponseData (4.3), versions 0 to 5."""

    throttleTimeMs: int
    errorCode: int
    producerId: int
    producerEpoch: int


class TxnOffsetCommitResponsePartition(TypedDict, total=False):
    """Kafka: TxnOffsetCommitResponseData.TxnOffsetCommitResponsePartition (4.3)."""

    partitionIndex: int
    errorCode: int


class TxnOffsetCommitResponseTopic(TypedDict, total=False):
    """Kafka: TxnOffsetCommitResponseData.TxnOffsetCommitResponseTopic (4.3)."""

    name: str
    partitions: Sequence[TxnOffsetCommitResponsePartition]


class TxnOffsetCommitResponseData(TypedDict, total=False):
    """Kafka: TxnOffsetCommitResponseData (4.3), versions 0 to 5."""

    throttleTimeMs: int
    topics: Sequence[TxnOffsetCommitResponseTopic]


class WriteTxnMarkersResponseWritableTxnMarkerPartitionResult(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData.WritableTxnMarkerPartitionResult (4.3)."""

    partitionIndex: int
    errorCode: int


class WriteTxnMarkersResponseWritableTxnMarkerTopicResult(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData.WritableTxnMarkerTopicResult (4.3)."""

    name: str
    partitions: Sequence[WriteTxnMarkersResponseWritableTxnMarkerPartitionResult]


class WriteTxnMarkersResponseWritableTxnMarkerResult(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData.WritableTxnMarkerResult (4.3)."""

    producerId: int
    topics: Sequence[WriteTxnMarkersResponseWritableTxnMarkerTopicResult]


class WriteTxnMarkersResponseData(TypedDict, total=False):
    """Kafka: WriteTxnMarkersResponseData (4.3), versions 1 to 2."""

    markers: Sequence[WriteTxnMarkersResponseWritableTxnMarkerResult]


class DescribeProducersResponseProducerState(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData.ProducerState (4.3)."""

    producerId: int
    producerEpoch: int
    lastSequence: int
    lastTimestamp: int
    coordinatorEpoch: int
    currentTxnStartOffset: int


class DescribeProducersResponsePartition(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData.PartitionResponse (4.3)."""

    partitionIndex: int
    errorCode: int
    errorMessage: str | None
    activeProducers: Sequence[DescribeProducersResponseProducerState]


class DescribeProducersResponseTopic(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData.TopicResponse (4.3)."""

    name: str
    partitions: Sequence[DescribeProducersResponsePartition]


class DescribeProducersResponseData(TypedDict, total=False):
    """Kafka: DescribeProducersResponseData (4.3), version 0."""

    throttleTimeMs: int
    topics: Sequence[DescribeProducersResponseTopic]


class DescribeTransactionsResponseTopicData(TypedDict, total=False):
    """Kafka: DescribeTransactionsResponseData.TopicData (4.3)."""

    topic: str
    partitions: Sequence[int]


class DescribeTransactionsResponseTransactionState(TypedDict, total=False):
    """Kafka: DescribeTransactionsResponseData.TransactionState (4.3)."""

    errorCode: int
    transactionalId: str
    transactionState: str
    transactionTimeoutMs: int
    transactionStartTimeMs: int
    producerId: int
    producerEpoch: int
    topics: Sequence[DescribeTransactionsResponseTopicData]


class DescribeTransactionsResponseData(TypedDict, total=False):
    """Kafka: DescribeTransactionsResponseData (4.3), version 0."""

    throttleTimeMs: int
    transactionStates: Sequence[DescribeTransactionsResponseTransactionState]


class ListTransactionsResponseTransactionState(TypedDict, total=False):
    """Kafka: ListTransactionsResponseData.TransactionState (4.3)."""

    transactionalId: str
    producerId: int
    transactionState: str


class ListTransactionsResponseData(TypedDict, total=False):
    """Kafka: ListTransactionsResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    errorCode: int
    unknownStateFilters: Sequence[str]
    transactionStates: Sequence[ListTransactionsResponseTransactionState]


class ProduceResponseBatchIndexAndErrorMessage(TypedDict, total=False):
    """Kafka: ProduceResponseData.BatchIndexAndErrorMessage (4.3)."""

    batchIndex: int
    batchIndexErrorMessage: str | None


class ProduceResponseLeaderIdAndEpoch(TypedDict, total=False):
    """Kafka: ProduceResponseData.LeaderIdAndEpoch (4.3)."""

    leaderId: int
    leaderEpoch: int


class ProduceResponsePartitionProduce(TypedDict, total=False):
    """Kafka: ProduceResponseData.PartitionProduceResponse (4.3)."""

    index: int
    errorCode: int
    baseOffset: int
    logAppendTimeMs: int
    logStartOffset: int
    recordErrors: Sequence[ProduceResponseBatchIndexAndErrorMessage]
    errorMessage: str | None
    currentLeader: ProduceResponseLeaderIdAndEpoch


class ProduceResponseTopicProduce(TypedDict, total=False):
    """Kafka: ProduceResponseData.TopicProduceResponse (4.3)."""

    name: str
    partitionResponses: Sequence[ProduceResponsePartitionProduce]
    topicId: str


class ProduceResponseNodeEndpoint(TypedDict, total=False):
    """Kafka: ProduceResponseData.NodeEndpoint (4.3)."""

    nodeId: int
    host: str
    port: int
    rack: str | None


class ProduceResponseData(TypedDict, total=False):
    """Kafka: ProduceResponseData (4.3), versions 0 to 13."""

    responses: Sequence[ProduceResponseTopicProduce]
    throttleTimeMs: int
    nodeEndpoints: Sequence[ProduceResponseNodeEndpoint]


class CreateTopicsResponseCreatableTopicConfigs(TypedDict, total=False):
    """Kafka: CreateTopicsResponseData.CreatableTopicConfigs (4.3)."""

    name: str
    value: str | None
    readOnly: bool
    configSource: int
    isSensitive: bool


class CreateTopicsResponseCreatableTopicResult(TypedDict, total=False):
    """Kafka: CreateTopicsResponseData.CreatableTopicResult (4.3)."""

    name: str
    errorCode: int
    errorMessage: str | None
    topicConfigErrorCode: int
    numPartitions: int
    replicationFactor: int
    configs: Sequence[CreateTopicsResponseCreatableTopicConfigs] | None
    topicId: str


class CreateTopicsResponseData(TypedDict, total=False):
    """Kafka: CreateTopicsResponseData (4.3), versions 0 to 7."""

    topics: Sequence[CreateTopicsResponseCreatableTopicResult]
    throttleTimeMs: int


class DeleteTopicsResponseDeletableTopicResult(TypedDict, total=False):
    """Kafka: DeleteTopicsResponseData.DeletableTopicResult (4.3)."""

    name: str | None
    errorCode: int
    errorMessage: str | None
    topicId: str


class DeleteTopicsResponseData(TypedDict, total=False):
    """Kafka: DeleteTopicsResponseData (4.3), versions 0 to 6."""

    responses: Sequence[DeleteTopicsResponseDeletableTopicResult]
    throttleTimeMs: int


class DeleteRecordsResponsePartitionResult(TypedDict, total=False):
    """Kafka: DeleteRecordsResponseData.DeleteRecordsPartitionResult (4.3)."""

    partitionIndex: int
    lowWatermark: int
    errorCode: int


class DeleteRecordsResponseTopicResult(TypedDict, total=False):
    """Kafka: DeleteRecordsResponseData.DeleteRecordsTopicResult (4.3)."""

    name: str
    partitions: Sequence[DeleteRecordsResponsePartitionResult]


class DeleteRecordsResponseData(TypedDict, total=False):
    """Kafka: DeleteRecordsResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    topics: Sequence[DeleteRecordsResponseTopicResult]


class AlterConfigsResponseResource(TypedDict, total=False):
    """Kafka: AlterConfigsResponseData.AlterConfigsResourceResponse (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str


class AlterConfigsResponseData(TypedDict, total=False):
    """Kafka: AlterConfigsResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    responses: Sequence[AlterConfigsResponseResource]


class CreatePartitionsResponseTopicResult(TypedDict, total=False):
    """Kafka: CreatePartitionsResponseData.CreatePartitionsTopicResult (4.3)."""

    name: str
    errorCode: int
    errorMessage: str | None


class CreatePartitionsResponseData(TypedDict, total=False):
    """Kafka: CreatePartitionsResponseData (4.3), versions 0 to 3."""

    throttleTimeMs: int
    results: Sequence[CreatePartitionsResponseTopicResult]


class DeleteGroupsResponseDeletableGroupResult(TypedDict, total=False):
    """Kafka: DeleteGroupsResponseData.DeletableGroupResult (4.3)."""

    groupId: str
    errorCode: int


class DeleteGroupsResponseData(TypedDict, total=False):
    """Kafka: DeleteGroupsResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    results: Sequence[DeleteGroupsResponseDeletableGroupResult]


class IncrementalAlterConfigsResponseAlterConfigsResource(TypedDict, total=False):
    """Kafka: IncrementalAlterConfigsResponseData.AlterConfigsResourceResponse (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str


class IncrementalAlterConfigsResponseData(TypedDict, total=False):
    """Kafka: IncrementalAlterConfigsResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    responses: Sequence[IncrementalAlterConfigsResponseAlterConfigsResource]


class OffsetDeleteResponsePartition(TypedDict, total=False):
    """Kafka: OffsetDeleteResponseData.OffsetDeleteResponsePartition (4.3)."""

    partitionIndex: int
    errorCode: int


class OffsetDeleteResponseTopic(TypedDict, total=False):
    """Kafka: OffsetDeleteResponseData.OffsetDeleteResponseTopic (4.3)."""

    name: str
    partitions: Sequence[OffsetDeleteResponsePartition]


class OffsetDeleteResponseData(TypedDict, total=False):
    """Kafka: OffsetDeleteResponseData (4.3), version 0."""

    errorCode: int
    throttleTimeMs: int
    topics: Sequence[OffsetDeleteResponseTopic]


class DescribeQuorumResponseReplicaState(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.ReplicaState (4.3)."""

    replicaId: int
    logEndOffset: int
    lastFetchTimestamp: int
    lastCaughtUpTimestamp: int
    replicaDirectoryId: str


class DescribeQuorumResponsePartitionData(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.PartitionData (4.3)."""

    partitionIndex: int
    errorCode: int
    leaderId: int
    leaderEpoch: int
    highWatermark: int
    currentVoters: Sequence[DescribeQuorumResponseReplicaState]
    observers: Sequence[DescribeQuorumResponseReplicaState]
    errorMessage: str | None


class DescribeQuorumResponseTopicData(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.TopicData (4.3)."""

    topicName: str
    partitions: Sequence[DescribeQuorumResponsePartitionData]


class DescribeQuorumResponseListener(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.Listener (4.3)."""

    name: str
    host: str
    port: int


class DescribeQuorumResponseNode(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData.Node (4.3)."""

    nodeId: int
    listeners: Sequence[DescribeQuorumResponseListener]


class DescribeQuorumResponseData(TypedDict, total=False):
    """Kafka: DescribeQuorumResponseData (4.3), versions 0 to 2."""

    errorCode: int
    topics: Sequence[DescribeQuorumResponseTopicData]
    errorMessage: str | None
    nodes: Sequence[DescribeQuorumResponseNode]


class ListConfigResourcesResponseConfigResource(TypedDict, total=False):
    """Kafka: ListConfigResourcesResponseData.ConfigResource (4.3)."""

    resourceName: str
    resourceType: int


class ListConfigResourcesResponseData(TypedDict, total=False):
    """Kafka: ListConfigResourcesResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    errorCode: int
    configResources: Sequence[ListConfigResourcesResponseConfigResource]


class ElectLeadersResponsePartitionResult(TypedDict, total=False):
    """Kafka: ElectLeadersResponseData.PartitionResult (4.3)."""

    partitionId: int
    errorCode: int
    errorMessage: str | None


class ElectLeadersResponseReplicaElectionResult(TypedDict, total=False):
    """Kafka: ElectLeadersResponseData.ReplicaElectionResult (4.3)."""

    topic: str
    partitionResult: Sequence[ElectLeadersResponsePartitionResult]


class ElectLeadersResponseData(TypedDict, total=False):
    """Kafka: ElectLeadersResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    replicaElectionResults: Sequence[ElectLeadersResponseReplicaElectionResult]
    errorCode: int


class AlterPartitionReassignmentsResponseReassignablePartition(TypedDict, total=False):
    """Kafka: AlterPartitionReassignmentsResponseData.ReassignablePartitionResponse (4.3)."""

    partitionIndex: int
    errorCode: int
    errorMessage: str | None


class AlterPartitionReassignmentsResponseReassignableTopic(TypedDict, total=False):
    """Kafka: AlterPartitionReassignmentsResponseData.ReassignableTopicResponse (4.3)."""

    name: str
    partitions: Sequence[AlterPartitionReassignmentsResponseReassignablePartition]


class AlterPartitionReassignmentsResponseData(TypedDict, total=False):
    """Kafka: AlterPartitionReassignmentsResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    responses: Sequence[AlterPartitionReassignmentsResponseReassignableTopic]
    allowReplicationFactorChange: bool


class ListPartitionReassignmentsResponseOngoingPartitionReassignment(TypedDict, total=False):
    """Kafka: ListPartitionReassignmentsResponseData.OngoingPartitionReassignment (4.3)."""

    partitionIndex: int
    replicas: Sequence[int]
    addingReplicas: Sequence[int]
    removingReplicas: Sequence[int]


class ListPartitionReassignmentsResponseOngoingTopicReassignment(TypedDict, total=False):
    """Kafka: ListPartitionReassignmentsResponseData.OngoingTopicReassignment (4.3)."""

    name: str
    partitions: Sequence[ListPartitionReassignmentsResponseOngoingPartitionReassignment]


class ListPartitionReassignmentsResponseData(TypedDict, total=False):
    """Kafka: ListPartitionReassignmentsResponseData (4.3), version 0."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    topics: Sequence[ListPartitionReassignmentsResponseOngoingTopicReassignment]


class DescribeAclsResponseAclDescription(TypedDict, total=False):
    """Kafka: DescribeAclsResponseData.AclDescription (4.3)."""

    principal: str
    host: str
    operation: int
    permissionType: int


class DescribeAclsResponseResource(TypedDict, total=False):
    """Kafka: DescribeAclsResponseData.DescribeAclsResource (4.3)."""

    resourceType: int
    resourceName: str
    patternType: int
    acls: Sequence[DescribeAclsResponseAclDescription]


class DescribeAclsResponseData(TypedDict, total=False):
    """Kafka: DescribeAclsResponseData (4.3), versions 1 to 3."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    resources: Sequence[DescribeAclsResponseResource]


class CreateAclsResponseAclCreationResult(TypedDict, total=False):
    """Kafka: CreateAclsResponseData.AclCreationResult (4.3)."""

    errorCode: int
    errorMessage: str | None


class CreateAclsResponseData(TypedDict, total=False):
    """Kafka: CreateAclsResponseData (4.3), versions 1 to 3."""

    throttleTimeMs: int
    results: Sequence[CreateAclsResponseAclCreationResult]


class DeleteAclsResponseMatchingAcl(TypedDict, total=False):
    """Kafka: DeleteAclsResponseData.DeleteAclsMatchingAcl (4.3)."""

    errorCode: int
    errorMessage: str | None
    resourceType: int
    resourceName: str
    patternType: int
    principal: str
    host: str
    operation: int
    permissionType: int


class DeleteAclsResponseFilterResult(TypedDict, total=False):
    """Kafka: DeleteAclsResponseData.DeleteAclsFilterResult (4.3)."""

    errorCode: int
    errorMessage: str | None
    matchingAcls: Sequence[DeleteAclsResponseMatchingAcl]


class DeleteAclsResponseData(TypedDict, total=False):
    """Kafka: DeleteAclsResponseData (4.3), versions 1 to 3."""

    throttleTimeMs: int
    filterResults: Sequence[DeleteAclsResponseFilterResult]


class UpdateFeaturesResponseUpdatableFeatureResult(TypedDict, total=False):
    """Kafka: UpdateFeaturesResponseData.UpdatableFeatureResult (4.3)."""

    feature: str
    errorCode: int
    errorMessage: str | None


class UpdateFeaturesResponseData(TypedDict, total=False):
    """Kafka: UpdateFeaturesResponseData (4.3), versions 0 to 2."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    results: Sequence[UpdateFeaturesResponseUpdatableFeatureResult]


class DescribeClientQuotasResponseEntityData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData.EntityData (4.3)."""

    entityType: str
    entityName: str | None


class DescribeClientQuotasResponseValueData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData.ValueData (4.3)."""

    key: str
    value: float


class DescribeClientQuotasResponseEntryData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData.EntryData (4.3)."""

    entity: Sequence[DescribeClientQuotasResponseEntityData]
    values: Sequence[DescribeClientQuotasResponseValueData]


class DescribeClientQuotasResponseData(TypedDict, total=False):
    """Kafka: DescribeClientQuotasResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    entries: Sequence[DescribeClientQuotasResponseEntryData] | None


class DescribeUserScramCredentialsResponseCredentialInfo(TypedDict, total=False):
    """Kafka: DescribeUserScramCredentialsResponseData.CredentialInfo (4.3)."""

    mechanism: int
    iterations: int


class DescribeUserScramCredentialsResponseResult(TypedDict, total=False):
    """Kafka: DescribeUserScramCredentialsResponseData.DescribeUserScramCredentialsResult (4.3)."""

    user: str
    errorCode: int
    errorMessage: str | None
    credentialInfos: Sequence[DescribeUserScramCredentialsResponseCredentialInfo]


class DescribeUserScramCredentialsResponseData(TypedDict, total=False):
    """Kafka: DescribeUserScramCredentialsResponseData (4.3), version 0."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None
    results: Sequence[DescribeUserScramCredentialsResponseResult]


class UnregisterBrokerResponseData(TypedDict, total=False):
    """Kafka: UnregisterBrokerResponseData (4.3), version 0."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None


class DescribeDelegationTokenResponseDescribedDelegationTokenRenewer(TypedDict, total=False):
    """Kafka: DescribeDelegationTokenResponseData.DescribedDelegationTokenRenewer (4.3)."""

    principalType: str
    principalName: str


class DescribeDelegationTokenResponseDescribedDelegationToken(TypedDict, total=False):
    """Kafka: DescribeDelegationTokenResponseData.DescribedDelegationToken (4.3)."""

    principalType: str
    principalName: str
    issueTimestamp: int
    expiryTimestamp: int
    maxTimestamp: int
    tokenId: str
    hmac: bytes
    renewers: Sequence[DescribeDelegationTokenResponseDescribedDelegationTokenRenewer]
    tokenRequesterPrincipalType: str
    tokenRequesterPrincipalName: str


class DescribeDelegationTokenResponseData(TypedDict, total=False):
    """Kafka: DescribeDelegationTokenResponseData (4.3), versions 1 to 3."""

    errorCode: int
    tokens: Sequence[DescribeDelegationTokenResponseDescribedDelegationToken]
    throttleTimeMs: int


class CreateDelegationTokenResponseData(TypedDict, total=False):
    """Kafka: CreateDelegationTokenResponseData (4.3), versions 1 to 3."""

    errorCode: int
    principalType: str
    principalName: str
    issueTimestampMs: int
    expiryTimestampMs: int
    maxTimestampMs: int
    tokenId: str
    hmac: bytes
    throttleTimeMs: int
    tokenRequesterPrincipalType: str
    tokenRequesterPrincipalName: str


class RenewDelegationTokenResponseData(TypedDict, total=False):
    """Kafka: RenewDelegationTokenResponseData (4.3), versions 1 to 2."""

    errorCode: int
    expiryTimestampMs: int
    throttleTimeMs: int


class ExpireDelegationTokenResponseData(TypedDict, total=False):
    """Kafka: ExpireDelegationTokenResponseData (4.3), versions 1 to 2."""

    errorCode: int
    expiryTimestampMs: int
    throttleTimeMs: int


class AddRaftVoterResponseData(TypedDict, total=False):
    """Kafka: AddRaftVoterResponseData (4.3), versions 0 to 1."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None


class RemoveRaftVoterResponseData(TypedDict, total=False):
    """Kafka: RemoveRaftVoterResponseData (4.3), version 0."""

    throttleTimeMs: int
    errorCode: int
    errorMessage: str | None


class SaslHandshakeResponseData(TypedDict, total=False):
    """Kafka: SaslHandshakeResponseData (4.3), versions 0 to 1."""

    errorCode: int
    mechanisms: Sequence[str]


class SaslAuthenticateResponseData(TypedDict, total=False):
    """Kafka: SaslAuthenticateResponseData (4.3), versions 0 to 2."""

    errorCode: int
    errorMessage: str | None
    authBytes: bytes
    sessionLifetimeMs: int
