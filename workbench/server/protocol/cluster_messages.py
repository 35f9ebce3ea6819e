"""About the cluster: brokers, topics, configurations, log directories.

Kafka: the request and response messages of the same names (4.3)
"""

from typing import Final

from workbench.server.protocol.api import api

API_VERSIONS: Final = api(
    "ApiVersions",
    18,
    versions=(0, 4),
    flexible=3,
    request="""
    clientSoftwareName: string versions 3+
    clientSoftwareVersion: string versions 3+
    """,
    response="""
    errorCode: int16
    apiKeys: [
        apiKey: int16
        minVersion: int16
        maxVersion: int16
    ]
    throttleTimeMs: int32 versions 1+
    supportedFeatures: [
        name: string
        minVersion: int16
        maxVersion: int16
    ] tag 0 versions 3+
    finalizedFeaturesEpoch: int64 = -1 tag 1 versions 3+
    finalizedFeatures: [
        name: string
        maxVersionLevel: int16
        minVersionLevel: int16
    ] tag 2 versions 3+
    zkMigrationReady: bool tag 3 versions 3+
    """,
)

METADATA: Final = api(
    "Metadata",
    3,
    versions=(0, 13),
    flexible=9,
    request="""
    topics: ?[
        topicId: uuid versions 10+
        name: ?string
    ]
    allowAutoTopicCreation: bool = true versions 4+
    includeClusterAuthorizedOperations: bool versions 8-10
    includeTopicAuthorizedOperations: bool versions 8+
    """,
    response="""
    throttleTimeMs: int32 versions 3+
    brokers: [
        nodeId: int32
        host: string
        port: int32
        rack: ?string versions 1+
    ]
    clusterId: ?string versions 2+
    controllerId: int32 = -1 versions 1+
    topics: [
        errorCode: int16
        name: ?string
        topicId: uuid versions 10+
        isInternal: bool versions 1+
        partitions: [
            errorCode: int16
            partitionIndex: int32
            leaderId: int32
            leaderEpoch: int32 = -1 versions 7+
            replicaNodes: [int32]
            isrNodes: [int32]
            offlineReplicas: [int32] versions 5+
        ]
        topicAuthorizedOperations: int32 = -2147483648 versions 8+
    ]
    clusterAuthorizedOperations: int32 = -2147483648 versions 8-10
    errorCode: int16 versions 13+
    """,
)

DESCRIBE_TOPIC_PARTITIONS: Final = api(
    "DescribeTopicPartitions",
    75,
    versions=(0, 0),
    flexible=0,
    request="""
    topics: [
        name: string
    ]
    responsePartitionLimit: int32 = 2000
    cursor: ?{
        topicName: string
        partitionIndex: int32
    } = null
    """,
    response="""
    throttleTimeMs: int32
    topics: [
        errorCode: int16
        name: ?string
        topicId: uuid
        isInternal: bool
        partitions: [
            errorCode: int16
            partitionIndex: int32
            leaderId: int32
            leaderEpoch: int32 = -1
            replicaNodes: [int32]
            isrNodes: [int32]
            eligibleLeaderReplicas: ?[int32] = null
            lastKnownElr: ?[int32] = null
            offlineReplicas: [int32]
        ]
        topicAuthorizedOperations: int32 = -2147483648
    ]
    nextCursor: ?{
        topicName: string
        partitionIndex: int32
    } = null
    """,
)

DESCRIBE_CLUSTER: Final = api(
    "DescribeCluster",
    60,
    versions=(0, 2),
    flexible=0,
    request="""
    includeClusterAuthorizedOperations: bool
    endpointType: int8 = 1 versions 1+
    includeFencedBrokers: bool versions 2+
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16
    errorMessage: ?string
    endpointType: int8 = 1 versions 1+
    clusterId: string
    controllerId: int32 = -1
    brokers: [
        brokerId: int32
        host: string
        port: int32
        rack: ?string
        isFenced: bool versions 2+
    ]
    clusterAuthorizedOperations: int32 = -2147483648
    """,
)

DESCRIBE_CONFIGS: Final = api(
    "DescribeConfigs",
    32,
    versions=(0, 4),
    flexible=4,
    request="""
    resources: [
        resourceType: int8
        resourceName: string
        configurationKeys: ?[string]
    ]
    includeSynonyms: bool versions 1+
    includeDocumentation: bool versions 3+
    """,
    response="""
    throttleTimeMs: int32
    results: [
        errorCode: int16
        errorMessage: ?string
        resourceType: int8
        resourceName: string
        configs: [
            name: string
            value: ?string
            readOnly: bool
            isDefault: bool versions 0-0
            configSource: int8 = -1 versions 1+
            isSensitive: bool
            synonyms: [
                name: string
                value: ?string
                source: int8
            ] versions 1+
            configType: int8 versions 3+
            documentation: ?string versions 3+
        ]
    ]
    """,
)

ALTER_REPLICA_LOG_DIRS: Final = api(
    "AlterReplicaLogDirs",
    34,
    versions=(1, 2),
    flexible=2,
    request="""
    dirs: [
        path: string
        topics: [
            name: string
            partitions: [int32]
        ]
    ]
    """,
    response="""
    throttleTimeMs: int32
    results: [
        topicName: string
        partitions: [
            partitionIndex: int32
            errorCode: int16
        ]
    ]
    """,
)

DESCRIBE_LOG_DIRS: Final = api(
    "DescribeLogDirs",
    35,
    versions=(0, 4),
    flexible=2,
    request="""
    topics: ?[
        topic: string
        partitions: [int32]
    ]
    """,
    response="""
    throttleTimeMs: int32
    errorCode: int16 versions 3+
    results: [
        errorCode: int16
        logDir: string
        topics: [
            name: string
            partitions: [
                partitionIndex: int32
                partitionSize: int64
                offsetLag: int64
                isFutureKey: bool
            ]
        ]
        totalBytes: int64 = -1 versions 4+
        usableBytes: int64 = -1 versions 4+
    ]
    """,
)
